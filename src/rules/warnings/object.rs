//! Warnings about an Etcd for itself.

use super::super::backup::{Mode, turns_off};
use super::super::object::NAME_MAX;
use super::super::report::Given;
use super::super::view::View;
use super::{NAME, QUOTA};
use crate::etcd::checks::{Duration, Quantity, Schedule};
use crate::etcd::{IntOrText, Slot, Text};

pub(super) fn long_name(view: &View<'_>, given: &mut Given) {
    const DRUID_MAX: usize = 37; // etcd-druid's labels overflow from the next on
    let characters = view.name().chars().count();
    if characters > DRUID_MAX && characters <= NAME_MAX {
        given.at(
            NAME,
            format_args!(
                "metadata.name has {characters} characters: etcd-druid's labels overflow above {DRUID_MAX}"
            ),
        );
    }
}

/// Quota and storage capacity, where they can be read; defaults counted.
fn quantity(slot: Option<&Slot<IntOrText<'_>>>, default: Quantity) -> Option<Quantity> {
    match slot {
        None | Some(Slot::Absent) => Some(default),
        Some(Slot::Wrong(_)) => None,
        Some(Slot::Set(value)) => Quantity::read(&value.as_text()).filter(|quantity| quantity.is_positive()),
    }
}

fn quota(view: &View<'_>) -> Option<Quantity> {
    quantity(view.config().map(|config| &config.quota), Quantity::gibibytes(8))
}

fn shown(slot: Option<&Slot<IntOrText<'_>>>, default: &str) -> String {
    slot.and_then(Slot::get)
        .map_or_else(|| format!("{default} by default"), |value| value.as_text().into_owned())
}

pub(super) fn large_quota(view: &View<'_>, given: &mut Given) {
    if quota(view).is_some_and(|quota| quota > Quantity::gibibytes(8)) {
        let quota = shown(view.config().map(|config| &config.quota), "8Gi");
        given.at(QUOTA, format_args!("spec.etcd.quota {quota}: etcd's own advice is 8Gi at most"));
    }
}

pub(super) fn quota_above_storage(view: &View<'_>, given: &mut Given) {
    let capacity_slot = view.spec().map(|spec| &spec.storage_capacity);
    let (Some(quota), Some(capacity)) = (quota(view), quantity(capacity_slot, Quantity::gibibytes(16)))
    else {
        return;
    };
    if quota > capacity {
        given.at(
            QUOTA,
            format_args!(
                "spec.etcd.quota ({}) is larger than spec.storageCapacity ({}): the disk is full first",
                shown(view.config().map(|config| &config.quota), "8Gi"),
                shown(capacity_slot, "16Gi")
            ),
        );
    }
}

pub(super) fn backup_part_off(view: &View<'_>, given: &mut Given) {
    let Some(backup) = view.backup() else { return };
    let off = |period: &Slot<Text<'_>>| period.text().and_then(Duration::read).is_some_and(Duration::is_zero);
    if off(&backup.delta_snapshot_period) {
        given.at(
            "spec.backup.deltaSnapshotPeriod",
            "spec.backup.deltaSnapshotPeriod is 0: changes between full snapshots are not saved",
        );
    }
    if off(&backup.garbage_collection_period) {
        given.at(
            "spec.backup.garbageCollectionPeriod",
            "spec.backup.garbageCollectionPeriod is 0: old snapshots are never removed",
        );
    }
}

pub(super) fn weekday_7(view: &View<'_>, given: &mut Given) {
    let defragmentation = view.config().map(|config| &config.defragmentation_schedule);
    let snapshot = view.backup().map(|backup| &backup.full_snapshot_schedule);
    for (field, slot) in [
        ("spec.etcd.defragmentationSchedule", defragmentation),
        ("spec.backup.fullSnapshotSchedule", snapshot),
    ] {
        let schedule = slot.and_then(|slot| slot.text()).and_then(Schedule::read);
        if schedule.is_some_and(|schedule| schedule.weekday_7) {
            given.at(field, format_args!(
                "{field}: etcd-backup-restore doesn't know weekday 7 and refuses the schedule; write *, or 1 to 6"
            ));
        }
    }
}

pub(super) fn compaction_off(view: &View<'_>, given: &mut Given) {
    let Some(shared) = view.spec().and_then(|spec| spec.shared_config.get()) else { return };
    if Mode::of(shared).is_some() && shared.auto_compaction_retention.text().is_some_and(turns_off) {
        given.at(
            "spec.sharedConfig.autoCompactionRetention",
            "spec.sharedConfig.autoCompactionRetention is 0: etcd never compacts, and grows to its quota",
        );
    }
}
