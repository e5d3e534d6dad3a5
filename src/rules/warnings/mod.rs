//! The table of warnings: what is legal but unwise.

mod joining;
mod life;
mod object;

use super::catalogue::Group;
use super::change::Change;
use super::report::{Given, Warning};
use super::settings::Settings;
use super::view::View;
use crate::etcd::Store;

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
        Object(joining::even_voters),
        "Source and own members together are an even number.",
    ),
    warning!(
        "many-voters",
        Joining,
        Object(joining::many_voters),
        "Source and own members together are more than 7."
    ),
    warning!(
        "nothing-joins-yet",
        Joining,
        Object(joining::nothing_joins_yet),
        "An existing cluster is named, with 0 replicas.",
    ),
    warning!(
        "backup-not-restored",
        Joining,
        Object(joining::backup_not_restored),
        "A backup store is set, whose backups aren't restored into a joined cluster.",
    ),
    warning!(
        "url-peer-and-client",
        Joining,
        Object(joining::url_peer_and_client),
        "One URL is both a peer URL and a client endpoint.",
    ),
    warning!(
        "endpoint-without-port",
        Joining,
        Object(joining::endpoint_without_port),
        "A client endpoint has no port.",
    ),
    warning!(
        "edit-after-join",
        Joining,
        Changed(joining::edit_after_join),
        "`members` or `clientEndpoints` are edited after the join, without effect.",
    ),
    warning!(
        "leave-source",
        Joining,
        Changed(joining::leave_source),
        "The existing cluster is removed after the join; its members stay.",
    ),
    warning!("canonical-url", Joining, Elsewhere, "Mutation wrote a URL otherwise."),
    warning!("even-replicas", Life, Object(life::even_replicas), "`replicas` is an even number."),
    warning!(
        "image-version-unknown",
        Life,
        Changed(life::image_version_unknown),
        "An image is changed, and one of the two has no tag that is an etcd version.",
    ),
    warning!(
        "leaving",
        Life,
        Deleted(life::leaving),
        "The members of a joined Etcd leave one by one before it goes.",
    ),
    warning!(
        "dead-members-remain",
        Life,
        Deleted(life::dead_members_remain),
        "A joined Etcd goes, and its voters stay in the member list.",
    ),
    warning!(
        "deleted-mid-join",
        Life,
        Deleted(life::deleted_mid_join),
        "An Etcd goes in the middle of a join, with nothing seen of its members.",
    ),
    warning!(
        "store-moved",
        Life,
        Changed(life::store_moved),
        "The backup store is moved: an empty backup history begins.",
    ),
    warning!("long-name", Rest, Object(object::long_name), "The name is longer than 37 characters."),
    warning!("large-quota", Rest, Object(object::large_quota), "`quota` is above 8Gi."),
    warning!(
        "quota-above-storage",
        Rest,
        Object(object::quota_above_storage),
        "`quota` is larger than `storageCapacity`.",
    ),
    warning!(
        "backup-part-off",
        Rest,
        Object(object::backup_part_off),
        "`deltaSnapshotPeriod` or `garbageCollectionPeriod` is 0, which turns the thing off.",
    ),
    warning!(
        "weekday-7",
        Rest,
        Object(object::weekday_7),
        "A schedule names day 7 of the week, which etcd-backup-restore doesn't know.",
    ),
    warning!(
        "compaction-off",
        Rest,
        Object(object::compaction_off),
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

/// Where backups go.
fn store<'a>(view: &View<'a>) -> Option<&'a Store<'a>> {
    view.backup().and_then(|backup| backup.store.get())
}
