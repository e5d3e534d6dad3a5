//! The answer: an AdmissionReview v1 as it goes out.

use super::patch::Operation;
use super::review::{API_VERSION, KIND};
use crate::etcd::{self, GROUP};
use crate::rules::{MORE_WARNINGS, Violation, Warning};
use crate::text::{escaped, shortened};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

/// Room for violations in bytes of JSON, as causes and once more in the message: with warnings of 4,000 characters
/// of four bytes and two names an answer stays below 64 KiB.
const VIOLATIONS_MAX: usize = 40 * 1024;
/// Most characters of all warnings together: beyond 4,096 the API server cuts each to 256 characters and their
/// ids with it.
const WARNINGS_MAX: usize = 4000;
/// Longest name shown; Kubernetes' own names have at most 253 characters.
const NAME_MAX: usize = 253;

/// What is answered.
#[derive(Clone, Debug)]
pub(super) enum Answer<'a> {
    /// The request goes on, perhaps with another object.
    Allowed {
        /// Changes of the object.
        patch: &'a [Operation],
    },
    /// The object breaks rules.
    Invalid {
        /// Name of the object.
        name: &'a str,
        /// What it breaks, in the order in which it is told; not empty.
        violations: &'a [Violation],
        /// How many more violations there are.
        more: usize,
    },
    /// The question can't be judged.
    Refused {
        /// HTTP-like code.
        code: u16,
        /// Kubernetes' word for it.
        reason: &'static str,
        /// Why, and what to do.
        message: &'a str,
        /// Name of the object.
        name: &'a str,
        /// Seconds after which to try again, where that helps.
        retry_after: Option<u16>,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Review<'a> {
    api_version: &'static str,
    kind: &'static str,
    response: Response<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    audit_annotations: Option<AuditAnnotations>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct AuditAnnotations {
    rules: String,
}

/// Shaped like the API server's own validation error.
#[derive(Serialize)]
struct Status {
    #[serde(rename = "status")]
    outcome: &'static str,
    message: String,
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Details>,
    code: u16,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Details {
    name: String,
    group: &'static str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    causes: Vec<Cause>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_seconds: Option<u16>,
}

#[derive(Serialize)]
struct Cause {
    reason: &'static str,
    message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    field: String,
}

impl Answer<'_> {
    /// Whether the request goes on.
    pub(super) fn allowed(&self) -> bool {
        matches!(self, Self::Allowed { .. })
    }

    /// The refusal's code, 200 where there is none.
    pub(super) fn code(&self) -> u16 {
        match self {
            Self::Allowed { .. } => 200,
            Self::Invalid { .. } => 422,
            Self::Refused { code, .. } => *code,
        }
    }

    /// The answer's body.
    pub(super) fn body(&self, uid: &str, warnings: &[Warning]) -> Vec<u8> {
        let patch = self.patch();
        let response = Response {
            uid,
            allowed: self.allowed(),
            status: self.status(),
            patch_type: patch.as_ref().map(|_| "JSONPatch"),
            patch,
            audit_annotations: self.audit_annotations(),
            warnings: fitting(warnings),
        };
        let review = Review { api_version: API_VERSION, kind: KIND, response };
        // Strings and numbers always serialise; an empty body would count as a failed call.
        serde_json::to_vec(&review).unwrap_or_default()
    }

    /// JSON Patch in base64; nothing where nothing is changed.
    fn patch(&self) -> Option<String> {
        match self {
            Self::Allowed { patch } if !patch.is_empty() => {
                serde_json::to_vec(patch).ok().map(|json| STANDARD.encode(json))
            }
            _ => None,
        }
    }

    fn status(&self) -> Option<Status> {
        match self {
            Self::Allowed { .. } => None,
            Self::Invalid { name, violations, more } => Some(invalid(name, violations, *more)),
            Self::Refused { code, reason, message, name, retry_after } => Some(Status {
                outcome: "Failure",
                message: escaped(message),
                reason,
                details: retry_after.map(|seconds| retry_details(name, seconds)),
                code: *code,
            }),
        }
    }

    fn audit_annotations(&self) -> Option<AuditAnnotations> {
        match self {
            Self::Invalid { violations, .. } => {
                Some(AuditAnnotations { rules: rule_ids(violations).join(",") })
            }
            _ => None,
        }
    }
}

/// The ids of the rules that were broken, sorted, each once.
pub(super) fn rule_ids(violations: &[Violation]) -> Vec<&'static str> {
    distinct(violations.iter().map(|violation| violation.rule))
}

/// Ids, sorted, each once.
pub(super) fn distinct(ids: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let mut ids: Vec<&'static str> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn invalid(name: &str, violations: &[Violation], more: usize) -> Status {
    let name = shortened(&escaped(name), NAME_MAX);
    let mut causes: Vec<Cause> = Vec::new();
    let mut room = VIOLATIONS_MAX;
    for violation in violations {
        let size = 2 * (json_length(&violation.field) + json_length(&violation.message)) + ENTRY_OVERHEAD;
        let Some(left) = room.checked_sub(size) else { break };
        room = left;
        causes.push(Cause {
            reason: violation.cause.name(),
            message: violation.message.clone(),
            field: violation.field.clone(),
        });
    }
    let left_out = violations.len() - causes.len() + more;
    if left_out > 0 {
        let message = format!("{left_out} more violations found no room in this answer; mend these first");
        causes.push(Cause { reason: "FieldValueInvalid", message, field: String::new() });
    }
    let message = format!("{}.{GROUP} \"{name}\" is invalid: {}", etcd::KIND, listed(&causes));
    let details = Details { name, group: GROUP, kind: etcd::KIND, causes, retry_after_seconds: None };
    Status { outcome: "Failure", message, reason: "Invalid", details: Some(details), code: 422 }
}

fn retry_details(name: &str, seconds: u16) -> Details {
    let name = shortened(&escaped(name), NAME_MAX);
    Details { name, group: GROUP, kind: etcd::KIND, causes: Vec::new(), retry_after_seconds: Some(seconds) }
}

/// What JSON adds around one cause.
const ENTRY_OVERHEAD: usize = 80;

/// Length of a text in JSON: quotes and backslashes have two bytes, and nothing else is escaped any more.
fn json_length(text: &str) -> usize {
    text.len() + text.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count()
}

fn listed(causes: &[Cause]) -> String {
    let lines: Vec<String> = causes
        .iter()
        .map(|cause| {
            if cause.field.is_empty() {
                cause.message.clone()
            } else {
                format!("{}: {}", cause.field, cause.message)
            }
        })
        .collect();
    match lines.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

/// The warnings that fit, and one that says how many don't.
fn fitting(warnings: &[Warning]) -> Vec<String> {
    // "1000000 more warnings found no room [more-warnings]", and as much again.
    const LAST: usize = 80;
    let total: usize = warnings.iter().map(|warning| warning.text.chars().count()).sum();
    if total <= WARNINGS_MAX {
        return warnings.iter().map(|warning| warning.text.clone()).collect();
    }
    let mut room = WARNINGS_MAX - LAST;
    let mut texts: Vec<String> = Vec::new();
    for warning in warnings {
        let Some(left) = room.checked_sub(warning.text.chars().count()) else { break };
        room = left;
        texts.push(warning.text.clone());
    }
    let left_out = warnings.len() - texts.len();
    texts.push(Warning::new(MORE_WARNINGS, format_args!("{left_out} more warnings found no room")).text);
    texts
}
