use std::path::PathBuf;
use std::{env, fs};

use serde_json::{Value, json};

use super::standing::{source_endpoints, storage};
use super::*;
use crate::controller::sample;

fn settings() -> Settings {
    Settings {
        etcd_image: Some("registry.example/etcd:v3.6.4".to_owned()),
        agent_image: "registry.example/etcd-warden:0.1.0".to_owned(),
    }
}

#[allow(clippy::needless_pass_by_value, reason = "specs are written where they are used")]
fn etcd(spec: Value) -> Etcd {
    let metadata = json!({"name": "main", "namespace": "shop", "uid": "5d1c"});
    let object = json!({"apiVersion": "v", "kind": "Etcd", "metadata": metadata, "spec": spec});
    Etcd::read(&serde_json::from_value(object).unwrap()).unwrap()
}

fn rendered(spec: Value, standing: &Standing) -> Vec<Rendered> {
    render(&etcd(spec), &settings(), standing).unwrap()
}

fn of(objects: &[Rendered], kind: Kind, name: &str) -> Value {
    objects.iter().find(|object| object.kind == kind && object.name == name).unwrap().object.clone()
}

fn tls(name: &str) -> Value {
    json!({
        "tlsCASecretRef": {"name": format!("{name}-ca"), "dataKey": "bundle.crt"},
        "serverTLSSecretRef": {"name": format!("{name}-server")},
        "clientTLSSecretRef": {"name": format!("{name}-client")},
    })
}

/// What is written down whole: a name, and the spec.
fn cases() -> Vec<(&'static str, Value)> {
    let source = json!({
        "members": [{"name": "src-1", "peerUrls": ["https://10.0.0.1:2380", "https://10.0.1.1:2380"]},
                    {"name": "src-0", "peerUrls": ["https://10.0.0.0:2380"]}],
        "clientEndpoints": ["https://src-client.other.svc:2379", "https://10.0.0.1:2379"]
    });
    vec![
        ("one", json!({"replicas": 1, "labels": {"app": "etcd"}})),
        ("three", json!({"replicas": 3, "labels": {}})),
        ("hibernated", json!({"replicas": 0})),
        ("peer-tls", json!({"replicas": 3, "etcd": {"peerUrlTls": tls("peer")}})),
        ("client-tls", json!({"replicas": 3, "etcd": {"clientUrlTls": tls("client")}})),
        (
            "join",
            json!({"replicas": 3, "memberNamePrefix": "p", "etcd": {
                "peerUrlTls": tls("peer"), "clientUrlTls": tls("client"), "bootstrapWithExistingCluster": source}}),
        ),
        (
            "settings",
            json!({
                "replicas": 3, "runAsRoot": true, "priorityClassName": "system-cluster-critical",
                "labels": {"app": "etcd", PART_OF: "mine"}, "annotations": {"note": "text"},
                "storageClass": "fast", "storageCapacity": "20Gi", "volumeClaimTemplate": "data",
                "sharedConfig": {"autoCompactionMode": "revision", "autoCompactionRetention": "1000"},
                "schedulingConstraints": {
                    "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}},
                    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]
                },
                "etcd": {
                    "quota": "4Gi", "snapshotCount": 75000, "serverPort": 3380, "clientPort": 3379, "wrapperPort": 3095,
                    "image": "registry.example/own:v3.5.30", "metrics": "extensive", "enableGRPCGateway": true,
                    "backendBboltFreelistType": "map", "resources": {"limits": {"cpu": 2, "memory": "1Gi"}},
                    "clientService": {"labels": {"team": "a"}, "annotations": {"b": "c"}, "trafficDistribution": "PreferSameZone"},
                    "additionalAdvertisePeerURLs": [{"memberName": "main-1", "urls": ["http://10.0.0.9:3380"]}]
                }
            }),
        ),
    ]
}

#[test]
fn objects_are_as_they_were_read_by_a_person() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/controller/render/snapshots");
    for (case, spec) in cases() {
        let objects: Vec<Value> =
            rendered(spec, &Standing::default()).into_iter().map(|object| object.object).collect();
        let written = format!("{}\n", serde_json::to_string_pretty(&objects).unwrap());
        let file = folder.join(format!("{case}.json"));
        if env::var_os("BLESS").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&file, &written).unwrap();
        }
        let known = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            known == written,
            "{case}: run BLESS=1 cargo test --lib controller::render, and read the difference"
        );
    }
}

/// A field that Kubernetes' own type doesn't have would be refused by the API server.
#[test]
fn every_field_is_kubernetes_own() {
    fn again<T: serde::de::DeserializeOwned + serde::Serialize>(object: &Value) -> Value {
        serde_json::to_value(serde_json::from_value::<T>(object.clone()).unwrap()).unwrap()
    }
    for object in cases().into_iter().flat_map(|(_, spec)| rendered(spec, &Standing::default())) {
        let read = match object.kind {
            Kind::ServiceAccount => again::<k8s_openapi::api::core::v1::ServiceAccount>(&object.object),
            Kind::Role => again::<k8s_openapi::api::rbac::v1::Role>(&object.object),
            Kind::RoleBinding => again::<k8s_openapi::api::rbac::v1::RoleBinding>(&object.object),
            Kind::ConfigMap => again::<k8s_openapi::api::core::v1::ConfigMap>(&object.object),
            Kind::Service => again::<k8s_openapi::api::core::v1::Service>(&object.object),
            Kind::PodDisruptionBudget => {
                again::<k8s_openapi::api::policy::v1::PodDisruptionBudget>(&object.object)
            }
            Kind::StatefulSet => again::<k8s_openapi::api::apps::v1::StatefulSet>(&object.object),
        };
        assert_eq!(read, object.object, "{}", object.name);
    }
}

/// Deletion in the foreground takes what is owned before the members could leave.
#[test]
fn what_a_leave_needs_has_no_owner() {
    let objects = rendered(json!({"replicas": 3}), &Standing::default());
    let owned: Vec<&str> = objects
        .iter()
        .filter(|object| object.object["metadata"].get("ownerReferences").is_some())
        .map(|object| object.name.as_str())
        .collect();
    assert_eq!(owned, ["main-client", "main"]);
    assert!(objects.iter().all(|object| object.object["metadata"]["annotations"][BELONGS_TO] == "5d1c"));
    assert!(of(&objects, Kind::StatefulSet, "main")["metadata"].get("ownerReferences").is_none());
}

/// Every field of the CRD changes what is rendered, or is named as not acted on; and none is both.
#[test]
fn no_field_is_silently_ignored() {
    let sample = sample::etcd();
    let spec = &sample["spec"];
    let before = rendered(spec.clone(), &Standing::default());
    for place in sample::places(spec, "spec") {
        let mut changed = spec.clone();
        let at = changed.pointer_mut(&place.pointer).unwrap();
        *at = other(at, &place.path);
        let acts = rendered(changed, &Standing::default()) != before;
        let named = crate::controller::supported::is_named(&place.path);
        assert!(acts != named, "{}: acted on: {acts}, named as not supported: {named}", place.path);
    }
}

fn other(value: &Value, path: &str) -> Value {
    match value {
        Value::String(text) if text == "2Gi" => "3Gi".into(),
        Value::String(_) => "other".into(),
        Value::Bool(value) => (!value).into(),
        Value::Number(_) => 4.into(),
        Value::Array(_) if path.ends_with("topologySpreadConstraints") => json!([]),
        Value::Array(_) => json!(["other"]),
        Value::Object(_) if path.ends_with("labels") || path.ends_with("annotations") => {
            json!({"key": "other"})
        }
        Value::Object(_) | Value::Null => json!({}),
    }
}

fn frozen(spec: &Value) -> (Standing, Vec<Rendered>) {
    let objects = rendered(spec.clone(), &Standing::default());
    let set = of(&objects, Kind::StatefulSet, "main");
    let frozen = Frozen::of(&of(&objects, Kind::ConfigMap, "main-config"), Some(&set));
    assert!(frozen.is_some());
    (Standing { frozen, storage: storage(&set), ..Standing::default() }, objects)
}

#[test]
fn registered_peer_urls_and_claims_stay() {
    let registered = json!({"replicas": 1, "etcd": {"peerUrlTls": tls("peer"), "additionalAdvertisePeerURLs": [
        {"memberName": "main-0", "urls": ["https://10.0.0.1:2380"]}]}});
    let (standing, before) = frozen(&registered);
    let changed = json!({"replicas": 1, "storageCapacity": "99Gi", "etcd": {"serverPort": 3380, "additionalAdvertisePeerURLs": [
        {"memberName": "main-0", "urls": ["http://10.0.0.7:2380"]}]}});
    assert_eq!(rendered(changed, &standing), before);
    // What a new member is registered with is the spec's.
    let grown = json!({"replicas": 3, "etcd": {"peerUrlTls": tls("peer"), "additionalAdvertisePeerURLs": [
        {"memberName": "main-2", "urls": ["https://10.0.0.2:2380"]}]}});
    let config = config(&etcd(grown), &standing).unwrap();
    assert_eq!(config.peer_urls(0)[1], "https://10.0.0.1:2380");
    assert_eq!(config.peer_urls(2)[1], "https://10.0.0.2:2380");
}

/// A claim template may bear any name.
#[test]
fn volumes_have_names_of_their_own() {
    for name in ["etcd-warden", "etcd-peer-ca", "etcd-client-tls"] {
        let spec = json!({"replicas": 1, "volumeClaimTemplate": name, "etcd": {"peerUrlTls": tls("peer"), "clientUrlTls": tls("client")}});
        let set = of(&rendered(spec, &Standing::default()), Kind::StatefulSet, "main");
        let pod = &set["spec"]["template"]["spec"];
        let volumes = pod["volumes"].as_array().unwrap().iter().map(|volume| volume["name"].clone());
        let mut names: Vec<String> = volumes.map(|name| name.as_str().unwrap().to_owned()).collect();
        names.push(name.to_owned());
        let mounts = pod["containers"][0]["volumeMounts"].as_array().unwrap();
        assert!(mounts.iter().all(|mount| names.iter().any(|name| mount["name"] == **name)), "{name}");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 7, "{names:?}");
    }
}

#[test]
fn secrets_of_peers_may_be_replaced() {
    let (standing, before) = frozen(&json!({"replicas": 1, "etcd": {"peerUrlTls": tls("peer")}}));
    let replaced = rendered(json!({"replicas": 1, "etcd": {"peerUrlTls": tls("new")}}), &standing);
    assert_ne!(of(&replaced, Kind::StatefulSet, "main"), of(&before, Kind::StatefulSet, "main"));
}

#[test]
fn after_the_join_nothing_depends_on_its_source() {
    let source = |endpoint: &str| {
        json!({"replicas": 1, "etcd": {"bootstrapWithExistingCluster": {
            "members": [{"name": "src-0", "peerUrls": ["http://10.0.0.1:2380"]}], "clientEndpoints": [endpoint]}}})
    };
    let before = rendered(source("http://a:2379"), &Standing::default());
    let set = of(&before, Kind::StatefulSet, "main");
    let standing = Standing {
        is_joined: true,
        source_endpoints: source_endpoints(&set),
        sources: 1,
        ..Standing::default()
    };
    for spec in [source("http://a:2379"), source("http://b:2379"), json!({"replicas": 1})] {
        let after = rendered(spec, &standing);
        assert_eq!(of(&after, Kind::StatefulSet, "main"), set);
        let config = of(&after, Kind::ConfigMap, "main-config")["data"]["member.json"].clone();
        assert!(!config.as_str().unwrap().contains("src-0"), "{config}");
    }
}

#[test]
fn a_new_number_of_members_restarts_none() {
    let of = |replicas: u32| {
        let objects = rendered(json!({"replicas": replicas}), &Standing::default());
        of(&objects, Kind::StatefulSet, "main")["spec"]["template"].clone()
    };
    assert_eq!(of(1), of(3));
}

#[test]
fn what_can_not_be_rendered_is_named_with_the_remedy() {
    let none = Settings { etcd_image: None, ..settings() };
    let error = render(&etcd(json!({"replicas": 1})), &none, &Standing::default()).unwrap_err();
    assert!(error.to_string().contains("spec.etcd.image") && error.to_string().contains("--etcd-image"));
    for quota in ["none", "0", "500m", "-1Gi"] {
        let error =
            render(&etcd(json!({"etcd": {"quota": quota}})), &settings(), &Standing::default()).unwrap_err();
        assert_eq!(error, Unrenderable::Size { field: "spec.etcd.quota", value: quota.to_owned() });
    }
}

#[test]
fn every_object_is_known_by_name() {
    let objects = rendered(json!({"replicas": 3}), &Standing::default());
    let mut known = names("main");
    known.retain(|(kind, name)| (*kind, name.as_str()) != (Kind::ConfigMap, "main-cluster"));
    assert_eq!(objects.into_iter().map(|object| (object.kind, object.name)).collect::<Vec<_>>(), known);
}
