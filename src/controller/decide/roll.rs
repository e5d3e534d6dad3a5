//! Rolling changes: one pod at a time, the leader last, and only while the cluster can do without it.

use jiff::Timestamp;
use serde_json::Value;

use super::super::facts::Facts;
use super::super::pod::Pod;
use super::super::upgrade::kept;
use crate::member::Role;
use crate::rules::Minor;

/// How far apart, in seconds, nodes bring a changed Secret into their pods: a kubelet looks after a pod once a minute or
/// so, and has the Secret from a cache.
const SECRET_SPREAD: i64 = 180;

/// What becomes of pods that aren't up to date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::controller) enum Roll<'a> {
    /// All are.
    Nothing,
    /// Some aren't, and none can be replaced now.
    Waits(String),
    /// This one is replaced, and why.
    Replace(&'a Pod, &'static str),
}

pub(in crate::controller) fn roll<'a>(facts: &Facts<'a>) -> Roll<'a> {
    let Some(set) = facts.stateful_set().map(|set| &set.object) else { return Roll::Nothing };
    let Some(revision) = current_revision(set) else {
        return Roll::Waits(
            "the StatefulSet's last change has not been seen by its controller yet".to_owned(),
        );
    };
    let outdated: Vec<&'a Pod> = facts.pods.iter().filter(|pod| reason(pod, revision).is_some()).collect();
    if outdated.is_empty() {
        return kept(facts).map_or(Roll::Nothing, |kept| Roll::Waits(kept.why));
    }
    if let Some(wait) = under_way(facts) {
        return Roll::Waits(wait);
    }
    // What gives nothing to the cluster can't be missed; and what was corrected may be what keeps it from giving anything.
    if let Some(idle) = outdated.iter().find(|pod| is_no_member(facts, pod) || may_be_missed(facts, pod)) {
        return replace(idle, revision);
    }
    let wait =
        unwell(facts).or_else(|| image_jumps(facts)).or_else(|| leads_too_soon(facts, &outdated, revision));
    match wait {
        Some(wait) => Roll::Waits(wait),
        None => next(&outdated).map_or(Roll::Nothing, |pod| replace(pod, revision)),
    }
}

fn replace<'a>(pod: &'a Pod, revision: &str) -> Roll<'a> {
    Roll::Replace(pod, reason(pod, revision).unwrap_or_default())
}

/// Why a pod has to be replaced, if so.
fn reason(pod: &Pod, revision: &str) -> Option<&'static str> {
    if pod.revision != revision {
        return Some("the spec has changed");
    }
    let changed = pod.report().is_some_and(|report| report.ca_changed);
    changed.then_some("its authority has changed, which etcd reads only when it starts")
}

/// The revision of the template as it stands, once it is known.
pub(in crate::controller) fn current_revision(set: &Value) -> Option<&str> {
    let generation = set.pointer("/metadata/generation")?;
    let observed = set.pointer("/status/observedGeneration")?;
    set.pointer("/status/updateRevision")?.as_str().filter(|_| generation == observed)
}

/// A pod that is on its way out, or isn't there yet.
fn under_way(facts: &Facts<'_>) -> Option<String> {
    let ordinals = 0..facts.etcd.spec.replicas;
    let missing = ordinals
        .filter(|ordinal| facts.pod(*ordinal).is_none())
        .map(|ordinal| format!("{}-{ordinal}", facts.etcd.name));
    let ending = facts.pods.iter().filter(|pod| pod.is_terminating).map(|pod| pod.name.clone());
    missing.chain(ending).next().map(|pod| format!("{pod} is being replaced"))
}

/// Whether a pod may be replaced though its member isn't well: it doesn't run; or runs no etcd, while nothing speaks against
/// the spec as it is; or is the only one that isn't well.
pub(in crate::controller) fn may_be_missed(facts: &Facts<'_>, pod: &Pod) -> bool {
    let is_learner = pod.role() == Some(Role::Learner);
    let is_only_one = || !pod.is_ready && !is_learner && unwell_beside(facts, Some(pod)).is_none();
    let is_down = || pod.runs_no_etcd() && !spec_may_be_wrong(facts);
    !pod.is_running || (is_down() || is_only_one()) && image_jumps(facts).is_none()
}

/// Whether a pod that is as the spec wants it isn't ready: it may be the spec that is wrong.
fn spec_may_be_wrong(facts: &Facts<'_>) -> bool {
    let revision = facts.stateful_set().and_then(|set| current_revision(&set.object));
    facts.pods.iter().any(|pod| Some(pod.revision.as_str()) == revision && !pod.is_ready)
}

/// One that has been given the word to form is about to be a member.
fn is_no_member(facts: &Facts<'_>, pod: &Pod) -> bool {
    if facts.record().is_none() && pod.word.is_some() {
        return false;
    }
    let has_id = pod.report().is_some_and(|report| report.id.is_some());
    pod.report().is_some() && !has_id && !facts.lists(pod)
}

/// Who isn't well, of all that vote in the cluster as far as that is seen.
pub(in crate::controller) fn unwell(facts: &Facts<'_>) -> Option<String> {
    unwell_beside(facts, None)
}

fn unwell_beside(facts: &Facts<'_>, pod: Option<&Pod>) -> Option<String> {
    let is_it = |other: &Pod| pod.is_some_and(|pod| pod.uid == other.uid);
    let members = || facts.pods.iter().filter(|pod| !is_it(pod) && is_counted_on(facts, pod));
    let not_ready = |pod: &Pod| pod.waits_for().unwrap_or_else(|| format!("{} is not ready", pod.name));
    let own = members().find(|pod| !pod.is_ready || !pod.is_voter()).map(not_ready);
    let waits = || members().filter(|pod| pod.report().is_some()).find_map(Pod::waits_for);
    own.or_else(waits).or_else(|| changes(facts, pod)).or_else(|| neighbour(facts))
}

/// Whether a pod's member, if there is one, could be missed. Nobody joins an Etcd any more that is deleted: whatever keeps
/// a pod from becoming a member then keeps nobody else from leaving.
fn is_counted_on(facts: &Facts<'_>, pod: &Pod) -> bool {
    let is_outside =
        pod.joins_no_more() || (facts.etcd.is_terminating && (pod.is_unlisted() || !is_known(facts, pod)));
    !pod.has_left() && !is_outside
}

/// Whether anybody knows of a member in this pod: it itself, the status, or a list of the cluster's members.
fn is_known(facts: &Facts<'_>, pod: &Pod) -> bool {
    let name = facts.etcd.member(pod.ordinal);
    let mut listed = facts.pods.iter().filter_map(Pod::report).flat_map(|report| &report.members);
    pod.report().is_some_and(|report| report.id.is_some())
        || facts.lists(pod)
        || listed.any(|member| member.name == name)
}

/// A membership change is under way, or a voter isn't well that has no pod here; beside the member of a pod.
fn changes(facts: &Facts<'_>, pod: Option<&Pod>) -> Option<String> {
    let name = pod.map(|pod| facts.etcd.member(pod.ordinal));
    let listed = facts.pods.iter().filter_map(Pod::report).flat_map(|report| &report.members);
    listed.filter(|member| Some(&member.name) != name.as_ref()).find_map(|member| {
        match (member.learner, member.unwell) {
            (true, _) => Some(format!(
                "a membership change is under way: {} ({}) is a learner",
                member.id, member.name
            )),
            (false, true) => {
                Some(format!("{} ({}) is not well, as another member sees it", member.name, member.id))
            }
            (false, false) => None,
        }
    })
}

/// Another Etcd's members of the same cluster.
fn neighbour(facts: &Facts<'_>) -> Option<String> {
    facts.neighbours.iter().find_map(|neighbour| neighbour.unwell.clone())
}

/// etcd goes one minor at a time.
fn image_jumps(facts: &Facts<'_>) -> Option<String> {
    let image = facts.settings.image(facts.etcd)?;
    let wanted = Minor::of_image(image)?;
    facts.pods.iter().find_map(|pod| {
        let version = pod.report()?.etcd_version.as_deref()?;
        let runs = Minor::of_version(version)?;
        (!runs.may_become(wanted)).then(|| {
            format!("{} runs etcd {version}, and {image} is more than one minor away: name an image of the next minor first", pod.name)
        })
    })
}

/// A leader that is the first to have another authority waits for the others to have it, since all have it from one
/// Secret: it would hand leadership to one that is restarted next.
fn leads_too_soon(facts: &Facts<'_>, outdated: &[&Pod], revision: &str) -> Option<String> {
    let [leader] = outdated else { return None };
    if leader.role() != Some(Role::Leader) || leader.revision != revision {
        return None;
    }
    let before = facts.etcd.status.condition("AllMembersUpdated").filter(|before| before.status == "False");
    let began = before.and_then(|before| before.last_transition_time.parse::<Timestamp>().ok());
    let began = began.unwrap_or(facts.now);
    let is_old = |pod: &&Pod| {
        let started = pod.report().and_then(|report| report.started.parse::<Timestamp>().ok());
        pod.name != leader.name && started.is_some_and(|started| started < began)
    };
    let other = facts.pods.iter().find(is_old)?;
    (facts.now.as_second() - began.as_second() < SECRET_SPREAD).then(|| {
        format!(
            "{} leads, and its authority has changed: it is replaced after {}, whose node has not brought the changed \
             Secret yet",
            leader.name, other.name
        )
    })
}

/// The last that doesn't lead; the leader last.
fn next<'a>(outdated: &[&'a Pod]) -> Option<&'a Pod> {
    outdated.iter().copied().max_by_key(|pod| (pod.role() != Some(Role::Leader), pod.ordinal))
}
