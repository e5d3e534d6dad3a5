//! The members of the cluster, this Etcd's and others', and their votes.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::controller::{self, Etcd, Pod, Said};
use crate::member::{Listed, Progress, Role, Waiting, quorum};

/// One member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// Its name; empty where it is in the list and was never started.
    pub name: String,
    /// Whose it is.
    pub of: Of,
    /// Its id, hexadecimal, once it has one.
    pub id: Option<String>,
    /// What it is in the cluster, as far as that is seen.
    pub role: Option<Role>,
    /// Whether it votes and answers a linearizable read; nothing of another's, whose pod isn't looked at.
    pub ready: Option<bool>,
    /// Release of its etcd.
    pub etcd_version: Option<String>,
    /// Why it isn't as far as it should be, where its agent doesn't say so itself.
    pub trouble: Option<String>,
    /// What it waits for.
    pub waiting: Option<Waiting>,
    /// How far it has caught up.
    pub progress: Option<Progress>,
}

/// Whose a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Of {
    /// This Etcd's.
    Own,
    /// Named in the spec, or recorded, as one of the existing cluster.
    Source,
    /// In the cluster's list, and neither.
    Other,
}

/// The votes of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Votes {
    /// Members with a vote.
    pub voters: usize,
    /// Votes that a decision needs.
    pub needed: usize,
    /// Voters of this Etcd that answer linearizable reads: one proves that the cluster has quorum.
    pub ready: usize,
    /// Voters of others, which aren't seen from here.
    pub unseen: usize,
}

pub(super) fn members(etcd: &Etcd, pods: &[Pod]) -> Vec<Member> {
    let mut members: Vec<Member> =
        (0..ordinals(etcd, pods)).map(|ordinal| own(etcd, pods, ordinal)).collect();
    let ids: BTreeSet<String> = members.iter().filter_map(|member| member.id.clone()).collect();
    let list = list(pods);
    let others = list.iter().filter(|listed| !ids.contains(&listed.id.to_string()));
    let mut others: Vec<Member> = others.map(|listed| listed_one(etcd, listed)).collect();
    others.sort_by(|one, other| one.name.cmp(&other.name));
    members.extend(others);
    if list.is_empty() {
        members.extend(sources(etcd).map(unseen));
    }
    members
}

/// The clusters that pods report, in hexadecimal.
pub(super) fn clusters(pods: &[Pod]) -> Vec<String> {
    let reported = pods.iter().filter_map(Pod::report).flat_map(controller::clusters);
    reported.map(|cluster| cluster.to_string()).collect::<BTreeSet<_>>().into_iter().collect()
}

pub(super) fn votes(pods: &[Pod], members: &[Member]) -> Option<Votes> {
    let list = list(pods);
    let voters: BTreeSet<String> =
        list.iter().filter(|listed| !listed.learner).map(|listed| listed.id.to_string()).collect();
    let is_voter = |member: &&Member| member.id.as_ref().is_some_and(|id| voters.contains(id));
    let own = |member: &&Member| member.of == Of::Own;
    (!voters.is_empty()).then(|| Votes {
        voters: voters.len(),
        needed: quorum(voters.len()),
        ready: members
            .iter()
            .filter(own)
            .filter(is_voter)
            .filter(|member| member.ready == Some(true))
            .count(),
        unseen: members.iter().filter(|member| !own(member)).filter(is_voter).count(),
    })
}

/// The list of the member that is likeliest to have a recent one.
fn list(pods: &[Pod]) -> Vec<Listed> {
    let listing = pods.iter().filter(|pod| pod.report().is_some_and(|report| !report.members.is_empty()));
    let best = listing.max_by_key(|pod| (pod.is_ready, pod.role() == Some(Role::Leader)));
    best.and_then(Pod::report).map(|report| report.members.clone()).unwrap_or_default()
}

/// Wanted ones, and those that are still there.
fn ordinals(etcd: &Etcd, pods: &[Pod]) -> u32 {
    let there = pods.iter().map(|pod| pod.ordinal.saturating_add(1)).max().unwrap_or(0);
    let recorded = u32::try_from(etcd.status.members.len()).unwrap_or(u32::MAX);
    etcd.spec.replicas.max(there).max(recorded)
}

fn own(etcd: &Etcd, pods: &[Pod], ordinal: u32) -> Member {
    let name = etcd.member(ordinal);
    let pod = pods.iter().find(|pod| pod.ordinal == ordinal);
    let report = pod.and_then(Pod::report);
    let recorded = etcd.status.members.iter().find(|member| member.name == name);
    let id = report.and_then(|report| report.id).map(|id| id.to_string());
    Member {
        of: Of::Own,
        id: id.or_else(|| recorded.and_then(|recorded| recorded.id.clone())),
        role: report.and_then(|report| report.role),
        ready: Some(pod.is_some_and(|pod| pod.is_ready && pod.is_voter())),
        etcd_version: report.and_then(|report| report.etcd_version.clone()),
        trouble: trouble(etcd, ordinal, pod),
        waiting: report.and_then(|report| report.waiting.clone()),
        progress: report.and_then(|report| report.progress),
        name,
    }
}

/// What the agent can't say.
fn trouble(etcd: &Etcd, ordinal: u32, pod: Option<&Pod>) -> Option<String> {
    match pod {
        None if etcd.spec.replicas == 0 => None,
        None => Some(format!("{} has no pod", etcd.member(ordinal))),
        Some(pod) if pod.has_left() => Some(format!("{} has left the cluster", pod.name)),
        Some(pod) if pod.is_terminating || !matches!(pod.said, Said::Report(_)) => pod.waits_for(),
        Some(_) => None,
    }
}

fn listed_one(etcd: &Etcd, listed: &Listed) -> Member {
    let is_source = sources(etcd).any(|name| name == listed.name);
    Member {
        name: listed.name.clone(),
        of: if is_source { Of::Source } else { Of::Other },
        id: Some(listed.id.to_string()),
        role: Some(if listed.learner { Role::Learner } else { Role::Voter }),
        ..unseen(&listed.name)
    }
}

fn unseen(source: &str) -> Member {
    Member {
        name: source.to_owned(),
        of: Of::Source,
        id: None,
        role: None,
        ready: None,
        etcd_version: None,
        trouble: None,
        waiting: None,
        progress: None,
    }
}

/// Names of the members of the existing cluster: as recorded when the join was complete, or as the spec has them.
fn sources(etcd: &Etcd) -> impl Iterator<Item = &str> {
    let recorded = etcd.status.bootstrap_with_existing_cluster.as_ref().map(|snapshot| &snapshot.members);
    let members = recorded.or_else(|| Some(&etcd.spec.source()?.members));
    members.into_iter().flatten().map(|member| member.name.as_str())
}
