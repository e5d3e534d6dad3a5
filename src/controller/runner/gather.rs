//! Facts about an Etcd: as the watches brought them, or looked up anew.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod as KubernetesPod;
use kube::Api;
use kube::api::ListParams;
use kube::core::{DynamicObject, TypeMeta};
use kube::runtime::reflector::ObjectRef;

use super::super::facts::{Facts, Neighbour, Stands};
use super::super::join::clusters;
use super::super::kind::Kind;
use super::super::object::Etcd;
use super::super::pod::Pod;
use super::super::render::{PART_OF, Settings, names, selector};
use super::watches::etcds;
use super::{Failed, Term};
use crate::kubernetes::{CallError, Target};
use crate::member::{ClusterId, MEMBER, Report};

/// What was found.
pub(super) struct Gathered {
    objects: Vec<Stands>,
    pods: Vec<Pod>,
    neighbours: Vec<Neighbour>,
}

impl Gathered {
    pub(super) fn facts<'a>(
        &'a self,
        etcd: &'a Etcd,
        settings: &'a Settings,
        failures: &'a [(String, String)],
    ) -> Facts<'a> {
        let Self { objects, pods, neighbours } = self;
        Facts { etcd, objects, pods, neighbours, settings, failures, now: Timestamp::now() }
    }
}

impl Term {
    /// What is known of an Etcd; `anew`: by asking the API server.
    pub(super) async fn gather(&self, etcd: &Etcd, anew: bool) -> Result<Gathered, Failed> {
        let mut objects = Vec::new();
        for (kind, name) in names(&etcd.name) {
            objects.extend(self.object(etcd, kind, &name, anew).await?);
        }
        let set = objects.iter().find(|object| object.kind == Kind::StatefulSet && object.is_of(&etcd.uid));
        let set = set.map(|set| set.uid.clone());
        let pods = match &set {
            Some(set) => self.pods(etcd, set, anew).await?,
            None => Vec::new(),
        };
        let own: BTreeSet<ClusterId> = pods.iter().filter_map(Pod::report).flat_map(clusters).collect();
        let neighbours = neighbours(self.watches.pods.state().iter().map(AsRef::as_ref), etcd, &own);
        Ok(Gathered { objects, pods, neighbours })
    }

    /// The Etcd as it is now; nothing where it is gone, or another one.
    pub(super) async fn etcd_now(&self, etcd: &Etcd) -> Result<Option<Etcd>, Failed> {
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &etcd.namespace, &etcds());
        let target = Target::in_namespace("get", "etcds.druid.gardener.cloud", &etcd.namespace, &etcd.name);
        let found = target.call(api.get_opt(&etcd.name)).await?;
        let read = found.as_ref().map(Etcd::read).transpose()?;
        Ok(read.filter(|now| now.uid == etcd.uid))
    }

    /// One object. What the watches haven't, because it bears no label of ours, may stand in the way all the same.
    async fn object(
        &self,
        etcd: &Etcd,
        kind: Kind,
        name: &str,
        anew: bool,
    ) -> Result<Option<Stands>, CallError> {
        let reference = ObjectRef::new_with(name, kind.api_resource()).within(&etcd.namespace);
        let known = self.watches.objects.get(&kind).and_then(|store| store.get(&reference));
        if let Some(known) = known.filter(|_| !anew) {
            return Ok(Some(stands(kind, name, &known)));
        }
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), &etcd.namespace, &kind.api_resource());
        let target = Target::in_namespace("get", kind.resource(), &etcd.namespace, name);
        Ok(target.call(api.get_opt(name)).await?.map(|object| stands(kind, name, &object)))
    }

    async fn pods(&self, etcd: &Etcd, set: &str, anew: bool) -> Result<Vec<Pod>, CallError> {
        let read = |pod: &KubernetesPod| Pod::read(pod, etcd, set);
        let mut pods: Vec<Pod> = if anew {
            let api: Api<KubernetesPod> = Api::namespaced(self.client.clone(), &etcd.namespace);
            let params = ListParams::default().labels(&selector(&etcd.name));
            let target = Target { namespace: Some(etcd.namespace.clone()), ..Target::all("list", "pods") };
            target.call(api.list(&params)).await?.items.iter().filter_map(read).collect()
        } else {
            let all = self.watches.pods.state();
            let own = all.iter().filter(|pod| pod.metadata.namespace.as_ref() == Some(&etcd.namespace));
            own.filter_map(|pod| read(pod)).collect()
        };
        pods.sort_by_key(|pod| pod.ordinal);
        Ok(pods)
    }
}

fn stands(kind: Kind, name: &str, object: &DynamicObject) -> Stands {
    // What comes in a list doesn't say of what kind it is.
    let types = TypeMeta { api_version: kind.api_version().to_owned(), kind: kind.name().to_owned() };
    let object = DynamicObject { types: Some(types), ..object.clone() };
    Stands {
        kind,
        name: name.to_owned(),
        uid: object.metadata.uid.clone().unwrap_or_default(),
        is_terminating: object.metadata.deletion_timestamp.is_some(),
        // What was read can be written.
        object: serde_json::to_value(object).unwrap_or_default(),
    }
}

/// Other Etcds whose members report one of these clusters.
fn neighbours<'p>(
    pods: impl Iterator<Item = &'p KubernetesPod>,
    etcd: &Etcd,
    own: &BTreeSet<ClusterId>,
) -> Vec<Neighbour> {
    let mut found: BTreeMap<(String, ClusterId), bool> = BTreeMap::new();
    for pod in pods {
        let Some((name, report)) =
            reported(pod).filter(|(_, report)| report.etcd != etcd.uid && !report.left)
        else {
            continue;
        };
        let is_well = is_ready(pod) && report.waiting.is_none();
        for cluster in clusters(&report).filter(|cluster| own.contains(cluster)) {
            *found.entry((name.clone(), cluster)).or_insert(true) &= is_well;
        }
    }
    found.into_iter().map(|((etcd, cluster), is_well)| Neighbour { etcd, cluster, is_well }).collect()
}

fn reported(pod: &KubernetesPod) -> Option<(String, Report)> {
    let metadata = &pod.metadata;
    let report = Report::read(metadata.annotations.as_ref()?.get(MEMBER)?).ok()?;
    let name = metadata.labels.as_ref()?.get(PART_OF)?;
    Some((format!("{}/{name}", metadata.namespace.as_ref()?), report))
}

fn is_ready(pod: &KubernetesPod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}
