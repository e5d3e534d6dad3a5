//! A member's pod, and what its agent reported.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod as KubernetesPod};

use super::object::Etcd;
use super::render::CONTAINER;
use crate::member::{FORM, Form, LEAVE, Listed, MEMBER, Report, Role, Why};

/// A member's pod.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "what is seen of it, each apart")]
pub struct Pod {
    /// Its name.
    pub name: String,
    /// Its identity.
    pub uid: String,
    /// Its version.
    pub resource_version: String,
    /// Which of the members it is.
    pub ordinal: u32,
    /// Whether it is on its way out.
    pub is_terminating: bool,
    /// Whether its agent says that it is ready, and its node confirms that it lives.
    pub is_ready: bool,
    /// Whether the container of etcd runs.
    pub is_running: bool,
    /// Why it doesn't get as far as its agent, if that is known.
    pub trouble: Option<String>,
    /// Revision of the StatefulSet that it was made of.
    pub revision: String,
    /// The word to form that was given to it.
    pub word: Option<Word>,
    /// Whether it was told to leave.
    pub told_to_leave: bool,
    /// What its agent said.
    pub said: Said,
}

/// A word on a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// One of ours.
    Form(Form),
    /// Something that isn't one.
    Odd,
}

/// What an agent said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Nothing yet.
    Nothing,
    /// What an earlier container said.
    Stale,
    /// Something that doesn't count, and why.
    Odd(String),
    /// A report that counts.
    Report(Box<Report>),
}

impl Pod {
    /// One of the pods of a StatefulSet; nothing for another's.
    pub fn read(pod: &KubernetesPod, etcd: &Etcd, stateful_set: &str) -> Option<Self> {
        let metadata = &pod.metadata;
        let is_own = |owner: &&_| {
            let owner: &k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference = owner;
            owner.controller == Some(true) && owner.uid == stateful_set
        };
        metadata.owner_references.as_ref()?.iter().find(is_own)?;
        let name = metadata.name.clone()?;
        let ordinal = name.strip_prefix(&etcd.name)?.strip_prefix('-')?;
        let ordinal = crate::etcd::ordinal(ordinal).and_then(|ordinal| u32::try_from(ordinal).ok())?;
        let annotation = |key: &str| metadata.annotations.as_ref()?.get(key).map(String::as_str);
        let label = |key: &str| metadata.labels.as_ref()?.get(key).cloned();
        let started = container(pod).and_then(running_since);
        Some(Self {
            uid: metadata.uid.clone()?,
            resource_version: metadata.resource_version.clone()?,
            ordinal,
            is_terminating: metadata.deletion_timestamp.is_some(),
            is_ready: condition(pod, "Ready").is_some_and(|(status, _)| status == "True"),
            is_running: started.is_some(),
            trouble: trouble(pod),
            revision: label("controller-revision-hash").unwrap_or_default(),
            word: annotation(FORM).map(|text| serde_json::from_str(text).map_or(Word::Odd, Word::Form)),
            told_to_leave: annotation(LEAVE).is_some(),
            said: said(annotation(MEMBER), started, etcd, ordinal),
            name,
        })
    }

    /// The report that counts.
    pub fn report(&self) -> Option<&Report> {
        match &self.said {
            Said::Report(report) => Some(report),
            Said::Nothing | Said::Stale | Said::Odd(_) => None,
        }
    }

    /// What it is in its cluster, as it says.
    pub fn role(&self) -> Option<Role> {
        self.report()?.role
    }

    /// Whether it votes, as it says.
    pub fn is_voter(&self) -> bool {
        matches!(self.role(), Some(Role::Voter | Role::Leader))
    }

    /// Whether it is no member any more, on the loop's word.
    pub fn has_left(&self) -> bool {
        self.report().is_some_and(|report| report.left)
    }

    /// Whether it says that etcd can't run in it, or ends again and again: a restart costs its cluster nothing more.
    pub fn runs_no_etcd(&self) -> bool {
        let can_not = |why| matches!(why, Why::Configuration | Why::EtcdEnds | Why::Version);
        !self.is_ready && self.role().is_none() && self.why().is_some_and(can_not)
    }

    /// Whether it has nothing to do with any cluster, and never will: it left, or saw a list without itself when it had no
    /// id, and joins no more. One that has an id says itself that it left, for whoever comes to its volume next.
    pub fn is_out(&self) -> bool {
        let is_unlisted = |report: &Report| {
            let is_it = |listed: &Listed| listed.name == report.name;
            report.id.is_none() && !report.members.is_empty() && !report.members.iter().any(is_it)
        };
        self.has_left() || self.joins_no_more() && self.report().is_some_and(is_unlisted)
    }

    /// Whether its member is in the cluster no more, by its own doing or somebody's, and it only has to note that.
    pub fn is_unlisted(&self) -> bool {
        let has_id = self.report().is_some_and(|report| report.id.is_some());
        has_id && (self.joins_no_more() || self.why() == Some(Why::Removed))
    }

    /// The kind of what it waits for, as it says.
    pub fn why(&self) -> Option<Why> {
        Some(self.report()?.waiting.as_ref()?.why)
    }

    /// Whether it is no member, and has seen that it is to become none. An id that isn't in a list is one that it gave up
    /// to join anew.
    pub fn joins_no_more(&self) -> bool {
        self.report().is_some_and(|report| {
            let is_aware = self.why() == Some(Why::Ending);
            let gave_up =
                |id| !report.members.is_empty() && report.members.iter().all(|listed| listed.id != id);
            is_aware && report.id.is_none_or(gave_up)
        })
    }

    /// Whether nothing is known of why it doesn't get on.
    pub fn is_silent(&self) -> bool {
        let said_nothing = matches!(self.said, Said::Nothing | Said::Stale);
        said_nothing && self.trouble.is_none() && !self.is_terminating
    }

    /// Why it isn't as far as a member should be, for a person; nothing where it says nothing of the kind.
    pub fn waits_for(&self) -> Option<String> {
        let what = match &self.said {
            _ if self.is_terminating => " is ending".to_owned(),
            Said::Nothing | Said::Stale => match &self.trouble {
                Some(trouble) => format!(" {trouble}"),
                None => " has not reported yet".to_owned(),
            },
            Said::Odd(why) => format!(" reports what doesn't count: {why}"),
            Said::Report(report) => {
                // The kind of wait is what the documentation goes by.
                let waiting = report.waiting.as_ref()?;
                format!(": {} [{:?}]", waiting.message, waiting.why)
            }
        };
        Some(format!("{}{what}", self.name))
    }
}

fn said(annotation: Option<&str>, started: Option<Timestamp>, etcd: &Etcd, ordinal: u32) -> Said {
    let (Some(text), Some(started)) = (annotation, started) else {
        return if annotation.is_some() { Said::Stale } else { Said::Nothing };
    };
    let report = match Report::read(text) {
        Ok(report) => report,
        Err(why) => return Said::Odd(why),
    };
    match report.started.parse::<Timestamp>() {
        Err(_) => Said::Odd(format!("started {:?} is no time", report.started)),
        // The kubelet writes whole seconds, which are no later than the agent's.
        Ok(began) if began < started => Said::Stale,
        Ok(_) if report.etcd != etcd.uid => Said::Odd(format!(
            "it is about an Etcd with UID {:?}, and this one's is {:?}",
            report.etcd, etcd.uid
        )),
        Ok(_) if report.name != etcd.member(ordinal) => {
            Said::Odd(format!("it is about {:?}, and this is {:?}", report.name, etcd.member(ordinal)))
        }
        Ok(_) => Said::Report(Box::new(report)),
    }
}

fn container(pod: &KubernetesPod) -> Option<&ContainerStatus> {
    let statuses = pod.status.as_ref()?.container_statuses.as_ref()?;
    statuses.iter().find(|status| status.name == CONTAINER)
}

fn running_since(status: &ContainerStatus) -> Option<Timestamp> {
    Some(status.state.as_ref()?.running.as_ref()?.started_at.as_ref()?.0)
}

fn condition<'p>(pod: &'p KubernetesPod, kind: &str) -> Option<(&'p str, &'p str)> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let condition = conditions.iter().find(|condition| condition.type_ == kind)?;
    Some((&condition.status, condition.message.as_deref().unwrap_or_default()))
}

/// What the scheduler or the kubelet says.
fn trouble(pod: &KubernetesPod) -> Option<String> {
    if let Some(("False", message)) = condition(pod, "PodScheduled") {
        return Some(format!("can't be scheduled: {message}"));
    }
    let status = pod.status.as_ref()?;
    let all = status.init_container_statuses.iter().chain(&status.container_statuses).flatten();
    let waiting = all.filter_map(|status| Some((&status.name, status.state.as_ref()?.waiting.as_ref()?)));
    // What every pod goes through isn't trouble.
    let mut troubled = waiting.filter(|(_, waiting)| {
        waiting
            .reason
            .as_deref()
            .is_some_and(|reason| !matches!(reason, "PodInitializing" | "ContainerCreating"))
    });
    let (name, waiting) = troubled.next()?;
    let reason = waiting.reason.as_deref().unwrap_or_default();
    Some(format!(
        "can't start its container {name}: {reason}: {}",
        waiting.message.as_deref().unwrap_or_default()
    ))
}
