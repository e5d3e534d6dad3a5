//! What is to be done about an Etcd: one pure function from facts to steps, a status and notes.
//!
//! | file | what is in it |
//! |---|---|
//! | `form` | the word to form a cluster |
//! | `roll` | which pod is replaced next |
//! | `end` | what becomes of an Etcd that is deleted |
//! | `conditions` | the status |
//! | `last` | operation and errors in it |
//! | `phase` | what it is going through, in one word |
//! | `notes` | what is told as events |

mod conditions;
mod end;
mod form;
mod last;
mod notes;
mod phase;
mod roll;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::facts::{Facts, Stands};
use super::join::{Join, clusters, join};
use super::kind::Kind;
use super::pod::Pod;
use super::render::{Rendered, Standing, config, render};
use super::same::{difference, marked};
use super::status::Status;
use crate::etcd::LEAVE_FINALIZER;
use crate::member::{ClusterId, Form, Formed, Leave};

pub use conditions::conditions_written;
pub(in crate::controller) use end::End;
pub(in crate::controller) use form::Forming;
pub use notes::Note;
pub(super) use phase::phases;
pub(in crate::controller) use roll::Roll;

/// One write.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// The finalizer is put on the Etcd, which then doesn't go without us.
    Hold,
    /// And taken off.
    Release,
    /// An object is applied.
    Apply {
        /// Its kind.
        kind: Kind,
        /// Its name.
        name: String,
        /// UID of the one that stands; absent where none does.
        uid: Option<String>,
        /// All of it.
        object: Value,
    },
    /// An object is deleted.
    Delete {
        /// Its kind.
        kind: Kind,
        /// Its name.
        name: String,
        /// Its UID.
        uid: String,
    },
    /// A pod is replaced, for a rolling change.
    Replace {
        /// The pod.
        pod: Seen,
        /// Why.
        because: &'static str,
    },
    /// The word to form is given to a pod.
    Give(Seen, Form),
    /// And taken back, before it was used.
    TakeBack(Seen),
    /// A member is told to leave.
    Tell(Seen, Leave),
    /// That there is a cluster is recorded.
    Record(ClusterId),
}

/// A pod as it was seen: another version of it is left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Its version.
    pub resource_version: String,
}

impl From<&Pod> for Seen {
    fn from(pod: &Pod) -> Self {
        Self { name: pod.name.clone(), uid: pod.uid.clone(), resource_version: pod.resource_version.clone() }
    }
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Status as it should be; written before the steps are taken.
    pub status: Status,
    /// Writes, in this order.
    pub steps: Vec<Step>,
    /// What is told.
    pub notes: Vec<Note>,
}

/// What was worked out on the way.
struct Work<'a> {
    standing: Standing,
    forming: Forming<'a>,
    roll: Roll<'a>,
    end: Option<End<'a>>,
    /// Members that stay in somebody else's cluster when their pods are gone.
    left_behind: Option<String>,
    problems: Vec<(String, String)>,
    /// Whether every object stands as it should.
    is_applied: bool,
    /// Whether the StatefulSet does.
    set_stands: bool,
}

/// Decides what is to be done about an Etcd.
pub fn decide(facts: &Facts<'_>) -> Decision {
    if facts.etcd.is_terminating && !facts.etcd.is_held() {
        return Decision { status: facts.etcd.status.clone(), steps: Vec::new(), notes: Vec::new() };
    }
    let (work, mut steps) = if facts.etcd.is_terminating { ending(facts) } else { running(facts) };
    // Nothing is made for an Etcd that could go without us: what a leave needs has no owner.
    if !facts.etcd.is_held() {
        steps = vec![Step::Hold];
    }
    let status = conditions::status(facts, &work);
    let notes = notes::notes(&facts.etcd.status, &status, &steps, work.left_behind.as_deref());
    Decision { status, steps, notes }
}

fn ending<'a>(facts: &Facts<'a>) -> (Work<'a>, Vec<Step>) {
    let end = end::end(facts);
    let steps = match &end {
        End::Announce(steps) | End::Mend(steps) => steps.clone(),
        End::Waits(_) | End::Goes(_) => Vec::new(),
        End::Tell(pod, leave) => vec![Step::Tell((*pod).into(), leave.clone())],
        End::Delete(objects) => objects.iter().map(|object| delete(object)).collect(),
        End::Release => vec![Step::Release],
    };
    let work = Work {
        standing: facts.standing(),
        forming: Forming::No,
        roll: Roll::Nothing,
        end: Some(end),
        left_behind: end::left_behind(facts),
        problems: facts.failures.to_vec(),
        is_applied: false,
        set_stands: false,
    };
    (work, steps)
}

fn delete(object: &Stands) -> Step {
    Step::Delete { kind: object.kind, name: object.name.clone(), uid: object.uid.clone() }
}

fn running<'a>(facts: &Facts<'a>) -> (Work<'a>, Vec<Step>) {
    let standing = facts.standing();
    let mut problems = facts.failures.to_vec();
    let (applied, config) = match render(facts.etcd, facts.settings, &standing) {
        Ok(rendered) => (apply(facts, &rendered, &mut problems), config(facts.etcd, &standing).ok()),
        Err(error) => {
            problems.push(("ERR_RENDER".to_owned(), error.to_string()));
            (Vec::new(), None)
        }
    };
    if let Some(Err(why)) = facts.record() {
        problems
            .push(("ERR_RECORD".to_owned(), format!("ConfigMap {}: {why}", Formed::name(&facts.etcd.name))));
    }
    let is_applied = applied.is_empty() && problems.is_empty();
    let set_stands = config.is_some()
        && !applied.iter().any(|step| matches!(step, Step::Apply { kind: Kind::StatefulSet, .. }));
    let mut steps = applied;
    let forming = match &config {
        Some(config) if is_applied => form::forming(facts, config),
        _ => Forming::Waits(Vec::new()),
    };
    steps.extend(forming_steps(&forming));
    steps.extend(to_record(facts).map(Step::Record));
    // A pod is replaced when there is nothing else to be done.
    let roll = match roll::roll(facts) {
        Roll::Replace(pod, _) if !is_applied => {
            Roll::Waits(format!("{} is replaced once all objects are as they should be", pod.name))
        }
        roll => roll,
    };
    if let (Roll::Replace(pod, because), true) = (&roll, steps.is_empty()) {
        steps.push(Step::Replace { pod: (*pod).into(), because });
    }
    (Work { standing, forming, roll, end: None, left_behind: None, problems, is_applied, set_stands }, steps)
}

/// Objects that don't stand as they should.
fn apply(facts: &Facts<'_>, rendered: &[Rendered], problems: &mut Vec<(String, String)>) -> Vec<Step> {
    let mut steps = Vec::new();
    for wanted in rendered {
        let object = marked(wanted);
        let (kind, name) = (wanted.kind, wanted.name.clone());
        match facts.object(kind, &name) {
            None => steps.push(Step::Apply { kind, name, uid: None, object }),
            Some(stands) if !stands.is_of(&facts.etcd.uid) => problems.push(foreign(facts, stands)),
            Some(stands) if stands.is_terminating || difference(&object, &stands.object).is_none() => {}
            Some(stands) => steps.push(Step::Apply { kind, name, uid: Some(stands.uid.clone()), object }),
        }
    }
    steps
}

fn foreign(facts: &Facts<'_>, stands: &Stands) -> (String, String) {
    let (kind, name, namespace) = (stands.kind, &stands.name, &facts.etcd.namespace);
    let remedy = format!(
        "rename it, or delete it if it can be lost: kubectl delete {} {name} -n {namespace}",
        kind.name().to_lowercase()
    );
    let text =
        format!("a {} {name:?} is there that isn't this Etcd's, and is left as it is: {remedy}", kind.name());
    ("ERR_FOREIGN_OBJECT".to_owned(), text)
}

fn forming_steps(forming: &Forming<'_>) -> Vec<Step> {
    match forming {
        Forming::TakeBack(pods) => pods.iter().map(|pod| Step::TakeBack((*pod).into())).collect(),
        Forming::Give(form, pods) => pods.iter().map(|pod| Step::Give((*pod).into(), form.clone())).collect(),
        // An attempt is recorded in status.
        Forming::Record(_) | Forming::No | Forming::Waits(_) | Forming::Given => Vec::new(),
    }
}

/// The cluster, once it is proved that it has quorum, or that the join is complete; nothing where it is recorded.
fn to_record(facts: &Facts<'_>) -> Option<ClusterId> {
    if facts.record().is_some() {
        return None;
    }
    if let Some(source) = facts.etcd.spec.source().filter(|_| !facts.is_joined()) {
        return match join(facts, source) {
            Join::Complete(cluster) => Some(cluster),
            Join::Waits { .. } => None,
        };
    }
    let reports = || facts.pods.iter().filter_map(Pod::report);
    let ids: BTreeSet<ClusterId> = reports().flat_map(clusters).collect();
    // A linearizable list is only had from a cluster with quorum.
    let has_quorum = facts.pods.iter().any(|pod| {
        pod.is_voter()
            && pod.report().is_some_and(|report| !report.members.is_empty() && report.cluster.is_some())
    });
    ids.first().copied().filter(|_| has_quorum && ids.len() == 1)
}

/// A moment, as conditions have it.
pub fn time(moment: Timestamp) -> String {
    Timestamp::from_second(moment.as_second()).unwrap_or(moment).to_string()
}

/// The finalizers of an Etcd, with ours or without.
pub(in crate::controller) fn finalizers(present: &[String], with_ours: bool) -> Vec<String> {
    let others = present.iter().filter(|finalizer| *finalizer != LEAVE_FINALIZER).cloned();
    others.chain(with_ours.then(|| LEAVE_FINALIZER.to_owned())).collect()
}
