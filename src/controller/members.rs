//! `status.members`: who has an id, and what it is.

use std::collections::BTreeSet;

use super::facts::Facts;
use super::pod::Pod;
use super::status::Member;
use crate::member::Role;

/// What a member without a vote is called in status.
pub(super) const LEARNER: &str = "Learner";

/// The members that have an id, by name. One that isn't seen keeps its id and nothing else; it goes when it says that
/// it left: that there were members once forbids to form a cluster anew.
pub(super) fn members(facts: &Facts<'_>) -> Vec<Member> {
    let status = &facts.etcd.status;
    let names = (0..facts.etcd.spec.replicas).map(|ordinal| facts.etcd.member(ordinal));
    let names: BTreeSet<String> =
        names.chain(status.members.iter().map(|member| member.name.clone())).collect();
    let of = |name: String| {
        let before = status.members.iter().find(|member| member.name == name);
        let pod = facts.pods.iter().find(|pod| facts.etcd.member(pod.ordinal) == name);
        member(facts, name, before, pod).map(|member| since(member, before, facts))
    };
    names.into_iter().filter_map(of).collect()
}

fn member(facts: &Facts<'_>, name: String, before: Option<&Member>, pod: Option<&Pod>) -> Option<Member> {
    let report = pod.and_then(Pod::report);
    if report.is_some_and(|report| report.left) {
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
