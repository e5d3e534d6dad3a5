//! Which objects of a document are judged, and how.

use crate::etcd::{GROUP, KIND, VERSION};
use crate::manifest::Part;

/// Kind of the reviews that are judged as the server does.
const REVIEW: &str = "AdmissionReview";

/// What becomes of an object.
pub(super) enum Subject<'d> {
    /// It is judged as a manifest.
    Etcd(Part<'d>),
    /// It is judged as a review.
    Review(Part<'d>),
    /// It is called an Etcd, and is none that any rule knows.
    Foreign {
        /// The object.
        part: Part<'d>,
        /// Its group and version.
        api_version: &'d str,
    },
    /// It is passed over.
    Other(String),
}

/// The objects of a document, those in lists one by one.
pub(super) fn subjects(root: Part<'_>) -> Vec<Subject<'_>> {
    let mut found = Vec::new();
    if !root.is_null() {
        collect(root, None, &mut found);
    }
    found
}

/// What the items of a list are that say nothing themselves.
type Inherited<'d> = Option<(&'d str, &'d str)>;

fn collect<'d>(part: Part<'d>, inherited: Inherited<'d>, found: &mut Vec<Subject<'d>>) {
    let text = |name| part.field(name).and_then(|field| field.text());
    let (kind, api_version) = match (text("kind"), inherited) {
        (None, Some((kind, api_version))) => (Some(kind), api_version),
        (kind, _) => (kind, text("apiVersion").unwrap_or_default()),
    };
    let items = part.field("items").filter(Part::is_list);
    match (kind, items) {
        (Some(kind), Some(items)) if kind.ends_with("List") => {
            let of_items = kind.strip_suffix("List").filter(|kind| !kind.is_empty());
            let inherited = of_items.map(|kind| (kind, api_version));
            items.items().for_each(|item| collect(item, inherited, found));
        }
        (Some(KIND), _) => found.push(etcd(part, api_version)),
        (Some(REVIEW), _) if is_answer(part) => found.push(Subject::Other(format!("answered {REVIEW}"))),
        (Some(REVIEW), _) => found.push(Subject::Review(part)),
        (Some(kind), _) => found.push(Subject::Other(kind.to_owned())),
        (None, _) => found.push(Subject::Other("document without a kind".to_owned())),
    }
}

/// A review that went through a webhook already holds no question any more.
fn is_answer(review: Part<'_>) -> bool {
    review.field("request").is_none() && review.field("response").is_some()
}

fn etcd<'d>(part: Part<'d>, api_version: &'d str) -> Subject<'d> {
    match api_version.split_once('/') {
        Some((GROUP, VERSION)) => Subject::Etcd(part),
        _ => Subject::Foreign { part, api_version },
    }
}
