//! The table of warnings: what is legal but unwise.

use super::address::Address;
use super::backup::{Mode, turns_off};
use super::catalogue::Group;
use super::change::Change;
use super::end::{combined, leaves_first, quorum_lost_by_deletion};
use super::freeze::is_edited;
use super::image::{Minor, image};
use super::object::NAME_MAX;
use super::report::{Given, Warning};
use super::settings::Settings;
use super::source_urls::by_address;
use super::view::{BOOTSTRAP, View};
use crate::etcd::checks::{Duration, Quantity, Schedule};
use crate::etcd::{Bootstrap, IntOrText, Slot, Store, Text};
use crate::text::quoted;

/// One kind of warning.
#[derive(Debug)]
pub struct WarningRule {
    /// Stable id: at the end of the warning, in metrics and in documentation.
    pub id: &'static str,
    /// Where it is documented.
    pub group: Group,
    /// What it looks at.
    pub check: WarningCheck,
    /// When it is given, in one sentence.
    pub summary: &'static str,
    /// What explains it, in Markdown: `docs/rules/<id>.md`.
    pub page: &'static str,
}

impl WarningRule {
    /// The operations that it is given on, as they are written in the documentation.
    pub const fn runs(&self) -> &'static str {
        match self.check {
            Object(_) => "CREATE, UPDATE",
            Changed(_) => "UPDATE",
            Deleted(_) => "DELETE",
            Elsewhere => "any",
        }
    }
}

/// What a warning looks at, and the function that looks.
#[derive(Clone, Copy, Debug)]
pub enum WarningCheck {
    /// The object: on CREATE, and on UPDATE where the warning wasn't true of the old object already.
    Object(fn(&View<'_>, &mut Given)),
    /// The change: on UPDATE.
    Changed(fn(&Change<'_>, &mut Given)),
    /// The object that goes: on DELETE.
    Deleted(fn(&View<'_>, &Settings, &mut Given)),
    /// Given by mutation, or made of other warnings.
    Elsewhere,
}

/// A row of the table. A warning whose page isn't there doesn't compile.
macro_rules! warning {
    ($id:literal, $group:expr, $check:expr, $summary:literal $(,)?) => {
        WarningRule { id: $id, group: $group, check: $check, summary: $summary, page: page!($id) }
    };
}

use Group::{Joining, Life, Object as Rest};
use WarningCheck::{Changed, Deleted, Elsewhere, Object};

/// Fields that several warnings are about.
const REPLICAS: &str = "spec.replicas";
const NAME: &str = "metadata.name";
const STORE: &str = "spec.backup.store";
const QUOTA: &str = "spec.etcd.quota";

/// Id of the warning that mutation gives for each URL that it writes otherwise.
pub const CANONICAL_URL: &str = "canonical-url";
/// Id of the warning that says how many warnings found no room.
pub const MORE_WARNINGS: &str = "more-warnings";
/// Id of the warning that stands for a refusal that no rule gives, where refusals are warnings.
pub const NOT_JUDGED: &str = "not-judged";

/// Every warning, in the order in which they are given.
pub const WARNINGS: &[WarningRule] = &[
    warning!(
        "even-voters",
        Joining,
        Object(even_voters),
        "Source and own members together are an even number.",
    ),
    warning!("many-voters", Joining, Object(many_voters), "Source and own members together are more than 7."),
    warning!(
        "nothing-joins-yet",
        Joining,
        Object(nothing_joins_yet),
        "An existing cluster is named, with 0 replicas.",
    ),
    warning!(
        "backup-not-restored",
        Joining,
        Object(backup_not_restored),
        "A backup store is set, whose backups aren't restored into a joined cluster.",
    ),
    warning!(
        "url-peer-and-client",
        Joining,
        Object(url_peer_and_client),
        "One URL is both a peer URL and a client endpoint.",
    ),
    warning!(
        "endpoint-without-port",
        Joining,
        Object(endpoint_without_port),
        "A client endpoint has no port.",
    ),
    warning!(
        "edit-after-join",
        Joining,
        Changed(edit_after_join),
        "`members` or `clientEndpoints` are edited after the join, without effect.",
    ),
    warning!(
        "leave-source",
        Joining,
        Changed(leave_source),
        "The existing cluster is removed after the join; its members stay.",
    ),
    warning!("canonical-url", Joining, Elsewhere, "Mutation wrote a URL otherwise."),
    warning!("even-replicas", Life, Object(even_replicas), "`replicas` is an even number."),
    warning!(
        "image-version-unknown",
        Life,
        Changed(image_version_unknown),
        "An image is changed, and one of the two has no tag that is an etcd version.",
    ),
    warning!(
        "leaving",
        Life,
        Deleted(leaving),
        "The members of a joined Etcd leave one by one before it goes.",
    ),
    warning!(
        "dead-members-remain",
        Life,
        Deleted(dead_members_remain),
        "A joined Etcd goes, and its voters stay in the member list.",
    ),
    warning!(
        "deleted-mid-join",
        Life,
        Deleted(deleted_mid_join),
        "An Etcd goes in the middle of a join, with nothing seen of its members.",
    ),
    warning!(
        "store-moved",
        Life,
        Changed(store_moved),
        "The backup store is moved: an empty backup history begins.",
    ),
    warning!("long-name", Rest, Object(long_name), "The name is longer than 37 characters."),
    warning!("large-quota", Rest, Object(large_quota), "`quota` is above 8Gi."),
    warning!(
        "quota-above-storage",
        Rest,
        Object(quota_above_storage),
        "`quota` is larger than `storageCapacity`.",
    ),
    warning!(
        "backup-part-off",
        Rest,
        Object(backup_part_off),
        "`deltaSnapshotPeriod` or `garbageCollectionPeriod` is 0, which turns the thing off.",
    ),
    warning!(
        "weekday-7",
        Rest,
        Object(weekday_7),
        "A schedule names day 7 of the week, which etcd-backup-restore doesn't know.",
    ),
    warning!(
        "compaction-off",
        Rest,
        Object(compaction_off),
        "`autoCompactionRetention` is 0, which turns compaction off.",
    ),
    warning!(
        "not-judged",
        Rest,
        Elsewhere,
        "Under `--enforcement warn`: the review could not be judged, and would be refused otherwise.",
    ),
    warning!("more-warnings", Rest, Elsewhere, "There was no room for every warning."),
];

/// The warnings about an object.
pub(super) fn of_object(view: &View<'_>) -> Vec<Warning> {
    given(|check, given| {
        if let Object(look) = check {
            look(view, given);
        }
    })
}

/// The warnings about a change.
pub(super) fn of_change(change: &Change<'_>) -> Vec<Warning> {
    given(|check, given| {
        if let Changed(look) = check {
            look(change, given);
        }
    })
}

/// The warnings about a deletion.
pub(super) fn of_deletion(view: &View<'_>, settings: &Settings) -> Vec<Warning> {
    given(|check, given| {
        if let Deleted(look) = check {
            look(view, settings, given);
        }
    })
}

fn given(mut look: impl FnMut(WarningCheck, &mut Given)) -> Vec<Warning> {
    let mut given = Given::default();
    for rule in WARNINGS {
        given.begin(rule.id);
        look(rule.check, &mut given);
    }
    given.warnings
}

/// Source and own members, where the object joins or has joined with both.
fn voters(view: &View<'_>) -> Option<(usize, usize)> {
    let sources = view.bootstrap()?.members.get()?.len();
    let targets = usize::try_from(view.replicas()?).ok()?;
    (sources > 0 && targets > 0).then_some((sources, targets))
}

fn even_voters(view: &View<'_>, given: &mut Given) {
    let Some((sources, targets)) = voters(view) else { return };
    if (sources + targets).is_multiple_of(2) {
        given.at(REPLICAS, format_args!(
            "{sources} source and {targets} own members make {} voters, which tolerate no more failures than {} do",
            sources + targets,
            sources + targets - 1
        ));
    }
}

fn many_voters(view: &View<'_>, given: &mut Given) {
    const USEFUL: usize = 7; // etcd's own advice
    let Some((sources, targets)) = voters(view) else { return };
    if sources + targets > USEFUL {
        given.at(REPLICAS, format_args!(
            "{sources} source and {targets} own members make {} voters: more than {USEFUL} slow each write",
            sources + targets
        ));
    }
}

fn nothing_joins_yet(view: &View<'_>, given: &mut Given) {
    if view.is_joining() && view.replicas() == Some(0) {
        given.at(REPLICAS, "spec.replicas is 0: nothing joins the existing cluster until it is raised");
    }
}

fn store<'a>(view: &View<'a>) -> Option<&'a Store<'a>> {
    view.backup().and_then(|backup| backup.store.get())
}

fn backup_not_restored(view: &View<'_>, given: &mut Given) {
    if view.is_joining() && store(view).is_some() {
        given.at(STORE, "spec.backup.store: its backups are not restored into a cluster that joins another");
    }
}

fn url_peer_and_client(view: &View<'_>, given: &mut Given) {
    let peers = by_address(&view.peer_urls);
    for endpoint in &view.client_endpoints {
        let peer = endpoint.read.as_ref().ok().and_then(|address| peers.get(&address.place()));
        if let Some(peer) = peer {
            given.at(
                endpoint.place,
                format_args!(
                    "{} is also a peer URL ({}): etcd serves one or the other there",
                    endpoint.place, peer.place
                ),
            );
        }
    }
}

fn endpoint_without_port(view: &View<'_>, given: &mut Given) {
    let without = |address: &Address| address.port.is_none();
    for url in view.client_endpoints.iter().filter(|url| url.read.as_ref().is_ok_and(without)) {
        let port = if url.read.as_ref().is_ok_and(|address| address.https) { 443 } else { 80 };
        given.at(
            url.place,
            format_args!("{} has no port: {port} is used, etcd mostly listens on 2379", quoted(url.text)),
        );
    }
}

fn edit_after_join(change: &Change<'_>, given: &mut Given) {
    let read =
        |bootstrap: &Bootstrap<'_>| !bootstrap.members.is_wrong() && !bootstrap.client_endpoints.is_wrong();
    if change.old.is_complete() && change.new.bootstrap().is_some_and(read) && is_edited(change) {
        given.at(BOOTSTRAP, "the join is complete: an edit of bootstrapWithExistingCluster has no effect");
    }
}

fn leave_source(change: &Change<'_>, given: &mut Given) {
    let removed =
        change.new.config().is_some_and(|config| config.bootstrap_with_existing_cluster.is_absent());
    if change.old.is_complete() && change.old.bootstrap().is_some() && removed {
        given.at(BOOTSTRAP, "the source's members stay in the cluster: nothing removes them yet");
    }
}

fn even_replicas(view: &View<'_>, given: &mut Given) {
    let Some(replicas) = view.replicas().filter(|replicas| *replicas > 0 && replicas % 2 == 0) else {
        return;
    };
    if view.bootstrap().is_none() {
        given.at(REPLICAS, format_args!(
            "spec.replicas {replicas}: {replicas} members tolerate no more failures than {} do; write {} or {}",
            replicas - 1,
            replicas - 1,
            replicas + 1
        ));
    }
}

fn image_version_unknown(change: &Change<'_>, given: &mut Given) {
    let (old, new) = (image(change.old), image(change.new));
    let unread = change.new.config().is_none_or(|config| config.image.is_wrong());
    if old == new || unread {
        return;
    }
    let unknown = [old, new].into_iter().find(|image| image.and_then(Minor::of_image).is_none());
    if let Some(unknown) = unknown {
        let shown = unknown.map_or_else(|| "the default image".to_owned(), quoted);
        given.at(
            "spec.etcd.image",
            format_args!(
                "no etcd version in the tag of {shown}: make sure that the minor rises by one at most"
            ),
        );
    }
}

fn leaving(view: &View<'_>, settings: &Settings, given: &mut Given) {
    if let Some(combined) =
        combined(view).filter(|combined| combined.targets > 0 && leaves_first(view, settings))
    {
        given.at(
            NAME,
            format_args!(
                "its {} members leave the combined cluster one by one before the Etcd goes",
                combined.targets
            ),
        );
    }
}

fn dead_members_remain(view: &View<'_>, settings: &Settings, given: &mut Given) {
    let is_refused = quorum_lost_by_deletion(view, settings).is_some();
    if view.is_terminating() || combined(view).is_none() || leaves_first(view, settings) || is_refused {
        return;
    }
    let members = view.status().map(|status| &status.members);
    let names: Vec<&str> = members
        .map(|list| super::view::items(list).filter_map(|(_, m)| m.name.text()).collect())
        .unwrap_or_default();
    let who = if names.is_empty() { "its voters".to_owned() } else { names.join(", ") };
    given.at(NAME, format_args!(
        "dead members remain in the combined cluster's list, remove them with etcdctl member remove: {who}"
    ));
}

fn deleted_mid_join(view: &View<'_>, _: &Settings, given: &mut Given) {
    let unseen = view.status().is_none_or(|status| status.member_count() == 0);
    if view.is_joining() && unseen && !view.is_terminating() {
        given.at(NAME, "deleted before the join is complete: look for a learner of it at the source");
    }
}

fn store_moved(change: &Change<'_>, given: &mut Given) {
    let (Some(old), Some(new)) = (store(change.old), store(change.new)) else { return };
    let moved: Vec<&str> = [
        ("provider", &old.provider, &new.provider),
        ("container", &old.container, &new.container),
        ("prefix", &old.prefix, &new.prefix),
    ]
    .into_iter()
    .filter(|(_, old, new)| old.text() != new.text() && !new.is_wrong())
    .map(|(name, ..)| name)
    .collect();
    if !moved.is_empty() {
        given.at(
            STORE,
            format_args!(
                "spec.backup.store moves ({} changed): an empty backup history begins",
                moved.join(", ")
            ),
        );
    }
}

fn long_name(view: &View<'_>, given: &mut Given) {
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

fn large_quota(view: &View<'_>, given: &mut Given) {
    if quota(view).is_some_and(|quota| quota > Quantity::gibibytes(8)) {
        let quota = shown(view.config().map(|config| &config.quota), "8Gi");
        given.at(QUOTA, format_args!("spec.etcd.quota {quota}: etcd's own advice is 8Gi at most"));
    }
}

fn quota_above_storage(view: &View<'_>, given: &mut Given) {
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

fn backup_part_off(view: &View<'_>, given: &mut Given) {
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

fn weekday_7(view: &View<'_>, given: &mut Given) {
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

fn compaction_off(view: &View<'_>, given: &mut Given) {
    let Some(shared) = view.spec().and_then(|spec| spec.shared_config.get()) else { return };
    if Mode::of(shared).is_some() && shared.auto_compaction_retention.text().is_some_and(turns_off) {
        given.at(
            "spec.sharedConfig.autoCompactionRetention",
            "spec.sharedConfig.autoCompactionRetention is 0: etcd never compacts, and grows to its quota",
        );
    }
}
