//! The end of an Etcd: its members leave a combined cluster first, then its objects go, the pods before the rest.

use super::super::facts::{Facts, Stands};
use super::super::kind::Kind;
use super::super::pod::Pod;
use super::super::render::{Rendered, render};
use super::Step;
use super::roll::{current_revision, may_be_missed, unwell};
use crate::member::{Leave, MemberId, Report, Role, Volume, Why};

/// What is to be done for an Etcd that ends.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::controller) enum End<'a> {
    /// Members are told that nobody joins any more.
    Announce(Vec<Step>),
    /// Members have to leave, and none can now; what it waits for.
    Waits(String),
    /// What was corrected in the spec is carried out for a member that can't leave without it.
    Mend(Vec<Step>),
    /// Objects are on their way out.
    Goes(String),
    /// A member is told to leave.
    Tell(&'a Pod, Leave),
    /// Objects are deleted.
    Delete(Vec<&'a Stands>),
    /// All is gone.
    Release,
}

pub(in crate::controller) fn end<'a>(facts: &Facts<'a>) -> End<'a> {
    if let Some(first) = nobody_joins(facts) {
        return first;
    }
    if is_combined(facts) && !facts.etcd.gives_up_quorum() {
        let staying: Vec<&'a Pod> = facts.pods.iter().filter(|pod| !pod.is_out()).collect();
        let absent = absent(facts);
        if let Some(member) = absent.first() {
            return wake(facts).unwrap_or_else(|| End::Waits(no_pod(facts, member)));
        }
        if !staying.is_empty() && facts.etcd.status.members.iter().any(|member| stays(facts, &member.name)) {
            return mend(facts, &staying).unwrap_or_else(|| leave(facts, &staying));
        }
    }
    objects(facts)
}

/// What has to be done before it is sure that no member is added any more behind a leave: an agent reads its
/// configuration anew before it adds itself, and says that it has seen the end.
fn nobody_joins<'a>(facts: &Facts<'a>) -> Option<End<'a>> {
    let running: Vec<&Pod> = facts.pods.iter().filter(|pod| pod.is_running && !pod.is_terminating).collect();
    if facts.sources() == 0 || facts.etcd.gives_up_quorum() || running.is_empty() {
        return None;
    }
    // Where somebody says nothing, it may be what agents need to read and to report.
    let is_silent = running.iter().any(|pod| pod.report().is_none());
    let is_wanted = |object: &Rendered| match object.kind {
        Kind::ConfigMap => true,
        Kind::StatefulSet => false,
        _ => is_silent && is_needed(object),
    };
    match behind(facts, is_wanted) {
        Ok(steps) if steps.is_empty() => {}
        Ok(steps) => return Some(End::Announce(steps)),
        Err(problem) => return Some(End::Waits(format!("{problem} ({})", give_up(facts)))),
    }
    let unaware = running.iter().find(|pod| may_add_itself(pod))?;
    let says = unaware.waits_for().unwrap_or_else(|| format!("{} is about to start", unaware.name));
    Some(End::Waits(format!("{says}; it has not seen yet that nobody joins any more ({})", give_up(facts))))
}

/// What a leave needs has no owner.
fn is_needed(object: &Rendered) -> bool {
    object.object.pointer("/metadata/ownerReferences").is_none()
}

/// Members that sleep are woken, to leave.
fn wake<'a>(facts: &Facts<'a>) -> Option<End<'a>> {
    let steps = behind(facts, is_needed).ok().filter(|_| facts.etcd.spec.replicas > 0)?;
    (!steps.is_empty()).then_some(End::Mend(steps))
}

/// Objects of those that are wanted, where they don't stand as they should.
fn behind(facts: &Facts<'_>, wanted: impl Fn(&Rendered) -> bool) -> Result<Vec<Step>, String> {
    let rendered =
        render(facts.etcd, facts.settings, &facts.standing()).map_err(|error| error.to_string())?;
    let wanted: Vec<Rendered> = rendered.into_iter().filter(wanted).collect();
    let mut problems = Vec::new();
    let steps = super::apply(facts, &wanted, &mut problems);
    problems.into_iter().next().map_or(Ok(steps), |(_, problem)| Err(problem))
}

/// Whether an agent may be about to add its member.
fn may_add_itself(pod: &Pod) -> bool {
    let could = |report: &Report| report.volume == Volume::Empty && report.id.is_none() && !report.left;
    pod.report().is_none_or(could) && !pod.joins_no_more()
}

/// Members that nobody takes out of somebody else's cluster, since its quorum is given up.
pub(in crate::controller) fn left_behind(facts: &Facts<'_>) -> Option<String> {
    if !is_combined(facts) || !facts.etcd.gives_up_quorum() {
        return None;
    }
    let staying = facts.etcd.status.members.iter().filter(|member| stays(facts, &member.name));
    let named =
        staying.map(|member| format!("{} ({})", member.name, member.id.as_deref().unwrap_or("no id")));
    let named = named.collect::<Vec<_>>().join(", ");
    (!named.is_empty()).then_some(named)
}

/// Whether its members are, or may be, members of somebody else's cluster.
fn is_combined(facts: &Facts<'_>) -> bool {
    facts.sources() > 0 && !facts.etcd.status.members.is_empty()
}

/// Members that are in the cluster and have no pod that could take them out.
fn absent(facts: &Facts<'_>) -> Vec<String> {
    let members = facts.etcd.status.members.iter();
    members.filter(|member| facts.pod_of(&member.name).is_none()).map(|member| member.name.clone()).collect()
}

fn stays(facts: &Facts<'_>, member: &str) -> bool {
    facts.pod_of(member).is_none_or(|pod| !pod.is_out())
}

fn no_pod(facts: &Facts<'_>, member: &str) -> String {
    let wake = if facts.etcd.spec.replicas == 0 {
        "set spec.replicas to the number of its members to wake it"
    } else {
        "it is waited for"
    };
    format!("{member} has no pod that could take it out of the cluster: {wake}, {}", give_up(facts))
}

/// The way out, for a person.
pub(in crate::controller) fn give_up(facts: &Facts<'_>) -> String {
    format!(
        "or give the cluster up: kubectl annotate etcd {} -n {} {}=true",
        facts.etcd.name,
        facts.etcd.namespace,
        crate::etcd::ALLOW_QUORUM_LOSS
    )
}

/// A member can't leave while its pod, or etcd in it, doesn't run, for an image that can't be pulled or a node that is too
/// small: where the spec has been corrected since, its pod is made anew.
fn mend<'a>(facts: &Facts<'a>, staying: &[&'a Pod]) -> Option<End<'a>> {
    let mut stuck = staying
        .iter()
        .filter(|pod| !pod.is_terminating && facts.lists(pod) && may_be_missed(facts, pod))
        .peekable();
    stuck.peek()?;
    let steps = behind(facts, |object| object.kind == Kind::StatefulSet).ok()?;
    if !steps.is_empty() {
        return Some(End::Mend(steps));
    }
    let revision = current_revision(&facts.stateful_set()?.object)?;
    let outdated = stuck.find(|pod| pod.revision != revision)?;
    Some(End::Mend(vec![Step::Replace { pod: (*outdated).into(), because: "the spec has changed" }]))
}

/// One at a time: what is out already and a learner at once, a voter only while all the others are well, the leader last.
fn leave<'a>(facts: &Facts<'a>, staying: &[&'a Pod]) -> End<'a> {
    if let Some(leaving) = staying.iter().find(|pod| pod.told_to_leave) {
        // That etcd ends then is what is wanted.
        let ends = matches!(leaving.why(), Some(Why::EtcdEnds | Why::Removed));
        let hindered = leaving.waits_for().filter(|_| !ends);
        let why = hindered.unwrap_or_else(|| format!("{} is leaving", leaving.name));
        return End::Waits(format!("{why} ({})", give_up(facts)));
    }
    let with_id = staying.iter().filter_map(|pod| Some((*pod, pod.report()?.id?)));
    let Some((pod, member)) = with_id.max_by_key(|(pod, _)| rank(pod)) else {
        let unsaid = || "no member has reported its id yet".to_owned();
        let why = staying.iter().find_map(|pod| pod.waits_for()).unwrap_or_else(unsaid);
        return End::Waits(format!("{why} ({})", give_up(facts)));
    };
    match unwell(facts).filter(|_| pod.role() != Some(Role::Learner) && !pod.is_unlisted()) {
        Some(wait) => {
            End::Waits(format!("a voter leaves only while all are well: {wait} ({})", give_up(facts)))
        }
        None => tell(pod, member),
    }
}

fn tell(pod: &Pod, member: MemberId) -> End<'_> {
    End::Tell(pod, Leave { member })
}

/// Who has no vote first, then by ordinal from the last, the leader at the end.
fn rank(pod: &Pod) -> (bool, bool, u32) {
    let has_no_vote = pod.is_unlisted() || pod.role() == Some(Role::Learner);
    (has_no_vote, pod.role() != Some(Role::Leader), pod.ordinal)
}

/// The StatefulSet and its pods, then all the rest.
fn objects<'a>(facts: &Facts<'a>) -> End<'a> {
    let uid = &facts.etcd.uid;
    let own = |object: &&Stands| object.is_of(uid);
    let (sets, rest): (Vec<&'a Stands>, Vec<&'a Stands>) =
        facts.objects.iter().filter(own).partition(|object| object.kind == Kind::StatefulSet);
    let remaining = |objects: Vec<&'a Stands>| {
        objects.into_iter().filter(|object| !object.is_terminating).collect::<Vec<_>>()
    };
    match (sets.is_empty(), facts.pods.first(), rest.is_empty()) {
        (false, ..) => match remaining(sets) {
            sets if sets.is_empty() => End::Goes("its pods are ending".to_owned()),
            sets => End::Delete(sets),
        },
        (true, Some(pod), _) => End::Goes(format!("{} is ending", pod.name)),
        (true, None, false) => match remaining(rest) {
            rest if rest.is_empty() => End::Goes("its objects are being deleted".to_owned()),
            rest => End::Delete(rest),
        },
        (true, None, true) => End::Release,
    }
}
