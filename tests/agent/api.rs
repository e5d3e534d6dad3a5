//! A small API server in memory: pods and config maps by name, patches that are checked by resource version.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use etcd_warden::member::{MEMBER, Report};
use serde_json::{Value, json};
use tokio::net::TcpListener;

#[derive(Clone, Default)]
pub struct Api(Arc<Mutex<Store>>);

#[derive(Default)]
struct Store {
    version: u64,
    /// By plural and name.
    objects: BTreeMap<(String, String), Value>,
    writes: u64,
    /// What was written of one annotation after the other, by pod.
    written: Vec<(String, String)>,
    away: bool,
}

type Name = Path<(String, String, String)>;

impl Api {
    /// Serves on a port of the system's choice, for as long as the runtime lasts.
    pub async fn serve() -> (Self, SocketAddr) {
        let api = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let object = get(read).patch(patch);
        let router = Router::new().route("/api/v1/namespaces/{namespace}/{plural}/{name}", object);
        let router = router.with_state(api.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (api, address)
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.0.lock().unwrap()
    }

    /// Whether it answers nothing but errors.
    pub fn set_away(&self, away: bool) {
        self.store().away = away;
    }

    /// Number of writes by others than the test.
    pub fn writes(&self) -> u64 {
        self.store().writes
    }

    /// Every report that a pod has ever written.
    pub fn reports(&self, pod: &str) -> Vec<Report> {
        let store = self.store();
        let of_pod = store.written.iter().filter(|(name, _)| name == pod);
        of_pod.map(|(_, text)| Report::read(text).unwrap()).collect()
    }

    pub fn put_pod(&self, name: &str, uid: &str) {
        let metadata = json!({ "name": name, "namespace": "shop", "uid": uid, "annotations": {} });
        self.put("pods", name, json!({ "metadata": metadata }));
    }

    pub fn put_map(&self, name: &str, data: &BTreeMap<String, String>) {
        self.put(
            "configmaps",
            name,
            json!({ "metadata": { "name": name, "namespace": "shop" }, "data": data }),
        );
    }

    fn put(&self, plural: &str, name: &str, mut object: Value) {
        let mut store = self.store();
        store.version += 1;
        object["metadata"]["resourceVersion"] = store.version.to_string().into();
        store.objects.insert((plural.to_owned(), name.to_owned()), object);
    }

    pub fn forget(&self, plural: &str, name: &str) {
        self.store().objects.remove(&(plural.to_owned(), name.to_owned()));
    }

    pub fn annotation(&self, pod: &str, name: &str) -> Option<String> {
        let store = self.store();
        let pod = store.objects.get(&("pods".to_owned(), pod.to_owned()))?;
        pod["metadata"]["annotations"][name].as_str().map(str::to_owned)
    }

    pub fn annotate(&self, pod: &str, name: &str, value: &str) {
        let mut store = self.store();
        store.version += 1;
        let version = store.version.to_string();
        let pod = store.objects.get_mut(&("pods".to_owned(), pod.to_owned())).unwrap();
        pod["metadata"]["annotations"][name] = value.into();
        pod["metadata"]["resourceVersion"] = version.into();
    }
}

type Answer = (StatusCode, [(&'static str, &'static str); 1], String);

fn answer(code: StatusCode, body: &Value) -> Answer {
    (code, [("content-type", "application/json")], body.to_string())
}

fn status(code: StatusCode) -> Answer {
    let text = code.canonical_reason().unwrap();
    let reason = text.replace(' ', "");
    let body = json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "message": text, "reason": reason,
        "code": code.as_u16(),
    });
    answer(code, &body)
}

fn typed(plural: &str, object: &Value) -> Value {
    // Pods are asked for by their metadata only.
    let (group, kind) =
        if plural == "pods" { ("meta.k8s.io/v1", "PartialObjectMetadata") } else { ("v1", "ConfigMap") };
    let mut object = object.clone();
    object["apiVersion"] = group.into();
    object["kind"] = kind.into();
    object
}

async fn read(State(api): State<Api>, Path((_, plural, name)): Name) -> Answer {
    let store = api.store();
    if store.away {
        return status(StatusCode::SERVICE_UNAVAILABLE);
    }
    match store.objects.get(&(plural.clone(), name)) {
        Some(object) => answer(StatusCode::OK, &typed(&plural, object)),
        None => status(StatusCode::NOT_FOUND),
    }
}

async fn patch(State(api): State<Api>, Path((_, plural, name)): Name, body: Bytes) -> Answer {
    let mut store = api.store();
    if store.away {
        return status(StatusCode::SERVICE_UNAVAILABLE);
    }
    let patch: Value = serde_json::from_slice(&body).unwrap();
    let version = (store.version + 1).to_string();
    let Some(object) = store.objects.get_mut(&(plural.clone(), name.clone())) else {
        return status(StatusCode::NOT_FOUND);
    };
    for checked in ["uid", "resourceVersion"] {
        let wanted = &patch["metadata"][checked];
        if !wanted.is_null() && *wanted != object["metadata"][checked] {
            return status(StatusCode::CONFLICT);
        }
    }
    json_patch::merge(object, &patch);
    object["metadata"]["resourceVersion"] = version.into();
    let written = typed(&plural, object);
    store.version += 1;
    store.writes += 1;
    if let Some(report) = patch["metadata"]["annotations"][MEMBER].as_str() {
        store.written.push((name, report.to_owned()));
    }
    answer(StatusCode::OK, &written)
}
