//! What an Etcd is going through, in one word, and how far its join is.

use super::super::facts::Facts;
use super::super::join::{Join, join};
use super::{Forming, Roll, Work};

/// What tells the phase; whether the join is complete stands in the status that is being written.
pub(super) struct Told<'a> {
    pub(super) facts: &'a Facts<'a>,
    pub(super) work: &'a Work<'a>,
    pub(super) is_joined: bool,
}

/// One phase: its name, and whether an Etcd is in it.
type Phase = (&'static str, fn(&Told<'_>) -> bool);

/// The first that applies.
const PHASES: [Phase; 6] = [
    ("Leaving", |told| told.facts.etcd.is_terminating),
    ("Hibernating", |told| told.facts.etcd.spec.replicas == 0 && !told.facts.pods.is_empty()),
    ("Hibernated", |told| told.facts.etcd.spec.replicas == 0),
    ("Joining", |told| told.facts.etcd.spec.source().is_some() && !told.is_joined),
    // Until there is proof of a quorum.
    ("Forming", |told| {
        let is_new = told.facts.record().is_none() && !told.is_joined;
        is_new || !told.facts.has_members() || matches!(told.work.forming, Forming::Given)
    }),
    ("Updating", |told| {
        let carried_out = told.facts.etcd.status.observed_generation == Some(told.facts.etcd.generation);
        (!told.work.is_applied && !carried_out) || !matches!(told.work.roll, Roll::Nothing)
    }),
];

/// Neither of them.
const RUNNING: &str = "Running";

/// Every phase that there is.
pub(in crate::controller) fn phases() -> impl Iterator<Item = &'static str> {
    PHASES.iter().map(|(name, _)| *name).chain([RUNNING])
}

impl Told<'_> {
    pub(super) fn phase(&self) -> &'static str {
        PHASES.iter().find(|(_, applies)| applies(self)).map_or(RUNNING, |(name, _)| name)
    }

    /// `2/3 joined` under way, `joined` afterwards; nothing where there is no source.
    pub(super) fn join(&self) -> Option<String> {
        if self.is_joined {
            return Some("joined".to_owned());
        }
        let wanted = self.facts.etcd.spec.replicas;
        let joined = match join(self.facts, self.facts.etcd.spec.source()?) {
            Join::Complete(_) => usize::try_from(wanted).unwrap_or(usize::MAX),
            Join::Waits { joined, .. } => joined,
        };
        Some(format!("{joined}/{wanted} joined"))
    }
}
