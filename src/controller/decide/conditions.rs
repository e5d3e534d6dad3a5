//! The status: what is proved, what is not so, and what can't be seen.

use std::collections::BTreeSet;

use super::super::facts::Facts;
use super::super::join::{Join, clusters, join};
use super::super::members::{members, missing_quorum, other_voters};
use super::super::pod::Pod;
use super::super::render::selector;
use super::super::status::{Condition, Snapshot, Status};
use super::super::supported::not_carried_out;
use super::end::give_up;
use super::form::begun_in_vain;
use super::last::{last_errors, last_operation};
use super::phase::Told;
use super::roll::current_revision;
use super::{End, Forming, Roll, Work, time};
use crate::etcd::BOOTSTRAPPED;
use crate::member::{ClusterId, Volume};
use crate::text::{escaped, shortened};

/// Longest message, in characters: escaped, it stays below 8 KiB.
pub(super) const MESSAGE_MAX: usize = 2000;

/// A condition's status, reason and message.
struct Finding {
    status: &'static str,
    reason: &'static str,
    message: String,
}

fn finding(status: &'static str, reason: &'static str, message: impl Into<String>) -> Finding {
    Finding { status, reason, message: message.into() }
}

/// One condition: its type, and what is found of it; nothing where it doesn't apply.
type Check = fn(&Facts<'_>, &Work<'_>) -> Option<Finding>;

/// Every condition that the loop writes. Others' are left as they are.
const CONDITIONS: [(&str, Check); 9] = [
    ("AllMembersReady", all_members_ready),
    ("AllMembersUpdated", all_members_updated),
    ("BackupReady", backup_ready),
    (BOOTSTRAPPED, bootstrapped),
    ("ClusterIDMismatch", cluster_id_mismatch),
    ("DataVolumesReady", data_volumes_ready),
    ("Left", left),
    ("Ready", ready),
    ("Supported", supported),
];

/// Types of the conditions that the loop writes.
pub fn conditions_written() -> impl Iterator<Item = &'static str> {
    CONDITIONS.iter().map(|(kind, _)| *kind)
}

pub(super) fn status(facts: &Facts<'_>, work: &Work<'_>) -> Status {
    let before = &facts.etcd.status;
    let mut status = before.clone();
    status.conditions = conditions(facts, work);
    status.members = members(facts);
    status.other_voters = other_voters(facts);
    status.last_errors = last_errors(facts, work);
    let told = Told { facts, work, is_joined: facts.is_joined() || status.is_true(BOOTSTRAPPED) };
    (status.phase, status.join) = (Some(told.phase().to_owned()), told.join());
    if work.is_applied {
        status.observed_generation = Some(facts.etcd.generation);
    }
    status.last_operation = Some(last_operation(facts, work));
    if let Forming::Record(attempt) = work.forming {
        status.forming_attempt = Some(attempt);
    }
    if status.is_true(BOOTSTRAPPED) && status.bootstrap_with_existing_cluster.is_none() {
        status.bootstrap_with_existing_cluster = snapshot(facts);
    }
    let set = facts.stateful_set().map(|set| &set.object);
    let number = |path: &str| {
        set.and_then(|set| set.pointer(path))
            .and_then(serde_json::Value::as_i64)
            .and_then(|number| i32::try_from(number).ok())
    };
    status.replicas = Some(number("/spec/replicas").unwrap_or(0));
    status.current_replicas = Some(up_to_date(facts));
    status.ready_replicas = Some(count(facts.pods.iter().filter(|pod| pod.is_ready).count()));
    status.selector = Some(selector(&facts.etcd.name));
    status.ready = Some(
        status.is_true("Ready") && status.is_true("AllMembersReady") && status.is_true("AllMembersUpdated"),
    );
    status.etcd = set.map(
        |_| serde_json::json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": facts.etcd.name}),
    );
    status
}

fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn up_to_date(facts: &Facts<'_>) -> i32 {
    let revision = facts.stateful_set().and_then(|set| current_revision(&set.object));
    count(facts.pods.iter().filter(|pod| Some(pod.revision.as_str()) == revision).count())
}

fn conditions(facts: &Facts<'_>, work: &Work<'_>) -> Vec<Condition> {
    let before = &facts.etcd.status;
    let foreign = before
        .conditions
        .iter()
        .filter(|condition| CONDITIONS.iter().all(|(kind, _)| *kind != condition.kind));
    let mut conditions: Vec<Condition> = foreign.cloned().collect();
    for (kind, check) in CONDITIONS {
        let found = check(facts, work);
        conditions
            .extend(found.map(|found| condition(kind, &found, before.condition(kind), &time(facts.now))));
    }
    conditions.sort_by(|one, other| one.kind.cmp(&other.kind));
    conditions
}

/// Times move only where something else does.
fn condition(kind: &str, found: &Finding, before: Option<&Condition>, now: &str) -> Condition {
    let message = escaped(&shortened(&found.message, MESSAGE_MAX));
    if let Some(before) = before.filter(|before| {
        before.status == found.status && before.reason == found.reason && before.message == message
    }) {
        return before.clone();
    }
    let since = before
        .filter(|before| before.status == found.status)
        .map(|before| before.last_transition_time.clone());
    Condition {
        kind: kind.to_owned(),
        status: found.status.to_owned(),
        reason: found.reason.to_owned(),
        message,
        last_transition_time: since.unwrap_or_else(|| now.to_owned()),
        last_update_time: now.to_owned(),
    }
}

/// A member is ready only as a voter that answers a linearizable read, so that one ready member proves quorum.
#[allow(clippy::unnecessary_wraps, reason = "one of a table")]
fn ready(facts: &Facts<'_>, work: &Work<'_>) -> Option<Finding> {
    if facts.etcd.spec.replicas == 0 {
        return Some(hibernated());
    }
    let ready = facts.pods.iter().filter(|pod| pod.is_ready && pod.is_voter()).count();
    if let Some((there, needed)) = missing_quorum(facts).filter(|_| ready > 0 && !facts.etcd.is_terminating) {
        let why = format!("{needed} voters are needed, and {there} can be there; {}", waits(facts));
        return Some(finding("False", "QuorumLost", why));
    }
    Some(if ready > 0 {
        finding(
            "True",
            "Quorate",
            format!("{ready} of {} members answer linearizable reads", facts.etcd.spec.replicas),
        )
    } else if !facts.has_members() {
        finding("Unknown", "NoMembersInStatus", not_formed(work))
    } else if facts.etcd.is_terminating {
        finding("Unknown", "Ending", format!("it is being deleted; {}", waits(facts)))
    } else if facts.record().is_none() {
        // What was never there can't be lost.
        let why = begun_in_vain(facts).unwrap_or_else(|| waits(facts));
        finding("Unknown", "NotQuorateYet", format!("no member answers linearizable reads yet; {why}"))
    } else if facts.pods.iter().any(|pod| pod.report().is_some()) {
        finding("False", "QuorumLost", format!("no member answers linearizable reads; {}", waits(facts)))
    } else {
        finding("Unknown", "NotSeen", format!("no member reports; {}", waits(facts)))
    })
}

fn hibernated() -> Finding {
    finding("Unknown", "NotChecked", "hibernated: spec.replicas is 0")
}

fn not_formed(work: &Work<'_>) -> String {
    match &work.forming {
        Forming::Waits(waits) if !waits.is_empty() => {
            format!("no cluster is formed yet; {}", waits.join("; "))
        }
        Forming::Given => "the word to form a cluster is given: the members are starting".to_owned(),
        Forming::No => "no member has an id yet".to_owned(),
        _ => "no cluster is formed yet".to_owned(),
    }
}

/// Who waits for what.
fn waits(facts: &Facts<'_>) -> String {
    let waits = facts.waits(|pod| {
        let said = || pod.waits_for().unwrap_or_else(|| format!("{} is not ready", pod.name));
        (!(pod.is_ready && pod.is_voter())).then(said)
    });
    waits.join("; ")
}

#[allow(clippy::unnecessary_wraps, reason = "one of a table")]
fn all_members_ready(facts: &Facts<'_>, work: &Work<'_>) -> Option<Finding> {
    let wanted = facts.etcd.spec.replicas;
    if wanted == 0 {
        return Some(hibernated());
    }
    if !facts.has_members() && facts.pods.iter().all(|pod| !pod.is_ready) {
        return Some(finding("Unknown", "NoMembersInStatus", not_formed(work)));
    }
    let waits = waits(facts);
    Some(if waits.is_empty() {
        finding("True", "AllMembersReady", format!("all {wanted} members are ready"))
    } else {
        finding("False", "NotAllMembersReady", waits)
    })
}

#[allow(clippy::unnecessary_wraps, reason = "one of a table")]
fn all_members_updated(facts: &Facts<'_>, work: &Work<'_>) -> Option<Finding> {
    let Some(set) = facts.stateful_set() else {
        return Some(finding(
            "Unknown",
            "StatefulSetNotFound",
            format!("there is no StatefulSet {}", facts.etcd.name),
        ));
    };
    let (current, wanted) = (i64::from(up_to_date(facts)), i64::from(facts.etcd.spec.replicas));
    let is_known = current_revision(&set.object).is_some();
    Some(match &work.roll {
        Roll::Waits(why) => finding("False", "NotAllMembersUpdated", format!("waits: {why}")),
        Roll::Replace(pod, because) => {
            finding("False", "NotAllMembersUpdated", format!("{} is being replaced: {because}", pod.name))
        }
        Roll::Nothing if !work.set_stands || !is_known => {
            finding("False", "NotAllMembersUpdated", "the last change is being carried out")
        }
        Roll::Nothing if current > wanted => finding(
            "False",
            "NotAllMembersUpdated",
            format!("{current} pods are there, of which {wanted} stay"),
        ),
        // One that isn't there, however it went, is no less missing than one that is outdated.
        Roll::Nothing if current != wanted => finding(
            "False",
            "NotAllMembersUpdated",
            format!("{current} of {wanted} pods are there as the spec wants them"),
        ),
        Roll::Nothing => finding("True", "AllMembersUpdated", "every pod is as the spec wants it"),
    })
}

/// Where a store is named, somebody counts on backups.
fn backup_ready(facts: &Facts<'_>, _: &Work<'_>) -> Option<Finding> {
    let store = facts.etcd.spec.backup.get("store")?;
    (!store.is_null()).then(|| {
        finding(
            "False",
            "NotCarriedOut",
            "no backups are taken: take them otherwise, such as by a CronJob of etcdctl snapshot save",
        )
    })
}

/// A container that runs has its volume, and the agent says what is in it.
#[allow(clippy::unnecessary_wraps, reason = "one of a table")]
fn data_volumes_ready(facts: &Facts<'_>, _: &Work<'_>) -> Option<Finding> {
    let wanted = facts.etcd.spec.replicas;
    if wanted == 0 {
        return Some(hibernated());
    }
    let unreadable = facts.pods.iter().find_map(|pod| match &pod.report()?.volume {
        Volume::Unreadable(why) => Some(format!("the volume of {}: {why}", pod.name)),
        Volume::Empty | Volume::Data { .. } => None,
    });
    if let Some(unreadable) = unreadable {
        return Some(finding("False", "VolumeUnreadable", unreadable));
    }
    let seen = |ordinal: &u32| facts.pod(*ordinal).is_some_and(|pod| pod.report().is_some());
    let unseen = (0..wanted).filter(|ordinal| !seen(ordinal));
    let unseen: Vec<String> = unseen.map(|ordinal| format!("{}-{ordinal}", facts.etcd.name)).collect();
    Some(if unseen.is_empty() {
        finding("True", "VolumesMounted", format!("all {wanted} volumes are mounted and readable"))
    } else {
        finding("Unknown", "NotReported", format!("no word yet of the volumes of {}", unseen.join(", ")))
    })
}

#[allow(clippy::unnecessary_wraps, reason = "one of a table")]
fn cluster_id_mismatch(facts: &Facts<'_>, _: &Work<'_>) -> Option<Finding> {
    let reported = facts.pods.iter().filter_map(Pod::report).flat_map(clusters);
    let recorded = facts.record().and_then(Result::ok).map(|formed| formed.cluster);
    let ids: BTreeSet<ClusterId> = reported.collect();
    let all: BTreeSet<ClusterId> = ids.iter().copied().chain(recorded).collect();
    let named = all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    Some(match (ids.len(), all.len()) {
        (0, _) => finding("Unknown", "NoClusterIDDetected", "no member reports a cluster"),
        (_, 1) => finding(
            "False",
            "NoClusterIDMismatchDetected",
            format!("all members that report are of cluster {named}"),
        ),
        _ => finding(
            "True",
            "MultipleClusterIDsDetected",
            format!("clusters {named} are reported or recorded: look at the members' volumes"),
        ),
    })
}

/// Sticky once the record of the join is there; `True` only on proof, and after the cluster is recorded.
fn bootstrapped(facts: &Facts<'_>, _: &Work<'_>) -> Option<Finding> {
    let done =
        || finding("True", "BootstrapSucceeded", "All members have successfully joined the existing cluster");
    if facts.is_joined() {
        return Some(done());
    }
    let progress = |message: String| finding("False", "BootstrapInProgress", message);
    let (source, wanted) = (facts.etcd.spec.source()?, facts.etcd.spec.replicas);
    Some(match (join(facts, source), facts.record()) {
        (Join::Complete(cluster), Some(Ok(formed))) if formed.cluster == cluster => done(),
        (Join::Complete(cluster), Some(Ok(formed))) => progress(format!(
            "{wanted}/{wanted} joined cluster {cluster}, but {} is recorded",
            formed.cluster
        )),
        (Join::Complete(_), _) => {
            progress(format!("{wanted}/{wanted} joined; the cluster is being recorded"))
        }
        (Join::Waits { joined, why }, _) => progress(format!("{joined}/{wanted} joined; {}", why.join("; "))),
    })
}

fn snapshot(facts: &Facts<'_>) -> Option<Snapshot> {
    let members = facts.etcd.spec.source()?.members.clone();
    Some(Snapshot { joined_at: time(facts.now), members })
}

/// How far the members of an Etcd that is deleted are with leaving.
fn left(facts: &Facts<'_>, work: &Work<'_>) -> Option<Finding> {
    let progress = |message: String| finding("False", "LeaveInProgress", message);
    // What failed stands in lastErrors.
    let way_out = || if facts.failures.is_empty() { String::new() } else { format!(" ({})", give_up(facts)) };
    Some(match work.end.as_ref()? {
        End::Announce(_) => progress(format!("members are told that nobody joins any more{}", way_out())),
        End::Waits(why) => progress(why.clone()),
        End::Mend(_) => {
            progress(format!("pods of members are made, as the spec wants them by now{}", way_out()))
        }
        End::Tell(pod, leave) => {
            progress(format!("{} ({}) is told to leave the cluster", pod.name, leave.member))
        }
        End::Goes(what) => finding("True", "ObjectsBeingDeleted", what.clone()),
        End::Delete(_) => finding("True", "ObjectsBeingDeleted", "no member has to leave a cluster any more"),
        End::Release => finding("True", "AllObjectsDeleted", "nothing is left"),
    })
}

#[allow(clippy::unnecessary_wraps, reason = "one of a table")]
fn supported(facts: &Facts<'_>, work: &Work<'_>) -> Option<Finding> {
    let missing = not_carried_out(facts.etcd, &work.standing);
    Some(if missing.is_empty() {
        finding("True", "AllFieldsSupported", "every field of the spec is carried out")
    } else {
        finding("False", "FieldsNotCarriedOut", missing.join("; "))
    })
}
