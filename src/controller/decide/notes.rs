//! What is told as events: each step of a cluster's life, once.

use super::super::kind::Kind;
use super::super::status::{Condition, Member, Status};
use super::Step;

/// One event about an Etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Why, in one word.
    pub reason: String,
    /// For a person.
    pub text: String,
    /// Whether it is a warning.
    pub is_warning: bool,
    /// What was done, in one word.
    pub action: &'static str,
    /// The member that it is about: the event names its pod.
    pub member: Option<String>,
}

/// Conditions of which a change of status is told: what members say of themselves is told elsewhere.
const TOLD: [&str; 5] = [crate::etcd::BOOTSTRAPPED, "ClusterIDMismatch", "Left", "Ready", "Supported"];

/// Longest text of an event that the API server takes is 1,024 bytes; escaped characters are counted in.
const TEXT_MAX: usize = 900;

/// `left_behind`: members that stay in somebody else's cluster.
pub(super) fn notes(before: &Status, after: &Status, steps: &[Step], left_behind: Option<&str>) -> Vec<Note> {
    let conditions = TOLD.iter().filter_map(|kind| condition(before, after, kind));
    let members = after
        .members
        .iter()
        .filter_map(|member| joined(before.members.iter().find(|known| known.name == member.name), member));
    let attempt = after.forming_attempt.filter(|_| after.forming_attempt != before.forming_attempt);
    let attempt = attempt.map(|attempt| {
        note(
            "Forming",
            "Form",
            format!("attempt {attempt} at forming a cluster begins: all members are empty and wait for it"),
        )
    });
    let errors = after.last_errors.iter().filter(|error| !before.last_errors.contains(error));
    let errors = errors
        .map(|error| Note { is_warning: true, ..note(&error.code, "Reconcile", error.description.clone()) });
    // Their pods go with the StatefulSet, which is deleted once.
    let go = |step: &Step| matches!(step, Step::Delete { kind: Kind::StatefulSet, .. });
    let given_up = left_behind.filter(|_| steps.iter().any(go)).map(given_up);
    let steps = steps.iter().filter_map(step);
    conditions.chain(members).chain(attempt).chain(errors).chain(steps).chain(given_up).map(bounded).collect()
}

fn given_up(members: &str) -> Note {
    let text = format!(
        "the quorum is given up: {members} stay in the cluster's list as dead members; where the cluster lives on, \
         remove each: etcdctl member remove ID"
    );
    Note { is_warning: true, ..note("QuorumGivenUp", "Leave", text) }
}

impl Note {
    fn about(self, member: &str) -> Self {
        Self { member: Some(member.to_owned()), ..self }
    }
}

fn note(reason: &str, action: &'static str, text: String) -> Note {
    Note { reason: reason.to_owned(), text, is_warning: false, action, member: None }
}

fn bounded(mut note: Note) -> Note {
    while note.text.len() > TEXT_MAX {
        let shorter = note.text.chars().count().saturating_sub(note.text.len() - TEXT_MAX).max(1);
        note.text = crate::text::shortened(&note.text, shorter);
    }
    note
}

fn condition(before: &Status, after: &Status, kind: &str) -> Option<Note> {
    let now: &Condition = after.condition(kind)?;
    let then = before.condition(kind).map(|condition| condition.status.as_str());
    let is_bad = now.is_bad();
    // What is good from the beginning is no news.
    let told = then != Some(&now.status) && (then.is_some() || is_bad);
    // A join and a leave take their time.
    let is_warning = is_bad && ![crate::etcd::BOOTSTRAPPED, "Left"].contains(&kind);
    told.then(|| Note {
        is_warning,
        ..note(&now.reason, "Observe", format!("{kind} is {}: {}", now.status, now.message))
    })
}

fn joined(before: Option<&Member>, member: &Member) -> Option<Note> {
    let id = member.id.as_deref().unwrap_or_default();
    let name = &member.name;
    let is_new = before.is_none_or(|before| before.id != member.id);
    let was_learner =
        before.is_some_and(|before| before.role.as_deref() == Some(super::super::members::LEARNER));
    let votes = member.role.as_deref().is_some_and(|role| role != super::super::members::LEARNER);
    if is_new {
        // The first report has an id, and no role yet: whether it votes is not known.
        let text = member.role.as_deref().map_or_else(
            || format!("{name} has id {id} in the cluster's member list"),
            |role| format!("{name} is a {} with id {id}", role.to_lowercase()),
        );
        return Some(note("MemberAdded", "Join", text).about(name));
    }
    (was_learner && votes).then(|| note("MemberPromoted", "Join", format!("{name} ({id}) votes")).about(name))
}

fn step(step: &Step) -> Option<Note> {
    Some(match step {
        Step::Record(cluster) => note("ClusterRecorded", "Record", format!("the cluster has id {cluster}")),
        Step::Replace { pod, because } => {
            note("PodReplaced", "Update", format!("{} is replaced: {because}", pod.name)).about(&pod.name)
        }
        Step::Tell(pod, leave) => note(
            "MemberLeaves",
            "Leave",
            format!("{} ({}) is told to leave the cluster", pod.name, leave.member),
        )
        .about(&pod.name),
        Step::TakeBack(pod) => note(
            "WordTakenBack",
            "Form",
            format!("{} is not to form a cluster: a new attempt follows", pod.name),
        )
        .about(&pod.name),
        Step::Hold | Step::Release | Step::Apply { .. } | Step::Delete { .. } | Step::Give(..) => {
            return None;
        }
    })
}
