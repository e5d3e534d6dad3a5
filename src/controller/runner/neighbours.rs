//! Other Etcds with members of the same cluster, or that join the same one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod as KubernetesPod;
use kube::core::DynamicObject;
use serde_json::Value;

use super::super::facts::Neighbour;
use super::super::object::Etcd;
use super::super::pod::Pod;
use super::super::render::PART_OF;
use crate::member::{ClusterId, Config, Formed, MEMBER, Report};
use crate::rules::Address;

/// Namespace and name.
type Named = (String, String);

/// What is at hand of all Etcds.
pub(super) struct Around<'a> {
    pub(super) etcds: &'a [Arc<DynamicObject>],
    pub(super) pods: &'a [Arc<KubernetesPod>],
    pub(super) config_maps: &'a [Arc<DynamicObject>],
    pub(super) stateful_sets: &'a [Arc<DynamicObject>],
}

/// Whose members share a cluster with those of `etcd`: by what they report, by what is recorded, or by whom they join.
pub(super) fn neighbours(around: &Around<'_>, etcd: &Etcd, own: &BTreeSet<ClusterId>) -> Vec<Neighbour> {
    let ids: BTreeSet<String> = own.iter().map(ToString::to_string).collect();
    let mut names: BTreeSet<Named> = around.reporting(&ids, &etcd.uid).collect();
    names.extend(around.recorded(&ids));
    let sources = sources_of(etcd);
    if !sources.is_empty() {
        names.extend(around.joining(&sources));
    }
    names.remove(&(etcd.namespace.clone(), etcd.name.clone()));
    names.into_iter().filter_map(|name| around.neighbour(&name)).collect()
}

impl Around<'_> {
    fn reporting<'s>(&'s self, ids: &'s BTreeSet<String>, uid: &'s str) -> impl Iterator<Item = Named> + 's {
        let reports =
            self.pods.iter().filter_map(|pod| Some((pod, pod.metadata.annotations.as_ref()?.get(MEMBER)?)));
        // Most reports are of other clusters, and needn't be read.
        let named = reports.filter(|(_, text)| ids.iter().any(|id| text.contains(id)));
        let read = named.filter_map(|(pod, text)| Some((pod, Report::read(text).ok()?)));
        let others = read.filter(move |(_, report)| report.etcd != uid && !report.left);
        let same = others.filter(|(_, report)| {
            super::super::join::clusters(report).any(|cluster| ids.contains(&cluster.to_string()))
        });
        same.filter_map(|(pod, _)| {
            Some((pod.metadata.namespace.clone()?, pod.metadata.labels.as_ref()?.get(PART_OF)?.clone()))
        })
    }

    fn recorded<'s>(&'s self, ids: &'s BTreeSet<String>) -> impl Iterator<Item = Named> + 's {
        let records = self.config_maps.iter().filter(|map| {
            let id = map.data.pointer(&format!("/data/{}", Formed::KEY)).and_then(Value::as_str);
            id.is_some_and(|id| ids.contains(id))
        });
        records.filter_map(|map| {
            Some((map.metadata.namespace.clone()?, map.metadata.labels.as_ref()?.get(PART_OF)?.clone()))
        })
    }

    fn joining<'s>(&'s self, sources: &'s BTreeSet<String>) -> impl Iterator<Item = Named> + 's {
        let same = self.etcds.iter().filter(|etcd| {
            let lists = [
                "/spec/etcd/bootstrapWithExistingCluster/members",
                "/status/bootstrapWithExistingCluster/members",
            ];
            let members = lists.into_iter().filter_map(|list| etcd.data.pointer(list)?.as_array()).flatten();
            let urls = members.filter_map(|member| member.get("peerUrls")?.as_array()).flatten();
            urls.filter_map(Value::as_str).any(|url| sources.contains(&place(url)))
        });
        same.filter_map(|etcd| Some((etcd.metadata.namespace.clone()?, etcd.metadata.name.clone()?)))
    }

    fn neighbour(&self, (namespace, name): &Named) -> Option<Neighbour> {
        let named = |objects: &[Arc<DynamicObject>], name: &str| {
            let is_it = |object: &&Arc<DynamicObject>| {
                object.metadata.namespace.as_ref() == Some(namespace)
                    && object.metadata.name.as_deref() == Some(name)
            };
            objects.iter().find(is_it).map(Arc::clone)
        };
        let etcd = Etcd::read(&*named(self.etcds, name)?);
        let title = format!("{namespace}/{name}");
        let Ok(etcd) = etcd else {
            let unwell = Some(format!("the Etcd {title}, of the same cluster, can't be read"));
            return Some(Neighbour { etcd: title, unwell, members: BTreeMap::new() });
        };
        let set =
            named(self.stateful_sets, name).and_then(|set| set.metadata.uid.clone()).unwrap_or_default();
        let here = self.pods.iter().filter(|pod| pod.metadata.namespace.as_ref() == Some(namespace));
        let pods: Vec<Pod> = here.filter_map(|pod| Pod::read(pod, &etcd, &set)).collect();
        let config = named(self.config_maps, &Config::name(name)).and_then(|map| config_in(&map));
        let members = config.map(|config| members(&config, &pods)).unwrap_or_default();
        Some(Neighbour { unwell: unwell(&title, &etcd, &pods), etcd: title, members })
    }
}

fn config_in(map: &DynamicObject) -> Option<Config> {
    serde_json::from_str(map.data.pointer(&format!("/data/{}", Config::KEY))?.as_str()?).ok()
}

/// Members that have an id, with the URLs that they are registered with.
fn members(config: &Config, pods: &[Pod]) -> BTreeMap<String, Vec<String>> {
    let with_id =
        pods.iter().filter(|pod| pod.report().is_some_and(|report| report.id.is_some() && !report.left));
    with_id.map(|pod| (config.member(pod.ordinal), config.peer_urls(pod.ordinal))).collect()
}

/// Who of an Etcd's members can't be counted on.
fn unwell(title: &str, etcd: &Etcd, pods: &[Pod]) -> Option<String> {
    let leaving = pods.iter().find(|pod| (pod.told_to_leave && !pod.has_left()) || pod.is_terminating);
    if let Some(pod) = leaving {
        return Some(format!("{} of the Etcd {title}, of the same cluster, is leaving or ending", pod.name));
    }
    let votes = |name: &str| {
        let pod = pods.iter().find(|pod| etcd.member(pod.ordinal) == name);
        pod.is_some_and(|pod| pod.has_left() || (pod.is_ready && pod.is_voter()))
    };
    let missing = etcd.status.members.iter().find(|member| !votes(&member.name))?;
    Some(format!("{} of the Etcd {title}, of the same cluster, is not ready", missing.name))
}

/// Where the members are that an Etcd joins, or has joined.
fn sources_of(etcd: &Etcd) -> BTreeSet<String> {
    let spec = etcd.spec.source().into_iter().flat_map(|source| &source.members);
    let snapshot = etcd.status.bootstrap_with_existing_cluster.iter().flat_map(|snapshot| &snapshot.members);
    spec.chain(snapshot).flat_map(|member| &member.peer_urls).map(|url| place(url)).collect()
}

/// The same for every spelling of an address.
fn place(url: &str) -> String {
    Address::read(url).map_or_else(|_| url.to_owned(), |address| format!("{:?}", address.place()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::render::Standing;
    use super::*;
    use crate::member::{MemberId, Role, Volume};

    type Change = fn(&mut Value);

    const START: &str = "2026-11-29T20:00:00Z";

    fn object<T: serde::de::DeserializeOwned>(object: Value) -> Arc<T> {
        Arc::new(serde_json::from_value(object).unwrap())
    }

    fn etcd(name: &str, source: &str, members: &[&str]) -> Arc<DynamicObject> {
        let members: Vec<Value> = members.iter().map(|name| json!({"name": name, "id": "7"})).collect();
        object(json!({
            "apiVersion": "v", "kind": "Etcd", "metadata": {"name": name, "namespace": "shop", "uid": format!("uid-{name}")},
            "spec": {"replicas": 1, "etcd": {"bootstrapWithExistingCluster": {
                "members": [{"name": "src-0", "peerUrls": [source]}], "clientEndpoints": ["http://src:2379"]}}},
            "status": {"members": members},
        }))
    }

    fn config(name: &str) -> Arc<DynamicObject> {
        let etcd = Etcd::read(&etcd(name, "http://src:2380", &[])).unwrap();
        let config = super::super::super::render::config(&etcd, &Standing::default()).unwrap();
        let data = json!({Config::KEY: serde_json::to_string(&config).unwrap()});
        let metadata = json!({"name": Config::name(name), "namespace": "shop"});
        object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}))
    }

    fn record(name: &str, cluster: &str) -> Arc<DynamicObject> {
        let metadata = json!({"name": Formed::name(name), "namespace": "shop", "labels": {PART_OF: name}});
        object(
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {Formed::KEY: cluster}}),
        )
    }

    fn stateful_set(name: &str) -> Arc<DynamicObject> {
        let metadata = json!({"name": name, "namespace": "shop", "uid": format!("set-{name}")});
        object(json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata}))
    }

    fn pod(name: &str, cluster: u64, change: impl Fn(&mut Value)) -> Arc<KubernetesPod> {
        let report = Report {
            id: Some(MemberId(7)),
            volume: Volume::Data { member: MemberId(7), cluster: ClusterId(cluster), starts: 1 },
            cluster: Some(ClusterId(cluster)),
            role: Some(Role::Voter),
            ..Report::new(format!("uid-{name}"), START.to_owned(), format!("{name}-0"))
        };
        let mut pod = json!({
            "metadata": {
                "name": format!("{name}-0"), "namespace": "shop", "uid": "u", "resourceVersion": "1",
                "labels": {PART_OF: name}, "annotations": {MEMBER: report.annotation().unwrap()},
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": name,
                    "uid": format!("set-{name}"), "controller": true}],
            },
            "status": {
                "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [{"name": "etcd", "image": "", "imageID": "", "ready": true, "restartCount": 0,
                    "state": {"running": {"startedAt": START}}}],
            },
        });
        change(&mut pod);
        object(pod)
    }

    /// What `one` sees of `two`.
    fn seen(
        two: Arc<DynamicObject>,
        pods: &[Arc<KubernetesPod>],
        maps: &[Arc<DynamicObject>],
    ) -> Vec<Neighbour> {
        let one = etcd("one", "http://src:2380", &[]);
        let around = Around {
            etcds: &[Arc::clone(&one), two],
            pods,
            config_maps: maps,
            stateful_sets: &[stateful_set("one"), stateful_set("two")],
        };
        neighbours(&around, &Etcd::read(&one).unwrap(), &BTreeSet::from([ClusterId(9)]))
    }

    #[test]
    fn who_joins_the_same_cluster_is_listed_as_soon_as_it_has_an_id() {
        let two = || etcd("two", "http://SRC.:2380", &["two-0"]);
        let found = seen(two(), &[pod("two", 9, |_| {})], &[config("two")]);
        let url = "http://two-0.two-peer.shop.svc:2380".to_owned();
        let members = BTreeMap::from([("two-0".to_owned(), vec![url])]);
        assert_eq!(found, [Neighbour { etcd: "shop/two".to_owned(), unwell: None, members }]);
        assert!(
            seen(etcd("two", "http://other:2380", &[]), &[pod("two", 8, |_| {})], &[config("two")])
                .is_empty()
        );
    }

    #[test]
    fn who_reports_or_recorded_the_same_cluster_is_a_neighbour_whomever_it_names() {
        let two = || etcd("two", "http://other:2380", &["two-0"]);
        assert_eq!(seen(two(), &[pod("two", 9, |_| {})], &[]).len(), 1);
        let asleep = seen(two(), &[], &[record("two", "9")]);
        assert!(asleep[0].unwell.as_deref().unwrap().contains("two-0 of the Etcd shop/two"), "{asleep:?}");
        assert!(seen(two(), &[], &[record("two", "8")]).is_empty());
    }

    #[test]
    fn who_is_leaving_ending_or_not_ready_is_named() {
        let cases: [(&str, Change); 3] = [
            ("is not ready", |pod| pod["status"]["conditions"] = json!([])),
            ("is leaving or ending", |pod| pod["metadata"]["deletionTimestamp"] = START.into()),
            ("is leaving or ending", |pod| {
                pod["metadata"]["annotations"][crate::member::LEAVE] = r#"{"member":"7"}"#.into();
            }),
        ];
        for (said, change) in cases {
            let found = seen(etcd("two", "http://src:2380", &["two-0"]), &[pod("two", 9, change)], &[]);
            let unwell = found[0].unwell.clone().unwrap_or_default();
            assert!(unwell.contains("two-0") && unwell.contains(said), "{said}: {unwell}");
        }
    }
}
