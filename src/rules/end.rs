//! The end of a cluster, or of its part in a combined one: hibernation, deletion, and the finalizer that holds it.

use super::change::Change;
use super::report::Report;
use super::settings::Settings;
use super::view::View;
use crate::etcd::{ALLOW_QUORUM_LOSS, DELETION_PROTECTION, LEAVE_FINALIZER, Status};

/// Voters of a combined cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Combined {
    /// Members that aren't this Etcd's.
    pub(super) sources: usize,
    /// Members of this Etcd.
    pub(super) targets: usize,
    /// What those are that aren't this Etcd's.
    others: Others,
}

/// Whose members vote beside one's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Others {
    /// Those of the cluster that this Etcd has joined.
    Joined,
    /// Those that have joined this Etcd's cluster.
    Joiners,
}

impl Combined {
    /// The cluster that a joined object is part of, as its status tells; nothing once the sources have left.
    pub(super) fn joined(view: &View<'_>) -> Option<Self> {
        let status = view.status().filter(|status| !status.sources_left())?;
        let snapshot = status.bootstrap_with_existing_cluster.get()?;
        let sources = snapshot.members.get().map_or(0, Vec::len);
        Some(Self { sources, targets: replicas(view), others: Others::Joined })
    }

    /// The cluster of an object that joined none, and that others have joined.
    fn joined_by_others(view: &View<'_>) -> Option<Self> {
        let status = view.status().filter(|status| status.bootstrap_with_existing_cluster.is_absent())?;
        let sources = status.other_voters.get().map_or(0, Vec::len);
        (sources > 0 && !view.is_joining()).then(|| Self {
            sources,
            targets: replicas(view),
            others: Others::Joiners,
        })
    }

    /// The cluster that an object in the middle of a join may already be part of.
    pub(super) fn joining(view: &View<'_>) -> Option<Self> {
        let bootstrap = view.bootstrap().filter(|_| view.is_joining())?;
        let targets = view.status().map_or(0, Status::member_count);
        let sources = bootstrap.members.get().map_or(0, Vec::len);
        (targets > 0).then_some(Self { sources, targets, others: Others::Joined })
    }

    fn quorum(self) -> usize {
        usize::midpoint(self.sources, self.targets) + 1
    }

    /// Whether the sources alone would be below the quorum of both.
    pub(super) fn loses_quorum(self) -> bool {
        self.targets > 0 && self.sources < self.quorum()
    }

    fn why(self) -> String {
        let others = match self.others {
            Others::Joined => "source",
            Others::Joiners => "joined",
        };
        format!(
            "this Etcd is part of a combined cluster of {} {others} and {} own members, and the {} alone would be below \
             its quorum of {}",
            self.sources,
            self.targets,
            self.sources,
            self.quorum()
        )
    }

    /// What to do first: `own` where others were joined.
    fn remedy(self, own: &'static str) -> &'static str {
        match self.others {
            Others::Joined => own,
            Others::Joiners => {
                "Have those that joined leave first (status.otherVoters: delete the Etcds that they belong to)"
            }
        }
    }
}

fn replicas(view: &View<'_>) -> usize {
    usize::try_from(view.replicas().unwrap_or(0)).unwrap_or(0)
}

fn gives_up_quorum(view: &View<'_>) -> bool {
    view.annotation(ALLOW_QUORUM_LOSS) == Some("true")
}

/// The loop's own finalizer is the loop's to remove, while it has members to take out.
pub(super) fn leave_finalizer_held(change: &Change<'_>, report: &mut Report) {
    let has_members = change.old.status().is_some_and(|status| status.member_count() > 0);
    let removed = change.old.has_finalizer(LEAVE_FINALIZER) && !change.new.has_finalizer(LEAVE_FINALIZER);
    let unread = change.new.etcd.metadata.get().is_none_or(|metadata| metadata.finalizers.is_wrong());
    let speaks = !unread || change.waives_object_rules();
    let by_loop = change.settings.loop_user.as_deref() == Some(change.user);
    if !has_members || !removed || !speaks || by_loop || gives_up_quorum(change.new) {
        return;
    }
    let remedy = match change.settings.loop_user {
        Some(_) => "Wait for the loop to take them out",
        None => "Take them out first (etcdctl member remove)",
    };
    report.forbidden(
        "metadata.finalizers",
        format!(
            "{LEAVE_FINALIZER} can't be removed while status.members lists members: they would stay voters of the \
             combined cluster. {remedy}, or annotate the Etcd {ALLOW_QUORUM_LOSS}: \"true\" if they can be lost"
        ),
    );
}

/// A part of a combined cluster isn't put to sleep where the others would lose their quorum.
pub(super) fn joined_hibernate(change: &Change<'_>, report: &mut Report) {
    let sleeps = change.new.replicas() == Some(0) && change.old.replicas().is_some_and(|old| old > 0);
    let combined = Combined::joined(change.old).or_else(|| Combined::joined_by_others(change.old));
    let Some(combined) = combined else { return };
    if !sleeps || change.old.is_joining() || gives_up_quorum(change.new) || !combined.loses_quorum() {
        return;
    }
    report.forbidden(
        "spec.replicas",
        format!(
            "can't become 0: {}. {}, or annotate the Etcd {ALLOW_QUORUM_LOSS}: \"true\" if the cluster may stop",
            combined.why(),
            combined.remedy("Add members to the source first")
        ),
    );
}

/// A part of a combined cluster isn't deleted where the others would lose their quorum.
pub(super) fn joined_delete(view: &View<'_>, settings: &Settings, report: &mut Report) {
    let Some(combined) = quorum_lost_by_deletion(view, settings) else { return };
    report.forbidden(
        "metadata.name",
        format!(
            "can't be deleted: {}. {}, or annotate the Etcd {ALLOW_QUORUM_LOSS}: \"true\" if the cluster may be lost",
            combined.why(),
            combined.remedy("Take its members out of the cluster first (etcdctl member remove)")
        ),
    );
}

/// The combined cluster that an object is part of, or may be in the middle of a join.
pub(super) fn combined(view: &View<'_>) -> Option<Combined> {
    Combined::joined(view).or_else(|| Combined::joining(view))
}

/// The combined cluster that would lose its quorum without this object, where nobody has allowed that.
pub(super) fn quorum_lost_by_deletion(view: &View<'_>, settings: &Settings) -> Option<Combined> {
    let allowed = view.is_terminating() || gives_up_quorum(view);
    left_behind(view, settings).filter(|combined| !allowed && combined.loses_quorum())
}

/// The combined cluster in whose list the members of an object stay when it is deleted: those whom others have joined
/// don't leave.
pub(super) fn left_behind(view: &View<'_>, settings: &Settings) -> Option<Combined> {
    let joined = combined(view).filter(|_| !leaves_first(view, settings));
    joined.or_else(|| Combined::joined_by_others(view))
}

/// Whether the loop takes the members out before the object goes.
pub(super) fn leaves_first(view: &View<'_>, settings: &Settings) -> bool {
    settings.loop_user.is_some() && view.has_finalizer(LEAVE_FINALIZER)
}

/// An Etcd that is protected isn't deleted.
pub(super) fn deletion_protected(view: &View<'_>, settings: &Settings, report: &mut Report) {
    let annotation = view.annotation(DELETION_PROTECTION);
    let by_server = settings.deletion_protection && annotation != Some("false");
    if view.is_terminating() || !(annotation == Some("true") || by_server) {
        return;
    }
    let by = if by_server { "the server's --deletion-protection" } else { "its annotation" };
    report.forbidden(
        "metadata.name",
        format!(
            "is protected from deletion by {by}. Annotate the Etcd {DELETION_PROTECTION}: \"false\" first"
        ),
    );
}
