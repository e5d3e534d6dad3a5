//! Judges anew what is in the audit log: the same review, by the present rules.

use serde_json::{Value, json};

use super::outcome::review;
use super::policy::{Audited, Policy};
use super::review::{API_VERSION, KIND};
use crate::audit::query::{Entry, Evidence};
use crate::audit::{Decision, Stage, restored};
use crate::etcd::{self, GROUP, VERSION};
use crate::rules::Settings;

/// A verdict on a recorded review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replayed {
    /// No rule is broken.
    Accepted,
    /// These rules are broken, sorted, each once.
    Refused(Vec<String>),
    /// The record doesn't hold what the rules would have to see.
    NotJudged(Missing),
}

/// Why a record can't be judged anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Missing {
    /// No manifest is in it.
    Manifest,
    /// An update without what was stored: written by a release that didn't record it.
    Stored,
    /// A Scale: the Etcd whose size it changes isn't in the record.
    ScaledEtcd,
    /// It was refused for no rule: too late, too early, or a review that doesn't belong here.
    Rule,
}

impl Missing {
    /// In words, for a summary of so many: `N <words>`.
    pub const fn words(self, count: u64) -> &'static str {
        match self {
            Self::Manifest => "without a manifest",
            Self::Stored if count == 1 => "update without what was stored (recorded by an earlier release)",
            Self::Stored => "updates without what was stored (recorded by an earlier release)",
            Self::ScaledEtcd if count == 1 => "Scale (the Etcd behind it is not in its record)",
            Self::ScaledEtcd => "Scales (the Etcd behind one is not in its record)",
            Self::Rule => "refused for no rule (a time-out, or a wrong registration)",
        }
    }

    /// One word, for programs.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Manifest => "manifest",
            Self::Stored => "stored",
            Self::ScaledEtcd => "scaledEtcd",
            Self::Rule => "rule",
        }
    }
}

/// What was decided then, as far as the rules are concerned: under `--enforcement warn`, a refusal is one.
pub fn decided(entry: &Entry) -> Replayed {
    match entry.decision {
        Decision::Allowed => Replayed::Accepted,
        _ if entry.violations.is_empty() => Replayed::NotJudged(Missing::Rule),
        _ => Replayed::Refused(entry.rules().into_iter().map(str::to_owned).collect()),
    }
}

/// What would be decided now, with these settings.
pub fn replay(entry: &Entry, evidence: Evidence, settings: &Settings) -> Replayed {
    let body = match body(entry, evidence) {
        Ok(body) => body.to_string(),
        Err(missing) => return Replayed::NotJudged(missing),
    };
    let policy = Policy::new(settings, Audited::Rejections);
    match review(Stage::Validate, body.as_bytes(), &policy) {
        Ok(outcome) if outcome.facts.decision == Decision::Allowed => Replayed::Accepted,
        Ok(outcome) if outcome.facts.rules.is_empty() => Replayed::NotJudged(Missing::Rule),
        Ok(outcome) => Replayed::Refused(outcome.facts.rules.into_iter().map(str::to_owned).collect()),
        Err(_) => Replayed::NotJudged(Missing::Manifest),
    }
}

/// The review that a record is of.
fn body(entry: &Entry, evidence: Evidence) -> Result<Value, Missing> {
    let subresource = entry.subresource.as_deref().unwrap_or_default();
    if subresource == "scale" {
        return Err(Missing::ScaledEtcd);
    }
    if decided(entry) == Replayed::NotJudged(Missing::Rule) {
        return Err(Missing::Rule);
    }
    let manifest = evidence.manifest.ok_or(Missing::Manifest)?;
    let (object, old_object) = match entry.operation.as_str() {
        "CREATE" => (manifest, Value::Null),
        "DELETE" => (Value::Null, manifest),
        _ => {
            let before = evidence.before.ok_or(Missing::Stored)?;
            let old = restored(manifest.clone(), &before).ok_or(Missing::Stored)?;
            (manifest, old)
        }
    };
    Ok(json!({
        "apiVersion": API_VERSION,
        "kind": KIND,
        "request": {
            // Its own may be longer than any that is answered.
            "uid": "replayed",
            "kind": {"group": GROUP, "version": VERSION, "kind": etcd::KIND},
            "resource": {"group": GROUP, "version": VERSION, "resource": etcd::RESOURCE},
            "subResource": subresource,
            "name": entry.object.name,
            "namespace": entry.object.namespace,
            "operation": entry.operation,
            "userInfo": {"username": entry.user.name, "groups": entry.user.groups},
            "object": object,
            "oldObject": old_object,
        },
    }))
}
