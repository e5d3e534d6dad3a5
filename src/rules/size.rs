//! How many members.

use super::change::Change;
use super::report::Report;
use super::settings::Settings;
use super::view::View;
use crate::etcd::{Slot, Status};

/// Present, and not negative.
pub(super) fn replicas_range(view: &View<'_>, _: &Settings, report: &mut Report) {
    let Some(spec) = view.spec() else { return };
    match &spec.replicas {
        Slot::Absent => {
            report.required("spec.replicas", "write the number of members: 1, 3 or 5, or 0 for none yet");
        }
        Slot::Set(replicas) if replicas.0 < 0 => {
            let detail =
                "a number of members can't be negative; write 1, 3 or 5, or 0 to hibernate the cluster";
            report.invalid_number("spec.replicas", replicas.0, detail);
        }
        Slot::Set(_) | Slot::Wrong(_) => {}
    }
}

/// Not smaller than before, except 0; from 0, not smaller than what is known to sleep.
pub(super) fn replicas_no_shrink(change: &Change<'_>, report: &mut Report) {
    let (Some(old), Some(new)) = (change.old.replicas(), change.new.replicas()) else { return };
    let frozen = change.old.is_joining() && old != 0;
    if frozen || new == 0 || (new < 0 && !change.waives_object_rules()) {
        return;
    }
    let known = i64::try_from(change.old.status().map_or(0, Status::member_count)).unwrap_or(i64::MAX);
    if new < old {
        report.forbidden("spec.replicas", shrink_detail(old, new));
    } else if old == 0 && new < known {
        report.forbidden(
            "spec.replicas",
            format!(
                "can't wake with {new}: the cluster has {known} members (status.members), and fewer may have no \
                 quorum. Write {known}"
            ),
        );
    }
}

fn shrink_detail(old: i64, new: i64) -> String {
    format!(
        "can't shrink from {old} to {new}: the members that go would stay voters of the cluster and take its quorum \
         with them. Write {old} or more, or 0 to hibernate the cluster"
    )
}
