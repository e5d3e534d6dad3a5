//! The record of one review: one JSON line of the audit log.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::before::Before;

/// Everything the audit log keeps of one review. Field names are part of the log's format.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// When the answer was ready: RFC 3339, UTC, milliseconds. Filled in by the server.
    pub time: String,
    /// The webhook that was asked.
    pub stage: Stage,
    /// What came of it.
    pub decision: Decision,
    /// `request.uid` of the review.
    pub uid: String,
    /// `CREATE`, `UPDATE` or `DELETE`; whatever the review said where it was none of them.
    pub operation: String,
    /// `status`, `scale`, or nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subresource: Option<String>,
    /// The object that was judged.
    pub object: Object,
    /// Who asked for it.
    pub user: User,
    /// Whether nothing would have been stored.
    pub dry_run: bool,
    /// `warn` where the request was allowed only because violations are warnings; nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enforcement: Option<&'static str>,
    /// The HTTP-like code of the answer's status, where it was refused or would have been.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<u16>,
    /// The answer's own text where no rule spoke (a review for another resource, say).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The violations, a thousand at most, also those that the answer had no room for.
    pub violations: Vec<Finding>,
    /// How many violations the record itself leaves out.
    #[serde(skip_serializing_if = "is_zero")]
    pub violations_left_out: usize,
    /// The warnings, a hundred at most.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The manifest that was judged, without managed fields and the last-applied annotation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Value>,
    /// Of an update: where something else was stored than the manifest says, without managed fields and the
    /// last-applied annotation there, too. An empty list says that the manifest changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Vec<Before>>,
    /// From the request's head to the decision. Filled in by the server.
    pub duration_micros: u64,
}

/// One violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule's id.
    pub rule: &'static str,
    /// Kubernetes field path.
    pub field: String,
    /// Cause type, such as `FieldValueInvalid`.
    pub cause: &'static str,
    /// What the user was told.
    pub message: String,
}

/// Which object a record is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, expecting = "an object with namespace and name")]
pub struct Object {
    /// Its namespace.
    pub namespace: String,
    /// Its name, or its `generateName` where it has none yet.
    pub name: String,
    /// `metadata.uid`, where it has one yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// `metadata.generation`, where it has one yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// SHA-256 of the manifest, cut to 32 hexadecimal digits: equal for equal manifests.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hash: String,
}

/// Who made a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, expecting = "an object with name and groups")]
pub struct User {
    /// Name, such as `system:serviceaccount:flux-system:kustomize-controller`.
    pub name: String,
    /// Groups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}

/// The webhook that was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// `/validate`: what it decides is final.
    Validate,
    /// `/mutate`: it allows, and notes what will be refused later, here or by the CRD's schema.
    Mutate,
}

/// What came of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// The request goes on.
    Allowed,
    /// The request is refused.
    Rejected,
    /// The request would be refused, and is allowed because violations are warnings.
    Warned,
    /// `/mutate` saw violations and let the request go on to be refused.
    Found,
}

// serde's `skip_serializing_if` hands a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A rejected create, as the server fills it in.
    pub(in crate::audit) fn record() -> Record {
        Record {
            time: "2026-11-29T16:00:00.000Z".into(),
            stage: Stage::Validate,
            decision: Decision::Rejected,
            uid: "705ab4f5-6393-11e8-b7cc-42010a800002".into(),
            operation: "CREATE".into(),
            subresource: None,
            object: Object { namespace: "shop".into(), name: "main".into(), ..Object::default() },
            user: User { name: "alice".into(), groups: vec![] },
            dry_run: false,
            enforcement: None,
            code: Some(422),
            message: None,
            violations: vec![],
            violations_left_out: 0,
            warnings: vec![],
            manifest: None,
            before: None,
            duration_micros: 41,
        }
    }
}
