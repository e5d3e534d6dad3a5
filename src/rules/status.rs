//! What is final in the status of a completed join.

use super::change::Change;
use super::report::Report;
use crate::etcd::{BOOTSTRAPPED, Slot, Status};

/// What the join was completed with is written once.
pub(super) fn status_snapshot_write_once(change: &Change<'_>, report: &mut Report) {
    let Some(old) = change.old.status().filter(|status| status.bootstrap_with_existing_cluster.is_set())
    else {
        return;
    };
    let new = change.new.status().map_or(&Slot::Absent, |status| &status.bootstrap_with_existing_cluster);
    if *new == old.bootstrap_with_existing_cluster {
        return;
    }
    let what = if new.is_absent() { "removed" } else { "changed" };
    report.forbidden(
        "status.bootstrapWithExistingCluster",
        format!(
            "can't be {what}: it is the record of the cluster that was joined, and what deletion and hibernation are \
             judged by. Write it back as it is stored"
        ),
    );
}

/// A join that was completed stays complete.
pub(super) fn status_bootstrap_sticky(change: &Change<'_>, report: &mut Report) {
    let Some(old) = change.old.status().filter(|status| status.bootstrap_with_existing_cluster.is_set())
    else {
        return;
    };
    if old.conditions_of(BOOTSTRAPPED).next().is_none() {
        return;
    }
    let new = change.new.status();
    if new.is_none_or(|status| status.conditions_of(BOOTSTRAPPED).next().is_none()) {
        report.forbidden(
            "status.conditions",
            format!("{BOOTSTRAPPED} can't be removed while status.bootstrapWithExistingCluster is set; keep the condition"),
        );
    } else if let Some(new) = new.filter(|_| old.bootstrapped()) {
        stays_true(new, report);
    }
}

fn stays_true(new: &Status<'_>, report: &mut Report) {
    for (index, condition) in new.conditions_of(BOOTSTRAPPED) {
        if condition.value.text() == Some("True") {
            continue;
        }
        let detail = format!(
            "{BOOTSTRAPPED} can't leave True while status.bootstrapWithExistingCluster is set: the members have \
             joined. Write \"True\", and say what is wrong in another condition"
        );
        report.forbidden(format_args!("status.conditions[{index}].status"), detail);
    }
}
