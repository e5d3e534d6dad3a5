//! The labels of metrics. Every value is from a closed set.

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};

use crate::admission::Facts;
use crate::audit::{Decision, Stage};

pub(super) const CODES: [&str; 7] = ["200", "400", "408", "413", "415", "500", "503"];
pub(super) const OPERATIONS: [&str; 4] = ["CREATE", "UPDATE", "DELETE", "other"];
pub(super) const RESOURCES: [&str; 4] = ["etcds", "etcds/status", "etcds/scale", "other"];
pub(super) const STAGES: [Stage; 2] = [Stage::Validate, Stage::Mutate];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Webhook {
    pub(super) webhook: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Answered {
    pub(super) webhook: &'static str,
    pub(super) code: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Decided {
    pub(super) webhook: &'static str,
    pub(super) operation: &'static str,
    pub(super) resource: &'static str,
    pub(super) decision: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Rule {
    pub(super) rule: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Warning {
    pub(super) id: &'static str,
}

/// Why a handshake failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
#[allow(non_camel_case_types, reason = "the names are the metric's label values")]
pub(super) enum Handshake {
    /// Not done in time.
    timeout,
    /// What came was no TLS, or none that both sides speak, or no certificate that is let in.
    tls,
    /// The connection broke.
    io,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct HandshakeFailed {
    pub(super) reason: Handshake,
}

pub(super) fn path(stage: Stage) -> &'static str {
    match stage {
        Stage::Validate => "/validate",
        Stage::Mutate => "/mutate",
    }
}

pub(super) fn decision_name(decision: Decision) -> &'static str {
    match decision {
        Decision::Allowed => "allowed",
        Decision::Rejected => "rejected",
        Decision::Warned => "warned",
        Decision::Found => "found",
    }
}

pub(super) fn decided(facts: &Facts) -> Decided {
    let closed =
        |set: &[&'static str], value| set.iter().copied().find(|known| *known == value).unwrap_or("other");
    Decided {
        webhook: path(facts.stage),
        operation: closed(&OPERATIONS, facts.operation),
        resource: closed(&RESOURCES, facts.resource),
        decision: decision_name(facts.decision),
    }
}

pub(super) fn all_decisions() -> impl Iterator<Item = Decided> {
    let decisions = [
        (Stage::Validate, Decision::Allowed),
        (Stage::Validate, Decision::Rejected),
        (Stage::Validate, Decision::Warned),
        (Stage::Mutate, Decision::Allowed),
        (Stage::Mutate, Decision::Found),
    ];
    decisions.into_iter().flat_map(|(stage, decision)| {
        let (webhook, decision) = (path(stage), decision_name(decision));
        OPERATIONS.into_iter().flat_map(move |operation| {
            RESOURCES.map(|resource| Decided { webhook, operation, resource, decision })
        })
    })
}
