//! One line a decision: what was refused, or would have been, at info, the rest at debug; never a whole object.

use std::time::Duration;

use crate::admission::Facts;
use crate::audit::Decision;

/// Logs a decision. The texts in `facts` are escaped and shortened already.
pub(super) fn decision(facts: &Facts, duration: Duration) {
    let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    match facts.decision {
        Decision::Rejected => tracing::info!(
            uid = %facts.uid, operation = facts.operation, resource = facts.resource,
            namespace = %facts.namespace, name = %facts.name, user = %facts.user,
            code = facts.code, rules = %facts.rules.join(","), micros, "rejected"
        ),
        Decision::Warned => tracing::info!(
            uid = %facts.uid, operation = facts.operation, resource = facts.resource,
            namespace = %facts.namespace, name = %facts.name, user = %facts.user,
            rules = %facts.rules.join(","), warnings = %facts.warnings.join(","), micros,
            "allowed with warnings: would be rejected without --enforcement warn"
        ),
        Decision::Allowed | Decision::Found => tracing::debug!(
            uid = %facts.uid, operation = facts.operation, resource = facts.resource,
            namespace = %facts.namespace, name = %facts.name, user = %facts.user,
            rules = %facts.rules.join(","), warnings = %facts.warnings.join(","), micros, "allowed"
        ),
    }
}
