//! What an agent can see before it decides: nothing here asks or acts.

use std::time::Duration;

use crate::member::{self, ClusterId, Config, Form, Leave, MemberId, SeenStarts};

use super::record::{Life, Record};
use super::version::Release;

/// Everything that a decision is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// How this member runs; the last one that was read where the API server doesn't answer.
    pub config: Config,
    /// Ordinal of this pod.
    pub ordinal: u32,
    /// What is in the volume.
    pub data: Data,
    /// The record beside the data.
    pub record: Noted,
    /// The cluster behind the service endpoints, or why there is no linearizable list.
    pub cluster: Result<Live, Unseen>,
    /// What the API server says, or why it says nothing.
    pub told: Result<Told, String>,
}

/// etcd's data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// There is none.
    None,
    /// A member's log.
    Log {
        /// Its member's id.
        member: MemberId,
        /// Its cluster's id.
        cluster: ClusterId,
    },
    /// etcd began, and ended before it had a log: it has promised nothing to anybody.
    Half,
    /// Something whose log can't be read.
    Unreadable(String),
}

/// The record beside the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Noted {
    /// There is none.
    None,
    /// It was read.
    Record(Box<Record>),
    /// It is there, and can't be read.
    Unreadable(String),
}

/// What the API server says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The recorded cluster.
    pub formed: Option<ClusterId>,
    /// The loop's word to form.
    pub form: Option<Form>,
    /// Token of the word that this pod took before.
    pub took: Option<String>,
    /// The loop's word to leave.
    pub leave: Option<Leave>,
    /// Numbers of starts that were seen of this pod's members: by the loop, and by this pod before.
    pub starts_seen: Vec<SeenStarts>,
    /// What the other pods report of their volumes.
    pub siblings: Vec<Sibling>,
}

/// Another pod of the StatefulSet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sibling {
    /// The pod.
    pub pod: String,
    /// What it reports; absent where it has not reported.
    pub volume: Option<member::Volume>,
}

/// Why there is no list of the cluster's members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen {
    /// The kind of reason.
    pub why: member::Why,
    /// For a person.
    pub message: String,
}

/// A cluster as a linearizable list and its members' own answers show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// Its id.
    pub cluster: ClusterId,
    /// Its members.
    pub members: Vec<Member>,
    /// Raised alarms, for a person.
    pub alarms: Vec<String>,
}

/// One member of a live cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its id.
    pub id: MemberId,
    /// Its name; empty where it has never started.
    pub name: String,
    /// Its peer URLs, verbatim.
    pub peer_urls: Vec<String>,
    /// Whether it has no vote.
    pub learner: bool,
    /// For how long it has been seen to be well; absent where it isn't, or wasn't seen.
    pub well_for: Option<Duration>,
    /// Why it isn't well, or wasn't seen.
    pub unwell: Option<String>,
    /// Its release, where it says it.
    pub release: Option<Release>,
}

impl Member {
    /// For a person: its name, or that it has none, and its id.
    pub fn title(&self) -> String {
        let name = if self.name.is_empty() { "a member that never started" } else { &self.name };
        format!("{name} ({}, {})", self.id, self.peer_urls.join(" "))
    }

    /// For a person: which member, and why it isn't well.
    pub fn trouble(&self) -> String {
        match &self.unwell {
            Some(fault) => format!("{}: {fault}", self.title()),
            None => self.title(),
        }
    }
}

impl Facts {
    /// This member's name.
    pub fn name(&self) -> String {
        self.config.member(self.ordinal)
    }

    /// This member's pod.
    pub fn pod(&self) -> String {
        self.config.pod(self.ordinal)
    }

    /// The record, where it can be read.
    pub fn record(&self) -> Option<&Record> {
        match &self.record {
            Noted::Record(record) => Some(record),
            Noted::None | Noted::Unreadable(_) => None,
        }
    }

    /// The record of this very member's earlier life: one of another pod came with another's volume.
    pub fn own_record(&self) -> Option<&Record> {
        self.record().filter(|record| record.pod == self.pod())
    }

    /// What the API server says, where it says something.
    pub fn heard(&self) -> Option<&Told> {
        self.told.as_ref().ok()
    }

    /// The live cluster, where it can be seen.
    pub fn live(&self) -> Option<&Live> {
        self.cluster.as_ref().ok()
    }

    /// Whether a cluster of this Etcd was ever formed, or joined, as far as anybody here knows.
    pub fn was_formed(&self) -> bool {
        let recorded = self.heard().is_some_and(|told| told.formed.is_some());
        let noted = self.record().is_some_and(|record| record.life.cluster().is_some());
        recorded || noted || self.sibling_data().next().is_some()
    }

    /// The other pods that have data, with its ids.
    pub fn sibling_data(&self) -> impl Iterator<Item = (&Sibling, MemberId, ClusterId)> {
        let siblings = self.heard().into_iter().flat_map(|told| &told.siblings);
        siblings.filter_map(|sibling| match sibling.volume {
            Some(member::Volume::Data { member, cluster, .. }) => Some((sibling, member, cluster)),
            Some(member::Volume::Empty | member::Volume::Unreadable(_)) | None => None,
        })
    }

    /// The id that this volume's record holds.
    pub fn recorded_id(&self) -> Option<MemberId> {
        self.own_record().and_then(|record| record.life.id())
    }

    /// The volume's record with another life; the number of starts goes on.
    pub fn next_record(&self, life: Life) -> Record {
        let before = self.own_record();
        Record {
            etcd: self.config.owner.uid.clone(),
            pod: self.pod(),
            starts: before.map_or(0, |record| record.starts),
            life,
            release: before.and_then(|record| record.release.clone()),
            config: self.config.clone(),
        }
    }

    /// Whether etcd was never executed for an id that this volume's record holds.
    pub fn is_prepared(&self, id: MemberId) -> bool {
        self.own_record().is_some_and(
            |record| matches!(record.life, Life::Prepared { id: prepared, .. } if prepared == id),
        )
    }
}
