//! `status.members`: who has an id, and what it is.

use std::collections::BTreeSet;

use super::facts::Facts;
use super::pod::Pod;
use super::status::Member;
use crate::member::{Listed, Role, Why, quorum};

/// What a member without a vote is called in status.
pub(super) const LEARNER: &str = "Learner";

/// The members that have an id, by name. One that isn't seen keeps its id and nothing else; it goes when it says that
/// it left, or is out otherwise and can't come back: that there were members once forbids to form a cluster anew.
pub(super) fn members(facts: &Facts<'_>) -> Vec<Member> {
    let status = &facts.etcd.status;
    let names = (0..facts.etcd.spec.replicas).map(|ordinal| facts.etcd.member(ordinal));
    let names: BTreeSet<String> =
        names.chain(status.members.iter().map(|member| member.name.clone())).collect();
    let of = |name: String| {
        let before = status.members.iter().find(|member| member.name == name);
        let pod = facts.pod_of(&name);
        member(facts, name, before, pod).map(|member| since(member, before, facts))
    };
    names.into_iter().filter_map(of).collect()
}

/// The voters of the cluster that aren't this Etcd's own; as they were where nobody lists them.
pub(super) fn other_voters(facts: &Facts<'_>) -> Vec<String> {
    if nobody_is_in(facts) {
        return Vec::new();
    }
    let Some(listed) = listed(facts) else { return facts.etcd.status.other_voters.clone() };
    let others = listed.iter().filter(|member| !member.learner && !is_own(facts, member));
    let others: BTreeSet<String> = others
        .map(|member| if member.name.is_empty() { member.id.to_string() } else { member.name.clone() })
        .collect();
    others.into_iter().collect()
}

/// Whether all its members are in the cluster no more: taken out by themselves, or by somebody.
fn nobody_is_in(facts: &Facts<'_>) -> bool {
    let is_out = |pod: &Pod| pod.has_left() || pod.why() == Some(Why::Removed);
    !facts.pods.is_empty() && facts.pods.iter().all(is_out)
}

/// The cluster's members as one of its voters lists them.
fn listed<'f>(facts: &Facts<'f>) -> Option<&'f [Listed]> {
    let voters = facts.pods.iter().filter(|pod| pod.is_voter()).filter_map(Pod::report);
    voters.map(|report| report.members.as_slice()).find(|members| !members.is_empty())
}

/// How many voters can be there, and how many are needed, where that is fewer: pods that are gone take a while to be
/// missed by those that were ready a moment ago. Others' voters count as present.
pub(super) fn missing_quorum(facts: &Facts<'_>) -> Option<(usize, usize)> {
    let voters = listed(facts)?.iter().filter(|member| !member.learner);
    let runs = |name: &str| facts.pod_of(name).is_some_and(|pod| pod.is_running);
    let (mut all, mut there) = (0, 0);
    for voter in voters {
        all += 1;
        there += usize::from(!is_own(facts, voter) || runs(&voter.name));
    }
    let needed = quorum(all);
    (there < needed).then_some((there, needed))
}

fn is_own(facts: &Facts<'_>, listed: &Listed) -> bool {
    let is_id = |id: &str| id == listed.id.to_string();
    let known = facts.etcd.status.members.iter();
    let mut known = known.map(|member| (member.name.as_str(), member.id.as_deref()));
    let mut reported = facts.pods.iter().filter_map(|pod| pod.report()?.id);
    let mut named = (0..facts.etcd.spec.replicas).map(|ordinal| facts.etcd.member(ordinal));
    known.any(|(name, id)| name == listed.name || id.is_some_and(is_id))
        || reported.any(|id| id == listed.id)
        || named.any(|name| name == listed.name)
}

fn member(facts: &Facts<'_>, name: String, before: Option<&Member>, pod: Option<&Pod>) -> Option<Member> {
    let report = pod.and_then(Pod::report);
    // One that somebody removed comes back, but not to an Etcd that is deleted.
    if pod.is_some_and(|pod| pod.has_left() || facts.etcd.is_terminating && pod.is_out()) {
        return None;
    }
    let id = report.and_then(|report| report.id).map(|id| id.to_string());
    let id = id.or_else(|| before.and_then(|before| before.id.clone()));
    if id.is_none() && before.is_none() {
        return None;
    }
    let role = report.and_then(|report| report.role).map(role);
    let (status, reason) = match (pod, report) {
        _ if facts.etcd.spec.replicas == 0 => ("Unknown", "Hibernated".to_owned()),
        (None, _) => ("Unknown", "NoPod".to_owned()),
        (Some(_), None) => ("Unknown", "NoReport".to_owned()),
        (Some(pod), Some(_)) if pod.is_ready && pod.is_voter() => ("Ready", "Votes".to_owned()),
        (Some(_), Some(report)) => {
            let why = report.waiting.as_ref().map(|waiting| format!("{:?}", waiting.why));
            ("NotReady", why.unwrap_or_else(|| "NotReady".to_owned()))
        }
    };
    Some(Member {
        name,
        id,
        role: role.map(str::to_owned),
        status: status.to_owned(),
        reason,
        last_transition_time: String::new(),
    })
}

const fn role(role: Role) -> &'static str {
    match role {
        Role::Learner => LEARNER,
        Role::Voter => "Member",
        Role::Leader => "Leader",
    }
}

fn since(mut member: Member, before: Option<&Member>, facts: &Facts<'_>) -> Member {
    member.last_transition_time = match before {
        Some(before) if before.status == member.status => before.last_transition_time.clone(),
        _ => super::decide::time(facts.now),
    };
    member
}
