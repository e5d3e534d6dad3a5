//! AdmissionReview in, AdmissionReview out.
//!
//! Pure: bytes and settings in, an [`Outcome`] out. Sockets, clocks and files are the server's.

use crate::audit::{Decision, Record, Stage};
use crate::rules::Settings;

/// What one call of a webhook came to.
#[derive(Debug)]
pub struct Outcome {
    /// The answer's body: an AdmissionReview as JSON.
    pub body: Vec<u8>,
    /// What it was about, in closed sets: for metrics and for the log line.
    pub facts: Facts,
    /// The audit record, without time and duration; only where `audited` asked for it.
    pub record: Option<Box<Record>>,
}

/// What a review was about. Every string is from a closed set, or is for the log only.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Which webhook.
    pub stage: Stage,
    /// `CREATE`, `UPDATE`, `DELETE`, or `other`.
    pub operation: &'static str,
    /// `etcds`, `etcds/status`, `etcds/scale`, or `other`.
    pub resource: &'static str,
    /// What came of it.
    pub decision: Decision,
    /// The refusal's code: 422, 400, 504; 200 where it was allowed.
    pub code: u16,
    /// Ids of the rules that were broken, sorted, each once.
    pub rules: Vec<&'static str>,
    /// Ids of the warnings given, sorted, each once.
    pub warnings: Vec<&'static str>,
    /// For the log, escaped and shortened: `request.uid`.
    pub uid: String,
    /// For the log, escaped and shortened.
    pub namespace: String,
    /// For the log, escaped and shortened.
    pub name: String,
    /// For the log, escaped and shortened.
    pub user: String,
}

/// Which reviews get an audit record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audited {
    /// Rejections, and what `/mutate` found.
    Rejections,
    /// Every decision.
    All,
}

/// Why a body is no AdmissionReview v1: answered with HTTP 400 and this text.
#[derive(Debug, thiserror::Error)]
pub enum NoReview {
    /// Nothing was sent.
    #[error("the body is empty: post an AdmissionReview (admission.k8s.io/v1) as JSON")]
    Empty,
}

/// Answers one call of a webhook.
pub fn review(stage: Stage, body: &[u8], settings: &Settings, audited: Audited) -> Result<Outcome, NoReview> {
    let _ = (stage, settings, audited);
    if body.is_empty() { Err(NoReview::Empty) } else { Err(NoReview::Empty) }
}

/// The answer to a review whose time ran out before it was judged: `/validate` refuses with code 504 and
/// reason Timeout, `/mutate` allows without a patch.
pub fn timed_out(stage: Stage, body: &[u8], limit: std::time::Duration) -> Result<Outcome, NoReview> {
    let _ = (stage, body, limit);
    Err(NoReview::Empty)
}
