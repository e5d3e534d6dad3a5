//! From what an agent can see to the one thing that it does. Pure: a table of rows, the first that matches wins, and a
//! case without a row waits.

use crate::member::{ClusterId, Form, MemberId, Why, quorum};

use super::acceptance::{refusal_of_add, refusal_of_replacement};
use super::entry;
use super::facts::{Data, Facts, Live, Member, Noted};
use super::record::Life;

/// What an agent does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing: say why, and decide again.
    Hold(Hold),
    /// Remove itself from the cluster for good, by this id.
    Leave(MemberId),
    /// Start etcd on the data that is there.
    Start,
    /// Start etcd as a member that is in the list already, with state `existing`.
    StartExisting(MemberId),
    /// Rename the data: it is of no use any more.
    SetAside,
    /// Rename the data, if there is any, and forget the record: of a start that never had a log, or of a member of an
    /// earlier Etcd that left.
    Forget,
    /// Remove its own entry by this id, to join anew.
    RemoveOwn(MemberId),
    /// Remove a learner of this Etcd that no pod will ever be.
    RemoveStray(MemberId),
    /// Add itself as a learner.
    Add,
    /// Start etcd with state `new`, by this word.
    Form(Form),
}

/// Why an agent does nothing for now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The kind of reason.
    pub why: Why,
    /// For a person: who waits for what, and the remedy.
    pub message: String,
}

impl Hold {
    /// A reason.
    pub fn new(why: Why, message: impl Into<String>) -> Self {
        Self { why, message: message.into() }
    }
}

type Row = fn(&Facts) -> Option<Step>;

/// The table, in order.
pub const ROWS: &[(&str, Row)] = &[
    ("leave", leave),
    ("rolled_back", rolled_back),
    ("another_members_data", another_members_data),
    ("own_data", own_data),
    ("removed_itself", removed_itself),
    ("removed_by_somebody", removed_by_somebody),
    ("another_clusters_data", another_clusters_data),
    ("former_cluster", former_cluster),
    ("never_had_a_log", never_had_a_log),
    ("useless_data", useless_data),
    ("unreadable", unreadable),
    ("ending", ending),
    ("form", form),
    ("unreachable", unreachable),
    ("another_cluster_answers", another_cluster_answers),
    ("own_entry_prepared", own_entry_prepared),
    ("own_entry_learner", own_entry_learner),
    ("own_entry_voter", own_entry_voter),
    ("collision", collision),
    ("stray_learner", stray_learner),
    ("add_not_accepted", add_not_accepted),
    ("add", add),
    ("no_word", no_word),
];

/// The name of the row that matches, and its step.
pub fn decide(facts: &Facts) -> (&'static str, Step) {
    let matched = ROWS.iter().find_map(|(name, row)| Some((*name, row(facts)?)));
    match (&facts.told, matched) {
        (_, Some(row @ (_, Step::Start | Step::Hold(_)))) | (Ok(_), Some(row)) => row,
        // Only a start may go ahead without knowing what is recorded and said.
        (Err(fault), _) => ("api_server", hold(Why::ApiServer, fault.clone())),
        (Ok(_), None) => ("no_row", no_row()),
    }
}

fn no_row() -> Step {
    hold(
        Why::Configuration,
        "what is in the volume and what the cluster says don't go together: please report it",
    )
}

fn hold(why: Why, message: impl Into<String>) -> Step {
    Step::Hold(Hold::new(why, message))
}

/// The log's ids, where there is a log.
fn log(facts: &Facts) -> Option<(MemberId, ClusterId)> {
    match facts.data {
        Data::Log { member, cluster } => Some((member, cluster)),
        Data::None | Data::Half | Data::Unreadable(_) => None,
    }
}

/// The live cluster, where it is the log's.
fn own_cluster(facts: &Facts) -> Option<(MemberId, &Live)> {
    let (member, cluster) = log(facts)?;
    facts.live().filter(|live| live.cluster == cluster).map(|live| (member, live))
}

fn find(live: &Live, id: MemberId) -> Option<&Member> {
    live.members.iter().find(|member| member.id == id)
}

/// What happened to the volume's data, where a person has to look.
fn claim(facts: &Facts) -> String {
    format!("the claim of pod {}", facts.pod())
}

fn leave(facts: &Facts) -> Option<Step> {
    if let Some(Life::Left { id, .. }) = facts.own_record().map(|record| &record.life) {
        return Some(left(facts, *id));
    }
    let word = facts.heard()?.leave.as_ref()?;
    let in_list = || facts.live().and_then(|live| entry::own(facts, live)).map(|member| member.id);
    let own = match log(facts) {
        Some((member, _)) => vec![member],
        None => facts.recorded_id().into_iter().chain(in_list()).collect(),
    };
    own.contains(&word.member).then_some(Step::Leave(word.member))
}

/// Who left stays down. Claims outlast an Etcd: one of the same name that joins begins anew, once a list shows that the
/// member is out.
fn left(facts: &Facts, id: MemberId) -> Step {
    let is_of_this_etcd = facts.own_record().is_some_and(|record| record.etcd == facts.config.owner.uid);
    match (&facts.config.source, &facts.cluster) {
        _ if is_of_this_etcd => hold(Why::Removed, format!("member {id} left the cluster, and stays down")),
        (Some(_), Err(unseen)) => hold(unseen.why, unseen.message.clone()),
        (Some(_), Ok(live)) if find(live, id).is_none() => Step::Forget,
        _ => {
            let message = format!(
                "{} is that of member {id}, which left its cluster with an earlier Etcd of this name: if nobody needs its \
                 data, delete the claim and the pod",
                claim(facts)
            );
            hold(Why::Removed, message)
        }
    }
}

fn rolled_back(facts: &Facts) -> Option<Step> {
    let (member, _) = log(facts)?;
    let of_member = facts.heard()?.starts_seen.iter().filter(|seen| seen.member == member);
    let seen = of_member.map(|seen| seen.starts).max()?;
    let starts = facts.record().map_or(0, |record| record.starts);
    if starts >= seen {
        return None;
    }
    let age = format!(
        "{} was rolled back: etcd was started {starts} times on it, and {seen} were seen",
        claim(facts)
    );
    let Some((_, live)) = own_cluster(facts) else {
        let message =
            format!("{age}; without the rest of its cluster nothing is done: it would forget what it voted");
        return Some(hold(Why::LostData, message));
    };
    let refusal = refusal_of_replacement(facts, live, find(live, member)?);
    Some(refusal.map_or(Step::SetAside, |refusal| hold(refusal.why, format!("{age}; {}", refusal.message))))
}

fn another_members_data(facts: &Facts) -> Option<Step> {
    let (member, _) = log(facts)?;
    let by_record =
        facts.record().filter(|record| record.pod != facts.pod()).map(|record| record.pod.clone());
    let by_list = || {
        let (_, live) = own_cluster(facts)?;
        let entry = find(live, member)?;
        let collides = entry.name == facts.name();
        let own = facts.own_record().is_some() || entry::own(facts, live).map(|own| own.id) == Some(member);
        (!own && !entry.name.is_empty() && !collides).then(|| entry.name.clone())
    };
    let by_sibling = || {
        let cloned = facts.sibling_data().find(|(_, sibling, _)| *sibling == member)?;
        facts.own_record().is_none().then(|| cloned.0.pod.clone())
    };
    let other = by_record.or_else(by_list).or_else(by_sibling)?;
    let message = format!(
        "{} holds the data of {other} (member {member}): give each pod its own claim again; nothing was changed",
        claim(facts)
    );
    Some(hold(Why::ForeignData, message))
}

fn own_data(facts: &Facts) -> Option<Step> {
    let (member, cluster) = log(facts)?;
    if facts.heard().and_then(|told| told.formed).is_some_and(|formed| formed != cluster) {
        return None;
    }
    let own = match &facts.cluster {
        Ok(live) => live.cluster == cluster && find(live, member).is_some(),
        Err(_) => facts.own_record().is_some_and(|record| {
            let ids = (record.life.id(), record.life.cluster());
            let forming = matches!(record.life, Life::Forming { .. });
            record.etcd == facts.config.owner.uid && (forming || ids == (Some(member), Some(cluster)))
        }),
    };
    own.then_some(Step::Start)
}

fn removed_itself(facts: &Facts) -> Option<Step> {
    let (member, live) = own_cluster(facts)?;
    let record = facts.own_record()?;
    let gave_up = matches!(record.life, Life::Rejoining { id, .. } if id == member);
    (gave_up && find(live, member).is_none()).then_some(Step::SetAside)
}

fn removed_by_somebody(facts: &Facts) -> Option<Step> {
    let (member, live) = own_cluster(facts)?;
    let message = format!(
        "member {member} was removed from cluster {}: delete {} and the pod to join anew",
        live.cluster,
        claim(facts)
    );
    find(live, member).is_none().then(|| hold(Why::Removed, message))
}

fn another_clusters_data(facts: &Facts) -> Option<Step> {
    let (member, cluster) = log(facts)?;
    let formed = facts.heard().and_then(|told| told.formed);
    let live = facts.live().map(|live| live.cluster);
    let sibling = facts.sibling_data().map(|(_, _, cluster)| cluster);
    let other = formed.into_iter().chain(live).chain(sibling).find(|other| *other != cluster)?;
    // One replica is the first.
    let may_be_restored = facts.config.source.is_none() && facts.ordinal == 0;
    let restored =
        "; if it was restored, delete the Etcd, keep the claim, and create it anew with one replica";
    let message = format!(
        "{} holds data of member {member} of cluster {cluster}, and this is cluster {other}: if nobody needs that data, \
         delete the claim and the pod{}; nothing was changed",
        claim(facts),
        if may_be_restored { restored } else { "" }
    );
    Some(hold(Why::ForeignData, message))
}

fn former_cluster(facts: &Facts) -> Option<Step> {
    let (member, cluster) = log(facts)?;
    let unseen = facts.cluster.as_ref().err()?;
    let told = facts.heard()?;
    if facts.config.source.is_some() {
        return Some(hold(unseen.why, unseen.message.clone()));
    }
    let needed = quorum(usize::try_from(facts.config.replicas).unwrap_or(usize::MAX));
    let volumes = 1 + facts.sibling_data().filter(|(_, _, of)| *of == cluster).count();
    let unknown: Vec<&str> =
        told.siblings.iter().filter(|pod| pod.volume.is_none()).map(|pod| pod.pod.as_str()).collect();
    let next = if unknown.is_empty() {
        ": if that cluster had another number of members, create the Etcd anew with that, over its claims; if their volumes \
         are lost, restore a backup"
            .to_owned()
    } else {
        format!(", {} not heard of yet", unknown.join(", "))
    };
    let message = format!(
        "{} holds member {member} of a former cluster {cluster}; {volumes} of {needed} volumes that a quorum needs are \
         there{next}",
        claim(facts)
    );
    Some(if volumes >= needed { Step::Start } else { hold(Why::LostData, message) })
}

fn never_had_a_log(facts: &Facts) -> Option<Step> {
    let forming = facts.own_record().is_some_and(|record| matches!(record.life, Life::Forming { .. }));
    let without_log = matches!(facts.data, Data::Half | Data::None);
    (forming && without_log).then_some(Step::Forget)
}

/// What has no log has promised nothing, and a learner's data is a copy: both may go, while the cluster is there.
fn useless_data(facts: &Facts) -> Option<Step> {
    let without_log = facts.data == Data::Half;
    let of_learner = |live| entry::own(facts, live).is_some_and(|own| own.learner);
    match &facts.cluster {
        Ok(live) => {
            let useless = without_log || matches!(facts.data, Data::Unreadable(_)) && of_learner(live);
            useless.then_some(Step::SetAside)
        }
        Err(unseen) => {
            let may_turn_out = without_log && facts.own_record().is_some();
            may_turn_out.then(|| hold(unseen.why, unseen.message.clone()))
        }
    }
}

fn unreadable(facts: &Facts) -> Option<Step> {
    let fault = match (&facts.data, &facts.record) {
        (Data::Unreadable(fault), _) | (Data::None, Noted::Unreadable(fault)) => fault.clone(),
        (Data::Half, _) => "half a data directory, without a log".to_owned(),
        (Data::None | Data::Log { .. }, _) => return None,
    };
    let message = format!(
        "{} holds what can't be read ({fault}): if the rest of the cluster is well, delete the claim and the pod to join \
         anew; nothing was changed",
        claim(facts)
    );
    Some(hold(Why::LostData, message))
}

/// Whether this member belongs to a cluster that is there, or was.
fn belongs(facts: &Facts) -> bool {
    facts.data == Data::None
        && (facts.config.source.is_some() || facts.was_formed() || facts.live().is_some())
}

/// The loop counts on it: who has said so adds itself to no cluster behind its back.
fn ending(facts: &Facts) -> Option<Step> {
    let has_entry = facts.live().is_some_and(|live| entry::own(facts, live).is_some());
    let message = "the Etcd is being deleted: nobody joins any more";
    (facts.config.ending && belongs(facts) && !has_entry).then(|| hold(Why::Ending, message))
}

/// A pod that looks late finds others that have begun by the same word, or even serve by now: only their cluster may be
/// seen, and in it this member as the word has it. That it was recorded forbids it all the same.
fn form(facts: &Facts) -> Option<Step> {
    let told = facts.heard()?;
    let word = told.form.as_ref()?;
    let untouched = facts.data == Data::None && facts.record == Noted::None;
    let never_formed = facts.config.source.is_none() && told.formed.is_none();
    let ours = word.token.strip_prefix(&facts.config.owner.uid).is_some_and(|rest| rest.starts_with('/'));
    let unused = told.took.as_deref() != Some(&word.token);
    let forms = |cluster| word.cluster() == Some(cluster);
    let begun = facts.sibling_data().all(|(_, _, cluster)| forms(cluster));
    let is_as_formed = |own: &Member| !own.learner && word.member(&facts.name()) == Some(own.id);
    let awaited = |live: &Live| forms(live.cluster) && entry::own(facts, live).is_some_and(is_as_formed);
    let seen = facts.live().is_none_or(awaited);
    (untouched && never_formed && ours && unused && begun && seen).then(|| Step::Form(word.clone()))
}

fn unreachable(facts: &Facts) -> Option<Step> {
    let unseen = facts.cluster.as_ref().err().filter(|_| belongs(facts))?;
    let told = facts.heard()?;
    let empty = |sibling: &super::facts::Sibling| sibling.volume == Some(crate::member::Volume::Empty);
    let all = told.siblings.len() + 1 == usize::try_from(facts.config.replicas).unwrap_or(usize::MAX);
    if facts.config.source.is_none() && all && told.siblings.iter().all(empty) {
        let message = "every member of this Etcd has lost its data: restore a backup, or make a new object, unless an Etcd \
                       that joined its cluster still has it; a new cluster is never begun in its place";
        return Some(hold(Why::LostData, message));
    }
    let lost =
        told.starts_seen.iter().max_by_key(|seen| seen.starts).filter(|_| facts.recorded_id().is_none());
    Some(lost.map_or_else(
        || hold(unseen.why, unseen.message.clone()),
        |seen| {
            let remedy = "it joins anew once the others have the quorum; if the volumes of most are lost, restore a backup";
            let message =
                format!("{}; {} is empty, where member {} was: {remedy}", unseen.message, claim(facts), seen.member);
            hold(Why::LostData, message)
        },
    ))
}

fn another_cluster_answers(facts: &Facts) -> Option<Step> {
    let live = facts.live().filter(|_| belongs(facts))?;
    let formed = facts.heard()?.formed.or_else(|| facts.own_record()?.life.cluster())?;
    let message = format!(
        "cluster {} answers at the endpoints, and the recorded one is {formed}: look where they lead to",
        live.cluster
    );
    (live.cluster != formed).then(|| hold(Why::SourceDiffers, message))
}

/// This member's entry, where its volume has no data.
fn entry_without_data(facts: &Facts) -> Option<(&Live, &Member)> {
    let live = facts.live().filter(|_| belongs(facts))?;
    Some((live, entry::own(facts, live)?))
}

fn own_entry_prepared(facts: &Facts) -> Option<Step> {
    let (_, own) = entry_without_data(facts)?;
    facts.is_prepared(own.id).then_some(Step::StartExisting(own.id))
}

fn own_entry_learner(facts: &Facts) -> Option<Step> {
    let (_, own) = entry_without_data(facts)?;
    own.learner.then_some(Step::RemoveOwn(own.id))
}

fn own_entry_voter(facts: &Facts) -> Option<Step> {
    let (live, own) = entry_without_data(facts)?;
    let lost = |refusal: Hold| hold(refusal.why, format!("its disk was lost; {}", refusal.message));
    Some(refusal_of_replacement(facts, live, own).map_or(Step::RemoveOwn(own.id), lost))
}

fn collision(facts: &Facts) -> Option<Step> {
    let live = facts.live().filter(|_| belongs(facts))?;
    let other = entry::collision(facts, live)?;
    Some(hold(Why::Collision, format!("{}; nothing was changed", collides(facts, other))))
}

/// Neither a name nor the URLs that follow from it can be changed in an Etcd.
fn collides(facts: &Facts, other: &Member) -> String {
    let (name, title) = (facts.name(), other.title());
    if other.name == name {
        return format!(
            "its name {name} is that of {title}, a member of another Etcd of that name, mostly: create one of the two \
             anew, under another name or with memberNamePrefix"
        );
    }
    format!(
        "its peer URL {} is that of {title}: take it off that member (etcdctl member update {} --peer-urls=…), or give \
         this Etcd another name",
        facts.config.peer_urls(facts.ordinal).join(" or "),
        other.id
    )
}

fn stray_learner(facts: &Facts) -> Option<Step> {
    let live = facts.live().filter(|_| belongs(facts))?;
    entry::stray(facts, live).map(|stray| Step::RemoveStray(stray.id))
}

fn add_not_accepted(facts: &Facts) -> Option<Step> {
    let live = facts.live().filter(|_| belongs(facts))?;
    refusal_of_add(facts, live).map(Step::Hold)
}

fn add(facts: &Facts) -> Option<Step> {
    (facts.live().is_some() && belongs(facts)).then_some(Step::Add)
}

fn no_word(facts: &Facts) -> Option<Step> {
    let fresh = facts.data == Data::None && !belongs(facts);
    let message = "waits for the loop's word to form the cluster: it is given once every pod has reported";
    (fresh && facts.told.is_ok()).then(|| hold(Why::NoWord, message))
}

#[cfg(test)]
mod invariants;
#[cfg(test)]
mod tests;
