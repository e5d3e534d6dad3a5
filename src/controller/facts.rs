//! What the loop has before it when it decides about an Etcd.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::kind::Kind;
use super::object::Etcd;
use super::pod::Pod;
use super::render::{BELONGS_TO, Frozen, Settings, Standing, source_endpoints, storage};
use super::upgrade::kept;
use crate::etcd::{BOOTSTRAPPED, SOURCES_LEFT};
use crate::member::{Config, Formed, SeenStarts, Starts, Volume};

/// An object that stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Stands {
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Its identity.
    pub uid: String,
    /// Whether it is on its way out.
    pub is_terminating: bool,
    /// All of it.
    pub object: Value,
}

/// Another Etcd whose members are of the same cluster, or are joining it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Namespace and name.
    pub etcd: String,
    /// Why its members can't be counted on; nothing where all are ready, and none is leaving.
    pub unwell: Option<String>,
    /// Its members that have an id, by name, with their peer URLs.
    pub members: BTreeMap<String, Vec<String>>,
}

/// What the loop has before it.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// The Etcd.
    pub etcd: &'a Etcd,
    /// Every object that bears a name of one of its objects.
    pub objects: &'a [Stands],
    /// The pods of its StatefulSet.
    pub pods: &'a [Pod],
    /// Etcds with members of the same cluster, or that join the same one.
    pub neighbours: &'a [Neighbour],
    /// What an administrator decided.
    pub settings: &'a Settings,
    /// What went wrong when the last decision was carried out: a code, and a text.
    pub failures: &'a [(String, String)],
    /// Now.
    pub now: Timestamp,
}

impl<'a> Facts<'a> {
    /// The pod of a member, by the member's name.
    pub fn pod_of(&self, member: &str) -> Option<&'a Pod> {
        self.pods.iter().find(|pod| self.etcd.member(pod.ordinal) == member)
    }

    /// An object that stands.
    pub fn object(&self, kind: Kind, name: &str) -> Option<&Stands> {
        self.objects.iter().find(|object| object.kind == kind && object.name == name)
    }

    /// The StatefulSet.
    pub fn stateful_set(&self) -> Option<&Stands> {
        self.object(Kind::StatefulSet, &self.etcd.name).filter(|set| set.is_of(&self.etcd.uid))
    }

    /// The pod of an ordinal.
    pub fn pod(&self, ordinal: u32) -> Option<&Pod> {
        self.pods.iter().find(|pod| pod.ordinal == ordinal)
    }

    /// Whether the status lists a member that is a pod's.
    pub fn lists(&self, pod: &Pod) -> bool {
        let name = self.etcd.member(pod.ordinal);
        self.etcd.status.members.iter().any(|member| member.name == name)
    }

    /// Who waits for what: each wanted member that has no pod, or of whose pod something is `said`; and where to look for
    /// what a pod that isn't there, or hasn't begun, can't say itself.
    pub fn waits(&self, said: impl Fn(&Pod) -> Option<String>) -> Vec<String> {
        let Etcd { namespace, name, spec, .. } = self.etcd;
        let of = |ordinal| match self.pod(ordinal) {
            None => Some(format!("{name}-{ordinal} has no pod yet")),
            Some(pod) => said(pod),
        };
        let is_silent = |ordinal| self.pod(ordinal).is_none_or(Pod::is_silent);
        let mut waits: Vec<String> = (0..spec.replicas).filter_map(of).collect();
        if !waits.is_empty() && (0..spec.replicas).any(is_silent) {
            waits.push(format!("if it lasts, see etcd-warden status {name} -n {namespace}"));
        }
        waits
    }

    /// What is recorded of the cluster: nothing where none is recorded, and an error where it can't be read.
    pub fn record(&self) -> Option<Result<Formed, String>> {
        let name = Formed::name(&self.etcd.name);
        let stands = self.object(Kind::ConfigMap, &name)?;
        if !stands.is_of(&self.etcd.uid) {
            return Some(Err(format!(
                "it isn't this Etcd's; if it can be lost: kubectl delete configmap {name} -n {}",
                self.etcd.namespace
            )));
        }
        let data = stands.object.get("data").cloned().and_then(|data| serde_json::from_value(data).ok());
        Some(Formed::read(data.as_ref()))
    }

    /// Whether the join is complete, now or once.
    pub fn is_joined(&self) -> bool {
        let status = &self.etcd.status;
        status.bootstrap_with_existing_cluster.is_some() || status.is_true(BOOTSTRAPPED)
    }

    /// Whether there are, or were, members of this Etcd.
    pub fn has_members(&self) -> bool {
        let has_data =
            |pod: &Pod| pod.report().is_some_and(|report| matches!(report.volume, Volume::Data { .. }));
        self.record().is_some() || !self.etcd.status.members.is_empty() || self.pods.iter().any(has_data)
    }

    /// Members of a combined cluster that are not this Etcd's.
    pub fn sources(&self) -> usize {
        let status = &self.etcd.status;
        if status.is_true(SOURCES_LEFT) {
            return 0;
        }
        match (&status.bootstrap_with_existing_cluster, self.etcd.spec.source()) {
            (Some(snapshot), _) => snapshot.members.len(),
            (None, Some(source)) => source.members.len(),
            (None, None) => 0,
        }
    }

    /// What the rendered objects depend on beside the Etcd.
    pub fn standing(&self) -> Standing {
        let set = self.stateful_set().map(|set| &set.object);
        let config = self.object(Kind::ConfigMap, &Config::name(&self.etcd.name));
        let frozen = config.filter(|_| self.has_members()).and_then(|config| Frozen::of(&config.object, set));
        let is_joined = self.is_joined();
        Standing {
            sources: self.sources(),
            has_voter: self
                .etcd
                .status
                .members
                .iter()
                .any(|member| member.role.as_deref().is_some_and(|role| role != super::members::LEARNER)),
            is_joined,
            frozen,
            storage: set.and_then(storage),
            image: kept(self).map(|kept| kept.image),
            source_endpoints: set.filter(|_| is_joined).and_then(source_endpoints),
            beside: self.neighbours.iter().flat_map(|neighbour| neighbour.members.clone()).collect(),
            starts: self.starts(config.map(|config| &config.object)),
        }
    }

    /// What stands in the configuration, and what is reported now.
    fn starts(&self, config: Option<&Value>) -> Starts {
        let text = config.and_then(|config| config.get("data")?.get(Starts::KEY)?.as_str());
        let mut starts = text.and_then(|text| Starts::read(text).ok()).unwrap_or_default();
        for pod in self.pods {
            if let Some(Volume::Data { member, starts: number, .. }) =
                pod.report().map(|report| &report.volume)
            {
                starts.note(&pod.name, SeenStarts { member: *member, starts: *number });
            }
        }
        starts
    }
}

impl Stands {
    /// Whether it was made for an Etcd with this UID.
    pub fn is_of(&self, uid: &str) -> bool {
        let annotations = self.object.pointer("/metadata/annotations");
        annotations.and_then(|annotations| annotations.get(BELONGS_TO)).and_then(Value::as_str) == Some(uid)
    }
}
