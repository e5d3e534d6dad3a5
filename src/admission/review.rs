//! An AdmissionReview v1 as it comes in, borrowed from the body.
//!
//! Own wire types: the common ones copy each object several times over, accept v1beta1 silently, and lose the
//! uid where a body is odd. Source of the contract: `k8s.io/apiserver`, `pkg/admission/plugin/webhook/request`.

use super::depth;
use crate::etcd::fields::read;
use crate::etcd::{Etcd, Slot, StringMap, Text};

/// `apiVersion` of the reviews that are answered.
pub(super) const API_VERSION: &str = "admission.k8s.io/v1";
/// `kind` of the reviews that are answered.
pub(super) const KIND: &str = "AdmissionReview";
/// How deep arrays and objects may be nested in a body: what a JSON parser that recurses takes before it gives
/// up, many times what an Etcd needs.
pub(super) const DEPTH_MAX: usize = 128;
/// Longest uid that is echoed, in bytes; the API server's own have 36.
const UID_MAX: usize = 256;

/// Why a body is no AdmissionReview v1: answered with HTTP 400 and this text.
#[derive(Debug, thiserror::Error)]
pub enum NoReview {
    /// Nothing was sent.
    #[error("the body is empty: post an AdmissionReview (admission.k8s.io/v1) as JSON")]
    Empty,
    /// The body isn't UTF-8.
    #[error(
        "the body is not UTF-8 from byte {0} on, and so no JSON: post an AdmissionReview (admission.k8s.io/v1)"
    )]
    NotUtf8(usize),
    /// Nested deeper than 128 levels.
    #[error("the body nests arrays and objects deeper than {DEPTH_MAX}: no AdmissionReview does")]
    Deep,
    /// The body isn't JSON.
    #[error("the body is not JSON ({0}): post an AdmissionReview (admission.k8s.io/v1)")]
    NotJson(#[from] serde_json::Error),
    /// The body is JSON of another type.
    #[error("the body is {0}: post an AdmissionReview (admission.k8s.io/v1), which is an object")]
    NotObject(&'static str),
    /// Another API version or kind.
    #[error(
        "the body's apiVersion is {version} and its kind {kind}: post apiVersion \"admission.k8s.io/v1\" and kind \
         \"AdmissionReview\""
    )]
    OtherKind {
        /// `kind` as it stands there, in quotes.
        kind: String,
        /// `apiVersion` as it stands there, in quotes.
        version: String,
    },
    /// No `request`.
    #[error("the AdmissionReview has no request: nothing to judge")]
    NoRequest,
    /// No `request.uid`, or an empty one.
    #[error("the AdmissionReview has no request.uid: the answer could not be matched with it")]
    NoUid,
    /// A `request.uid` that can't be echoed.
    #[error("the AdmissionReview's request.uid has {0} bytes: at most {UID_MAX} are echoed")]
    LongUid(usize),
}

read! {
    impl 'a;
    /// The envelope.
    pub(super) struct Review<'a> = "an AdmissionReview" {
        "apiVersion" => api_version: Text<'a>,
        "kind" => kind: Text<'a>,
        "request" => request: Request<'a>,
    }
}

read! {
    impl 'a;
    /// The question. The object is read as an Etcd whatever it is; the kind decides later.
    pub(super) struct Request<'a> = "an object" {
        "uid" => uid: Text<'a>,
        "kind" => kind: GroupVersionKind<'a>,
        "resource" => resource: GroupVersionResource<'a>,
        "subResource" => subresource: Text<'a>,
        "name" => name: Text<'a>,
        "namespace" => namespace: Text<'a>,
        "operation" => operation: Text<'a>,
        "userInfo" => user_info: UserInfo<'a>,
        "object" => object: Etcd<'a>,
        "oldObject" => old_object: Etcd<'a>,
        "dryRun" => dry_run: bool,
    }
}

read! {
    impl 'a;
    /// Group, version and kind.
    pub(super) struct GroupVersionKind<'a> = "an object" {
        "group" => group: Text<'a>,
        "version" => version: Text<'a>,
        "kind" => kind: Text<'a>,
    }
}

read! {
    impl 'a;
    /// Group, version and resource.
    pub(super) struct GroupVersionResource<'a> = "an object" {
        "group" => group: Text<'a>,
        "version" => version: Text<'a>,
        "resource" => resource: Text<'a>,
    }
}

read! {
    impl 'a;
    /// Who asks.
    pub(super) struct UserInfo<'a> = "an object" {
        "username" => username: Text<'a>,
        "groups" => groups: Vec<Slot<Text<'a>>>,
        "extra" => extra: StringMap<'a>,
    }
}

impl<'a> Request<'a> {
    /// Reads the question in a body.
    pub(super) fn read(body: &'a [u8]) -> Result<Self, NoReview> {
        if body.iter().all(u8::is_ascii_whitespace) {
            return Err(NoReview::Empty);
        }
        let text = std::str::from_utf8(body).map_err(|error| NoReview::NotUtf8(error.valid_up_to()))?;
        if depth::exceeds(body, DEPTH_MAX) {
            return Err(NoReview::Deep);
        }
        let review = match serde_json::from_str::<Slot<Review<'a>>>(text)? {
            Slot::Set(review) => review,
            Slot::Absent => return Err(NoReview::NotObject("null")),
            Slot::Wrong(wrong) => return Err(NoReview::NotObject(wrong.found)),
        };
        review.question()
    }

    /// The uid; present in every question that was read.
    pub(super) fn uid(&self) -> &str {
        self.uid.text().unwrap_or_default()
    }
}

impl<'a> Review<'a> {
    fn question(self) -> Result<Request<'a>, NoReview> {
        if self.api_version.text() != Some(API_VERSION) || self.kind.text() != Some(KIND) {
            return Err(NoReview::OtherKind { kind: shown(&self.kind), version: shown(&self.api_version) });
        }
        let Slot::Set(request) = self.request else { return Err(NoReview::NoRequest) };
        match request.uid.text() {
            None | Some("") => Err(NoReview::NoUid),
            Some(uid) if uid.len() > UID_MAX => Err(NoReview::LongUid(uid.len())),
            Some(_) => Ok(request),
        }
    }
}

fn shown(slot: &Slot<Text<'_>>) -> String {
    slot.text().map_or_else(|| "missing".to_owned(), crate::text::quoted)
}
