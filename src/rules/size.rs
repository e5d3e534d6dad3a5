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

/// The old number and the new one, where they differ and no rule about the object speaks of the new one: of an
/// object that is being deleted also one that is missing or can't be read.
pub(super) fn replicas_changed(change: &Change<'_>) -> Option<(i64, Option<i64>)> {
    let (old, new) = (change.old.replicas()?, change.new.replicas());
    let readable = new.is_some_and(|new| new >= 0) || change.waives_object_rules();
    (readable && new != Some(old)).then_some((old, new))
}

/// Not smaller than before, except 0; from 0, not smaller than what is known to sleep.
pub(super) fn replicas_no_shrink(change: &Change<'_>, report: &mut Report) {
    let Some((old, new)) = replicas_changed(change) else { return };
    let frozen = change.old.is_joining() && old != 0;
    if frozen || new == Some(0) {
        return;
    }
    let known = i64::try_from(change.old.status().map_or(0, Status::member_count)).unwrap_or(i64::MAX);
    match new {
        None => {
            report.forbidden("spec.replicas", format!("can't be taken away: write {old}, as it is stored"));
        }
        Some(new) if new < old => {
            report.forbidden("spec.replicas", shrink_detail(old, new));
        }
        Some(new) if old == 0 && new < known => {
            report.forbidden(
                "spec.replicas",
                format!(
                    "can't wake with {new}: the cluster has {known} members (status.members), and fewer may have no \
                     quorum. Write {known}"
                ),
            );
        }
        Some(_) => {}
    }
}

fn shrink_detail(old: i64, new: i64) -> String {
    format!(
        "can't shrink from {old} to {new}: the members that go would stay voters of the cluster and take its quorum \
         with them. Write {old} or more, or 0 to hibernate the cluster"
    )
}
