//! What the loop did last, and what went wrong with it.

use super::super::facts::Facts;
use super::super::status::{LastError, LastOperation};
use super::conditions::MESSAGE_MAX;
use super::{Work, time};
use crate::text::{escaped, shortened};

/// What the loop is at: whether every object stands as it should; how the members are is told by conditions.
pub(super) fn last_operation(facts: &Facts<'_>, work: &Work<'_>) -> LastOperation {
    let (kind, what) =
        if facts.etcd.is_terminating { ("Delete", "deletion") } else { ("Reconcile", "reconciliation") };
    let (state, description) = match (work.problems.is_empty(), work.is_applied) {
        (false, _) => ("Error", format!("{what} failed, and is tried again: see status.lastErrors")),
        (true, true) => ("Succeeded", "every object stands as the spec wants it".to_owned()),
        (true, false) => ("Processing", format!("{what} is in progress")),
    };
    let operation = LastOperation {
        kind: kind.to_owned(),
        state: state.to_owned(),
        description,
        run_id: format!("generation-{}", facts.etcd.generation),
        last_update_time: String::new(),
    };
    // A time alone is no reason to write.
    let before = facts.etcd.status.last_operation.as_ref();
    let same = before
        .filter(|before| LastOperation { last_update_time: String::new(), ..(*before).clone() } == operation);
    let at = same.map_or_else(|| time(facts.now), |before| before.last_update_time.clone());
    LastOperation { last_update_time: at, ..operation }
}

pub(super) fn last_errors(facts: &Facts<'_>, work: &Work<'_>) -> Vec<LastError> {
    let before = &facts.etcd.status.last_errors;
    let mut errors = Vec::new();
    for (code, description) in &work.problems {
        let description = escaped(&shortened(description, MESSAGE_MAX));
        let known = before.iter().find(|error| error.code == *code && error.description == description);
        let fresh = || LastError {
            code: code.clone(),
            description: description.clone(),
            observed_at: time(facts.now),
        };
        let error = known.cloned().unwrap_or_else(fresh);
        if !errors.contains(&error) {
            errors.push(error);
        }
    }
    errors
}
