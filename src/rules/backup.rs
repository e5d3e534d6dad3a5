//! Compaction and backups, where one field depends on another.

use super::report::Report;
use super::settings::Settings;
use super::view::View;
use crate::etcd::checks::Duration;
use crate::etcd::{SharedConfig, Slot};

const RETENTION: &str = "spec.sharedConfig.autoCompactionRetention";

/// What `autoCompactionRetention` is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Periodic,
    Revision,
}

impl Mode {
    /// Nothing where the mode itself is wrong.
    pub(super) fn of(shared: &SharedConfig<'_>) -> Option<Self> {
        match &shared.auto_compaction_mode {
            Slot::Wrong(_) => None,
            Slot::Absent => Some(Self::Periodic),
            Slot::Set(mode) => match &**mode {
                "periodic" => Some(Self::Periodic),
                "revision" => Some(Self::Revision),
                _ => None,
            },
        }
    }

    /// Whether a retention fits the mode.
    fn takes(self, retention: &str) -> bool {
        is_whole(retention) || (self == Self::Periodic && Duration::read(retention).is_some())
    }
}

/// A whole number that etcd can read: 63 bits.
fn is_whole(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) && text.parse::<i64>().is_ok()
}

/// Whether a retention turns compaction off.
pub(super) fn turns_off(retention: &str) -> bool {
    let zero = is_whole(retention) && retention.bytes().all(|b| b == b'0');
    zero || Duration::read(retention).is_some_and(Duration::is_zero)
}

/// The retention fits the mode.
pub(super) fn auto_compaction(view: &View<'_>, _: &Settings, report: &mut Report) {
    let Some(shared) = view.spec().and_then(|spec| spec.shared_config.get()) else { return };
    let Some(mode) = Mode::of(shared) else { return };
    match (&shared.auto_compaction_retention, mode) {
        (Slot::Absent, Mode::Revision) => {
            report.required(
                RETENTION,
                "write how many revisions to keep, such as \"1000\": the default, 30m, is no number of revisions, and \
                 etcd would never compact",
            );
        }
        (Slot::Set(retention), Mode::Periodic) if !mode.takes(retention) => {
            let detail =
                "in mode periodic the retention is a duration such as \"30m\", or whole hours such as \"1\"";
            report.invalid(RETENTION, retention, detail).with("periodic");
        }
        (Slot::Set(retention), Mode::Revision) if !mode.takes(retention) => {
            let detail = "in mode revision the retention is a number of revisions such as \"1000\": etcd reads a \
                          duration as a huge number, and never compacts";
            report.invalid(RETENTION, retention, detail).with("revision");
        }
        _ => {}
    }
}

/// Changes are saved more often than snapshots are tidied.
pub(super) fn backup_periods(view: &View<'_>, _: &Settings, report: &mut Report) {
    let Some(backup) = view.backup() else { return };
    let (delta, garbage) = (&backup.delta_snapshot_period, &backup.garbage_collection_period);
    let (Some(delta), Some(garbage)) = (delta.text(), garbage.text()) else { return };
    let (Some(delta_length), Some(garbage_length)) = (Duration::read(delta), Duration::read(garbage)) else {
        return;
    };
    if delta_length.is_zero() || garbage_length.is_zero() || delta_length < garbage_length {
        return;
    }
    let detail = format!(
        "must be longer than spec.backup.deltaSnapshotPeriod (\"{delta}\"), or snapshots are tidied before there are \
         any; write a longer period here or a shorter one there"
    );
    report.invalid("spec.backup.garbageCollectionPeriod", garbage, detail).with(delta);
}

/// A store has a prefix; the rest of it is checked field by field.
pub(super) fn backup_store(view: &View<'_>, _: &Settings, report: &mut Report) {
    let store = view.backup().and_then(|backup| backup.store.get());
    if store.is_some_and(|store| store.prefix.is_absent()) {
        let detail = "write the path of this cluster's backups in the container, or \"\" for its root";
        report.required("spec.backup.store.prefix", detail);
    }
}
