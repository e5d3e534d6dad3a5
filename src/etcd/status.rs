//! The status: what the rules about the join and about a cluster's end read of it.

use super::fields::{resource, unread};
use super::scalar::{Int32, Int64, Text};
use super::schema::{LabelSelector, Time};
use super::slot::Slot;
use super::source_member::SourceMember;
use super::{BOOTSTRAPPED, SOURCES_LEFT};

resource! {
    impl 'a;
    /// `status`.
    pub struct Status<'a> = "an object" {
        /// What is true of the cluster and what isn't, one entry a type: Ready, AllMembersReady, AllMembersUpdated,
        /// BackupReady, ClusterIDMismatch, BootstrappedWithExistingCluster and others.
        "conditions" => conditions: Vec<Slot<Condition<'a>>>,
        /// The members that were seen.
        "members" => members: Vec<Slot<MemberStatus<'a>>>,
        /// The record of a completed join: written once, with the condition BootstrappedWithExistingCluster.
        "bootstrapWithExistingCluster" => bootstrap_with_existing_cluster: Snapshot<'a>,
        /// Voters of its cluster that aren't its own: members of Etcds that have joined it, or of the source that it
        /// joined. By name.
        "otherVoters" => other_voters: Vec<Slot<Text<'a>>>,
    }
    unread {
        /// Generation of the spec that was last carried out.
        "observedGeneration": Int64,
        /// Whether the cluster has quorum and is as it is wanted.
        "ready": bool,
        /// Number of members as the StatefulSet wants it.
        "replicas": Int32,
        /// Number of members of the present revision.
        "currentReplicas": Int32,
        /// Number of members that are ready.
        "readyReplicas": Int32,
        /// Labels of the pods, as /scale needs them.
        "selector": Text<'static>,
        /// The same labels as an object. Deprecated: see selector.
        "labelSelector": LabelSelector,
        /// Whether the members talk to each other with TLS.
        "peerUrlTLSEnabled": bool,
        /// The StatefulSet of the members.
        "etcd": CrossVersionRef,
        /// The last operation on the object.
        "lastOperation": LastOperation,
        /// What went wrong last; empty once it is mended.
        "lastErrors": Vec<LastError>,
        /// What the Etcd is going through: Forming, Joining, Running, Updating, Hibernating, Hibernated or
        /// Leaving.
        "phase": Text<'static>,
        /// How far its join into the existing cluster is, such as 2/3 joined.
        "join": Text<'static>,
        /// Number of attempts so far at forming a cluster of these members.
        "formingAttempt": Int32,
    }
}

resource! {
    impl 'a;
    /// One condition.
    pub struct Condition<'a> = "an object" {
        /// What it is about.
        "type" => kind_of: Text<'a>,
        /// True, False or Unknown.
        "status" => value: Text<'a>,
    }
    unread {
        /// Why, in one word.
        "reason": Text<'static>,
        /// Why, for a person.
        "message": Text<'static>,
        /// When the status last changed.
        "lastTransitionTime": Time,
        /// When the condition was last written.
        "lastUpdateTime": Time,
    }
}

resource! {
    impl 'a;
    /// One member that was seen.
    pub struct MemberStatus<'a> = "an object" {
        /// Its name.
        "name" => name: Text<'a>,
    }
    unread {
        /// Its id in the cluster: hexadecimal.
        "id": Text<'static>,
        /// What it is in the cluster: Leader, Member (a voter) or Learner.
        "role": Text<'static>,
        /// Ready, NotReady or Unknown.
        "status": Text<'static>,
        /// Why it has this status, in one word.
        "reason": Text<'static>,
        /// When its status last changed.
        "lastTransitionTime": Time,
    }
}

resource! {
    impl 'a;
    /// What the join was completed with.
    pub struct Snapshot<'a> = "an object" {
        /// When the join was complete.
        "joinedAt" => joined_at: Text<'a> as Time,
        /// The source members of that moment.
        "members" => members: Vec<Slot<SourceMember<'a>>>,
    }
    unread {}
}

unread! {
    /// `status.etcd`.
    pub(super) struct CrossVersionRef {
        /// Its API version.
        "apiVersion": Text<'static>,
        /// Its kind.
        "kind": Text<'static>,
        /// Its name.
        "name": Text<'static>,
    }
}

unread! {
    /// `status.lastOperation`.
    pub(super) struct LastOperation {
        /// Create, Reconcile or Delete.
        "type": Text<'static>,
        /// Processing, Succeeded, Error or Requeue.
        "state": Text<'static>,
        /// What is being done, for a person.
        "description": Text<'static>,
        /// Identity of this run, as it stands in the controller's log.
        "runID": Text<'static>,
        /// When this was written.
        "lastUpdateTime": Time,
    }
}

unread! {
    /// One of `status.lastErrors`.
    pub(super) struct LastError {
        /// Which step went wrong.
        "code": Text<'static>,
        /// How, for a person.
        "description": Text<'static>,
        /// When it was seen.
        "observedAt": Time,
    }
}

impl Status<'_> {
    /// The conditions of one type, with their indices.
    pub fn conditions_of(&self, kind: &str) -> impl Iterator<Item = (usize, &Condition<'_>)> {
        self.conditions
            .get()
            .into_iter()
            .flatten()
            .enumerate()
            .filter_map(|(index, condition)| Some((index, condition.get()?)))
            .filter(move |(_, condition)| condition.kind_of.text() == Some(kind))
    }

    /// Whether the one status of a condition is `True`. Two statuses of one type prove nothing.
    fn is_true(&self, kind: &str) -> bool {
        let mut conditions = self.conditions_of(kind).peekable();
        conditions.peek().is_some() && conditions.all(|(_, condition)| condition.value.text() == Some("True"))
    }

    /// Whether the join is complete.
    pub fn bootstrapped(&self) -> bool {
        self.is_true(BOOTSTRAPPED)
    }

    /// Whether the sources of a combined cluster have left it.
    pub fn sources_left(&self) -> bool {
        self.is_true(SOURCES_LEFT)
    }

    /// Number of members that were seen.
    pub fn member_count(&self) -> usize {
        self.members.get().map_or(0, Vec::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etcd::Etcd;

    #[test]
    fn complete_is_one_status_and_it_is_true() {
        for (statuses, complete) in [
            (&[][..], false),
            (&["True"], true),
            (&["False"], false),
            (&["Unknown"], false),
            (&["true"], false),
            (&["True", "True"], true),
            (&["True", "False"], false),
            (&["False", "True"], false),
        ] {
            let conditions: Vec<String> = statuses
                .iter()
                .map(|status| format!(r#"{{"type":"{BOOTSTRAPPED}","status":"{status}"}}"#))
                .collect();
            let json = format!(
                r#"{{"status": {{"conditions": [{{"type":"Ready","status":"True"}}{}{}]}}}}"#,
                if conditions.is_empty() { "" } else { "," },
                conditions.join(",")
            );
            let object = Etcd::read(&json).unwrap();
            assert_eq!(object.get().unwrap().status.get().unwrap().bootstrapped(), complete, "{statuses:?}");
        }
    }
}
