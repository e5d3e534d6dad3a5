//! The word to form a cluster: given only while no cluster can have come of an earlier one.

use super::super::facts::Facts;
use super::super::pod::{Pod, Word};
use crate::member::{Config, Form, Report, Volume, Why, quorum};

/// What becomes of forming a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::controller) enum Forming<'a> {
    /// No cluster is formed here: there is one, or one is joined, or nobody is to be there.
    No,
    /// Not yet; who waits for what.
    Waits(Vec<String>),
    /// An attempt is to be recorded before its word is given.
    Record(u32),
    /// Words of earlier attempts are to be taken back.
    TakeBack(Vec<&'a Pod>),
    /// The word is to be given.
    Give(Form, Vec<&'a Pod>),
    /// All have the word.
    Given,
}

/// Decides it. Nothing here depends on the order of anything but the attempts, which only rise.
pub(in crate::controller) fn forming<'a>(facts: &Facts<'a>, config: &Config) -> Forming<'a> {
    if !is_to_be_formed(facts) {
        return Forming::No;
    }
    let pods: Vec<&Pod> = match ready_for_the_word(facts) {
        Ok(pods) => pods,
        Err(waits) => return Forming::Waits(waits),
    };
    let (uid, recorded) = (&facts.etcd.uid, facts.etcd.status.forming_attempt.unwrap_or_default());
    let form = Form { token: Form::token(uid, recorded), initial_cluster: config.initial_cluster() };
    if recorded == 0 || pods.iter().any(|pod| is_spent(pod, &form)) {
        let seen = pods.iter().filter_map(|pod| last_attempt(pod, uid)).max().unwrap_or_default();
        return Forming::Record(recorded.max(seen).saturating_add(1));
    }
    let word = Word::Form(form.clone());
    let with = |wanted: fn(Option<&Word>, &Word) -> bool| -> Vec<&'a Pod> {
        pods.iter().copied().filter(|pod| wanted(pod.word.as_ref(), &word)).collect()
    };
    let others = with(|held, word| held.is_some_and(|held| held != word));
    let without = with(|held, _| held.is_none());
    match (others.is_empty(), without.is_empty()) {
        (false, _) => Forming::TakeBack(others),
        (true, false) => Forming::Give(form, without),
        (true, true) => Forming::Given,
    }
}

fn is_to_be_formed(facts: &Facts<'_>) -> bool {
    let etcd = facts.etcd;
    let alone = etcd.spec.source().is_none() && !facts.is_joined();
    let never = facts.record().is_none() && etcd.status.members.is_empty();
    alone && never && etcd.spec.replicas > 0 && !etcd.is_terminating
}

/// Every pod, where each is empty and waits for the word: an agent that waits for it runs no etcd.
fn ready_for_the_word<'a>(facts: &Facts<'a>) -> Result<Vec<&'a Pod>, Vec<String>> {
    let waits = facts.waits(|pod| (!waits_for_the_word(pod)).then(|| not_ready(pod)));
    let wanted = |pod: &&Pod| pod.ordinal < facts.etcd.spec.replicas;
    if waits.is_empty() { Ok(facts.pods.iter().filter(wanted).collect()) } else { Err(waits) }
}

/// Who missed the beginning of a cluster that has no quorum, and what helps: a word that was given is never given again,
/// since nobody knows who has followed it.
pub(in crate::controller) fn begun_in_vain(facts: &Facts<'_>) -> Option<String> {
    let etcd = facts.etcd;
    let begun =
        etcd.status.forming_attempt.is_some() && etcd.spec.source().is_none() && facts.record().is_none();
    let missed = |pod: &&Pod| {
        let used = |report: &Report| match &pod.word {
            Some(Word::Form(form)) => report.took.as_ref() == Some(&form.token),
            Some(Word::Odd) | None => true,
        };
        let is_empty = |report: &Report| report.volume == Volume::Empty && report.waiting.is_some();
        pod.report().is_some_and(|report| is_empty(report) && used(report))
    };
    let missing: Vec<&str> = facts.pods.iter().filter(missed).map(|pod| pod.name.as_str()).collect();
    let wanted = usize::try_from(etcd.spec.replicas).unwrap_or(usize::MAX);
    let lacks_quorum = wanted.saturating_sub(missing.len()) < quorum(wanted);
    let (name, namespace) = (&etcd.name, &etcd.namespace);
    (begun && facts.has_members() && lacks_quorum).then(|| {
        format!(
            "a cluster was begun without {}, and can have no quorum: if that lasts, and nothing was stored in it, begin anew: \
             kubectl delete etcd {name} -n {namespace}, then kubectl delete pvc -n {namespace} -l \
             app.kubernetes.io/part-of={name}, and create it again",
            missing.join(", ")
        )
    })
}

fn waits_for_the_word(pod: &Pod) -> bool {
    let Some(report) = pod.report().filter(|_| !pod.is_terminating) else { return false };
    let runs_nothing = report.role.is_none() && report.id.is_none() && report.cluster.is_none();
    let waits = pod.why() == Some(Why::NoWord);
    // The write that takes a word says that nothing is waited for: an agent that waits for one runs no etcd.
    report.volume == Volume::Empty && runs_nothing && waits && !report.left
}

fn not_ready(pod: &Pod) -> String {
    let has = match pod.report().map(|report| &report.volume) {
        Some(Volume::Data { .. }) => "has data already",
        Some(Volume::Unreadable(_)) => "has a volume that can't be read",
        _ => "is about to start",
    };
    pod.waits_for().unwrap_or_else(|| format!("{} {has}", pod.name))
}

/// Whether an attempt is used up: its token was taken, or given for another cluster.
fn is_spent(pod: &Pod, form: &Form) -> bool {
    let taken = pod.report().is_some_and(|report| report.took.as_ref() == Some(&form.token));
    let differs = matches!(&pod.word, Some(Word::Form(word)) if word.token == form.token && word != form);
    taken || differs
}

/// The latest attempt that a pod knows of.
fn last_attempt(pod: &Pod, uid: &str) -> Option<u32> {
    let held = match &pod.word {
        Some(Word::Form(word)) => Some(&word.token),
        Some(Word::Odd) | None => None,
    };
    let took = pod.report().and_then(|report| report.took.as_ref());
    let number = |token: &String| token.strip_prefix(uid)?.strip_prefix('/')?.parse().ok();
    held.into_iter().chain(took).filter_map(number).max()
}
