//! What an Etcd is going through, in one word, and how far its join is.

use super::super::facts::Facts;
use super::super::join::{Join, join};
use super::{Forming, Roll, Work};

/// One phase: its name, and whether an Etcd is in it.
type Phase = (&'static str, fn(&Facts<'_>, &Work<'_>) -> bool);

/// The first that applies.
const PHASES: [Phase; 5] = [
    ("Leaving", |facts, _| facts.etcd.is_terminating),
    ("Hibernated", |facts, _| facts.etcd.spec.replicas == 0),
    ("Joining", |facts, _| facts.etcd.spec.source().is_some() && !facts.is_joined()),
    ("Forming", |facts, work| !facts.has_members() || matches!(work.forming, Forming::Given)),
    ("Updating", |_, work| !work.is_applied || !matches!(work.roll, Roll::Nothing)),
];

/// Neither of them.
const RUNNING: &str = "Running";

pub(super) fn phase(facts: &Facts<'_>, work: &Work<'_>) -> &'static str {
    PHASES.iter().find(|(_, applies)| applies(facts, work)).map_or(RUNNING, |(name, _)| name)
}

/// `2/3 joined` under way, `joined` afterwards; nothing where there is no source.
pub(super) fn progress(facts: &Facts<'_>) -> Option<String> {
    if facts.is_joined() {
        return Some("joined".to_owned());
    }
    let wanted = facts.etcd.spec.replicas;
    let joined = match join(facts, facts.etcd.spec.source()?) {
        Join::Complete(_) => usize::try_from(wanted).unwrap_or(usize::MAX),
        Join::Waits { joined, .. } => joined,
    };
    Some(format!("{joined}/{wanted} joined"))
}
