//! How an Etcd is, as a person wants to see it: its members and who of them waits for what, the votes, and what was
//! told last. Pure: made of an Etcd, its pods and its events as the API server has them.
//!
//! | file | what is in it |
//! |---|---|
//! | `members` | the members of the cluster, this Etcd's and others', and their votes |
//! | `text` | all of it as lines for a person |

mod members;
#[cfg(test)]
mod tests;
mod text;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event as KubernetesEvent;
use serde::Serialize;

use crate::controller::status::{Condition, LastError};
use crate::controller::{self, Etcd, Pod};

pub use members::{Member, Of, Votes};
pub use text::{Ages, Line, Mark, lines};

/// Events that are shown: the last ones.
const EVENTS_MAX: usize = 10;

/// How an Etcd is. Field names are the format of `status --output json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its identity.
    pub uid: String,
    /// What it is going through, in one word; nothing where no loop has written it.
    pub phase: Option<String>,
    /// How far its join is, such as `2/3 joined`; nothing where it joins nothing.
    pub join: Option<String>,
    /// Members that are wanted.
    pub replicas: u32,
    /// Whether the loop has carried out the spec as it is now.
    pub up_to_date: bool,
    /// Ids of the clusters that members report: one, if all is well.
    pub clusters: Vec<String>,
    /// Votes of the cluster; nothing where no member has seen its list.
    pub votes: Option<Votes>,
    /// This Etcd's members, then the others of the cluster.
    pub members: Vec<Member>,
    /// The conditions, as they stand in status.
    pub conditions: Vec<Condition>,
    /// What went wrong last.
    pub errors: Vec<LastError>,
    /// The last events about it, and warnings about what it is made of; the newest last. Nothing where they can't be listed.
    pub events: Option<Vec<Event>>,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// When it was last seen, RFC 3339 in UTC.
    pub time: String,
    /// What it is about, as kubectl names it, such as `pod/main-0`.
    pub object: String,
    /// `Normal` or `Warning`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Why, in one word.
    pub reason: String,
    /// For a person.
    pub message: String,
    /// How often it was seen.
    pub count: u32,
}

impl Overview {
    /// Puts it together.
    pub fn of(etcd: &Etcd, pods: &[Pod], events: Option<&[KubernetesEvent]>) -> Self {
        let status = &etcd.status;
        let members = members::members(etcd, pods);
        Self {
            namespace: etcd.namespace.clone(),
            name: etcd.name.clone(),
            uid: etcd.uid.clone(),
            phase: status.phase.clone(),
            join: status.join.clone(),
            replicas: etcd.spec.replicas,
            up_to_date: status.observed_generation == Some(etcd.generation),
            clusters: members::clusters(pods),
            votes: members::votes(pods, &members),
            members,
            conditions: status.conditions.clone(),
            errors: status.last_errors.clone(),
            events: events.map(last),
        }
    }
}

fn last(events: &[KubernetesEvent]) -> Vec<Event> {
    let mut events: Vec<(Timestamp, Event)> = events.iter().map(event).collect();
    events.sort_by_key(|(time, _)| *time);
    let before = events.len().saturating_sub(EVENTS_MAX);
    events.into_iter().skip(before).map(|(_, event)| event).collect()
}

fn event(event: &KubernetesEvent) -> (Timestamp, Event) {
    let series = event.series.as_ref();
    let created = || event.metadata.creation_timestamp.as_ref().map(|time| time.0);
    let first = event.event_time.as_ref().map(|time| time.0);
    let last = series.map(|series| series.last_observed_time.0);
    // As the kubelet and the controllers of Kubernetes still tell them.
    let deprecated = || event.deprecated_last_timestamp.as_ref().map(|time| time.0);
    let time = last.or_else(deprecated).or(first).or_else(created).unwrap_or_default();
    let count = series.map(|series| series.count).or(event.deprecated_count);
    let told = Event {
        time: controller::time(time),
        object: event.regarding.as_ref().map(object).unwrap_or_default(),
        kind: event.type_.clone().unwrap_or_default(),
        reason: event.reason.clone().unwrap_or_default(),
        message: event.note.clone().unwrap_or_default(),
        count: count.and_then(|count| u32::try_from(count).ok()).unwrap_or(1),
    };
    (time, told)
}

fn object(regarding: &ObjectReference) -> String {
    let of = |text: &Option<String>| text.clone().unwrap_or_default();
    format!("{}/{}", of(&regarding.kind).to_lowercase(), of(&regarding.name))
}
