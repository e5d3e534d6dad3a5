//! Facts about an Etcd: as the watches brought them, or looked up anew.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod as KubernetesPod;
use kube::Api;
use kube::api::ListParams;
use kube::core::{DynamicObject, TypeMeta};
use kube::runtime::reflector::{ObjectRef, Store};

use super::super::facts::{Facts, Neighbour, Stands};
use super::super::join::clusters;
use super::super::kind::Kind;
use super::super::object::Etcd;
use super::super::pod::Pod;
use super::super::render::{MANAGED_BY, MANAGER, Settings, names, selector};
use super::neighbours::{Around, neighbours};
use super::watches::etcds;
use super::{Failed, Term};
use crate::kubernetes::{CallError, Target};
use crate::member::ClusterId;

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
        let neighbours = self.neighbours(etcd, &own, anew).await?;
        Ok(Gathered { objects, pods, neighbours })
    }

    /// Whoever shares a cluster; where there is somebody, their pods are looked up anew with the rest.
    async fn neighbours(
        &self,
        etcd: &Etcd,
        own: &BTreeSet<ClusterId>,
        anew: bool,
    ) -> Result<Vec<Neighbour>, CallError> {
        let all = |kind| self.watches.objects.get(&kind).map(Store::state).unwrap_or_default();
        let (etcds, maps, sets) = (self.watches.etcds.state(), all(Kind::ConfigMap), all(Kind::StatefulSet));
        let among = |pods: &[Arc<KubernetesPod>]| {
            let around = Around { etcds: &etcds, pods, config_maps: &maps, stateful_sets: &sets };
            neighbours(&around, etcd, own)
        };
        let known = among(&self.watches.pods.state());
        if !anew || known.is_empty() {
            return Ok(known);
        }
        let api: Api<KubernetesPod> = Api::all(self.client.clone());
        let params = ListParams::default().labels(&format!("{MANAGED_BY}={MANAGER}"));
        let pods = Target::all("list", "pods").call(api.list(&params)).await?;
        Ok(among(&pods.items.into_iter().map(Arc::new).collect::<Vec<_>>()))
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
