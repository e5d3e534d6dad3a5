//! The manifest as the audit log keeps it.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::audit::{self, Before};

/// Annotation in which kubectl keeps a whole second copy of the manifest.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Both objects of a body, as they stand there.
#[derive(Default)]
pub(super) struct Manifests<'a> {
    /// `request.object`.
    pub(super) new: Option<&'a RawValue>,
    /// `request.oldObject`.
    pub(super) old: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Review<'a> {
    #[serde(borrow)]
    request: Request<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    #[serde(borrow, default)]
    object: Option<&'a RawValue>,
    #[serde(borrow, default)]
    old_object: Option<&'a RawValue>,
}

impl<'a> Manifests<'a> {
    /// Finds the objects of a body that was read before.
    pub(super) fn of(body: &'a [u8]) -> Self {
        serde_json::from_slice::<Review<'a>>(body)
            .map(|review| Self { new: review.request.object, old: review.request.old_object })
            .unwrap_or_default()
    }

    /// Whether both hold the same `spec`, however it is spelled.
    pub(super) fn same_spec(&self) -> bool {
        let spec = |manifest: Option<&RawValue>| {
            let object: Option<Value> = manifest.and_then(|raw| serde_json::from_str(raw.get()).ok());
            object.and_then(|object| object.get("spec").cloned())
        };
        spec(self.new) == spec(self.old)
    }

    /// Of an update, where something else was stored than `manifest` (the new object as it is kept) says.
    pub(super) fn before(&self, manifest: &Value) -> Option<Vec<Before>> {
        let (Some(_), Some(old)) = (self.new, self.old) else { return None };
        Some(audit::before(manifest, kept(old)?))
    }
}

/// A manifest without managed fields and without kubectl's copy of it.
pub(super) fn kept(raw: &RawValue) -> Option<Value> {
    let mut manifest: Value = serde_json::from_str(raw.get()).ok()?;
    if let Some(Value::Object(metadata)) = manifest.get_mut("metadata") {
        metadata.remove("managedFields");
        if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
            annotations.remove(LAST_APPLIED);
        }
    }
    Some(manifest)
}

/// SHA-256 of a manifest, cut to 32 hexadecimal digits; key order and white space make no difference.
pub(super) fn hash(manifest: &Value) -> String {
    use std::fmt::Write;
    const BYTES: usize = 16;
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, manifest.to_string().as_bytes());
    digest.as_ref().iter().take(BYTES).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
