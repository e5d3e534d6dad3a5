//! A small API server in memory: objects by path, resource versions, watches, labels, apply (of CA bundles, and of what
//! a loop renders), deletion that finalizers hold, and permissions that can be taken away.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::broadcast;

/// Longest body that is read.
const BODY: usize = 1 << 22;

#[derive(Clone)]
pub struct Api(Arc<Inner>);

struct Inner {
    state: Mutex<Store>,
    events: broadcast::Sender<(String, Value)>,
}

#[derive(Default)]
struct Store {
    version: u64,
    /// By path, such as `/api/v1/namespaces/warden/secrets/ca`.
    objects: BTreeMap<String, Value>,
    /// Verb and plural of what is not allowed.
    forbidden: BTreeSet<(String, String)>,
    /// Verb, path and body of every write that was accepted.
    writes: Vec<String>,
}

/// A port that is taken and refuses connections until somebody listens.
pub struct Reserved(TcpSocket);

impl Reserved {
    pub fn new() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        Self(socket)
    }

    pub fn address(&self) -> SocketAddr {
        self.0.local_addr().unwrap()
    }

    pub fn listen(self) -> Api {
        Api::on(self.0.listen(64).unwrap())
    }
}

/// A kubeconfig for an API server at an address.
pub fn kubeconfig(directory: &std::path::Path, address: SocketAddr) -> PathBuf {
    let path = directory.join("kubeconfig");
    let text = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "c", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c", "namespace": "warden"}}]
    });
    std::fs::write(&path, text.to_string()).unwrap();
    path
}

impl Api {
    fn on(listener: TcpListener) -> Self {
        let (events, _) = broadcast::channel(1024);
        let api = Self(Arc::new(Inner { state: Mutex::default(), events }));
        let app = Router::new().fallback(answer).with_state(api.clone());
        tokio::spawn(async { axum::serve(listener, app).await });
        api
    }

    fn state(&self) -> MutexGuard<'_, Store> {
        self.0.state.lock().unwrap()
    }

    pub fn get(&self, path: &str) -> Option<Value> {
        self.state().objects.get(path).cloned()
    }

    /// As somebody else would.
    pub fn put(&self, path: &str, object: Value) {
        self.state().store(path, object, &self.0.events);
    }

    /// As somebody else would, in part.
    pub fn change(&self, path: &str, change: impl FnOnce(&mut Value)) {
        let mut state = self.state();
        let mut object = state.objects.get(path).cloned().unwrap();
        change(&mut object);
        state.store(path, object, &self.0.events);
    }

    pub fn delete(&self, path: &str) {
        let mut state = self.state();
        state.version += 1;
        if let Some(mut object) = state.objects.remove(path) {
            object["metadata"]["resourceVersion"] = json!(state.version.to_string());
            let _ = self.0.events.send((path.to_owned(), json!({"type": "DELETED", "object": object})));
        }
    }

    pub fn forbid(&self, verb: &str, plural: &str) {
        self.state().forbidden.insert((verb.to_owned(), plural.to_owned()));
    }

    pub fn allow_all(&self) {
        self.state().forbidden.clear();
    }

    pub fn writes(&self, part: &str) -> usize {
        self.writes_since(0, part).len()
    }

    /// Verb, path and body of what was written to paths with a part after so many of them.
    pub fn writes_since(&self, count: usize, part: &str) -> Vec<String> {
        let of_part = |write: &&String| write.split(": ").next().is_some_and(|path| path.contains(part));
        self.state().writes.iter().filter(of_part).skip(count).cloned().collect()
    }

    /// Every object below a path, such as the events of a namespace.
    pub fn below(&self, path: &str) -> Vec<Value> {
        let state = self.state();
        state.objects.iter().filter(|(at, _)| at.contains(path)).map(|(_, object)| object.clone()).collect()
    }
}

impl Store {
    fn store(&mut self, path: &str, mut object: Value, events: &broadcast::Sender<(String, Value)>) -> Value {
        self.version += 1;
        let kind = if self.objects.contains_key(path) { "MODIFIED" } else { "ADDED" };
        let uid = self.objects.get(path).map_or_else(
            || json!(format!("uid-{}", self.version)),
            |stored| stored["metadata"]["uid"].clone(),
        );
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        object["metadata"]["uid"] = uid;
        self.objects.insert(path.to_owned(), object.clone());
        // Nobody may be watching.
        let _ = events.send((path.to_owned(), json!({"type": kind, "object": object})));
        object
    }
}

/// What a path is about.
struct Place {
    path: String,
    plural: String,
    name: Option<String>,
}

impl Place {
    fn of(path: &str) -> Self {
        let mut parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        parts.drain(..if parts[0] == "api" { 2 } else { 3 });
        if parts[0] == "namespaces" && parts.len() > 2 {
            parts.drain(..2);
        }
        let name = parts.get(1).map(|name| (*name).to_owned());
        let path = path.trim_end_matches("/status");
        Self { path: path.to_owned(), plural: parts[0].to_owned(), name }
    }

    /// Whether an object's path is of this list, in whichever namespace.
    fn lists(&self, path: &str) -> bool {
        path.contains(&format!("/{}/", self.plural))
    }
}

async fn answer(State(api): State<Api>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let query = head.uri.query().unwrap_or_default().to_owned();
    let place = Place::of(head.uri.path());
    let watches = query.contains("watch=true");
    let verb = match (&head.method, &place.name) {
        (&Method::GET, Some(_)) => "get",
        (&Method::GET, None) if watches => "watch",
        (&Method::GET, None) => "list",
        (&Method::POST, _) => "create",
        (&Method::PUT, _) => "update",
        (&Method::DELETE, _) => "delete",
        _ => "patch",
    };
    if api.state().forbidden.contains(&(verb.to_owned(), place.plural.clone())) {
        return failure(403, &format!("user \"test\" cannot {verb} {}", place.plural));
    }
    let body = to_bytes(body, BODY).await.unwrap();
    match verb {
        "get" => api.get(&place.path).map_or_else(|| failure(404, "not found"), |object| json_of(&object)),
        "list" => list(&api, &place, &query),
        "watch" => watch(&api, place, &query),
        "delete" => remove(&api, &place, &body),
        _ => write(&api, verb, &place, &body),
    }
}

/// A deletion by UID, held by finalizers.
fn remove(api: &Api, place: &Place, body: &[u8]) -> Response {
    let Some(mut object) = api.get(&place.path) else { return failure(404, "not found") };
    let options: Value = serde_json::from_slice(body).unwrap_or_default();
    let uid = &options["preconditions"]["uid"];
    if !uid.is_null() && *uid != object["metadata"]["uid"] {
        return failure(409, "another object");
    }
    api.state().writes.push(format!("delete {}", place.path));
    if object["metadata"]["finalizers"].as_array().is_some_and(|list| !list.is_empty()) {
        object["metadata"]["deletionTimestamp"] = json!("2026-11-29T20:00:00Z");
        api.put(&place.path, object.clone());
    } else {
        api.delete(&place.path);
    }
    json_of(&object)
}

/// Whether an object is one that a query's field selector asks for.
fn selected(query: &str, path: &str, object: &Value) -> bool {
    let wanted = query.split('&').find_map(|pair| pair.strip_prefix("fieldSelector="));
    let wanted = wanted.unwrap_or_default().replace("%3D", "=").replace("%2C", ",");
    wanted.split(',').filter_map(|field| field.split_once('=')).all(|(field, value)| match field {
        "metadata.name" => path.ends_with(&format!("/{value}")),
        _ => object.pointer(&format!("/{}", field.replace('.', "/"))).is_some_and(|found| found == value),
    })
}

/// Whether an object bears the labels that a query asks for.
fn labelled(query: &str, object: &Value) -> bool {
    let wanted = query.split('&').find_map(|pair| pair.strip_prefix("labelSelector="));
    let wanted = wanted.unwrap_or_default().replace("%3D", "=").replace("%2C", ",").replace("%2F", "/");
    wanted
        .split(',')
        .filter_map(|label| label.split_once('='))
        .all(|(key, value)| object["metadata"]["labels"][key] == value)
}

fn list(api: &Api, place: &Place, query: &str) -> Response {
    let state = api.state();
    // As a real one: what is in a list doesn't say of what kind it is.
    let bare = |object: &Value| {
        let mut object = object.clone();
        object.as_object_mut().unwrap().retain(|field, _| field != "kind" && field != "apiVersion");
        object
    };
    let items: Vec<Value> = state
        .objects
        .iter()
        .filter(|(path, object)| {
            place.lists(path) && selected(query, path, object) && labelled(query, object)
        })
        .map(|(_, object)| bare(object))
        .collect();
    json_of(&json!({
        "kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": state.version.to_string()}, "items": items
    }))
}

fn watch(api: &Api, place: Place, query: &str) -> Response {
    let since: u64 = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("resourceVersion="))
        .and_then(|version| version.parse().ok())
        .unwrap_or_default();
    let query = query.to_owned();
    // What was changed between the list and the watch comes first.
    let (receiver, missed) = {
        let state = api.state();
        let newer = |object: &Value| {
            object["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap() > since
        };
        let missed: Vec<(String, Value)> = state
            .objects
            .iter()
            .filter(|(_, object)| newer(object))
            .map(|(path, object)| (path.clone(), json!({"type": "MODIFIED", "object": object})))
            .collect();
        (api.0.events.subscribe(), missed)
    };
    let events = stream::unfold((missed.into_iter(), receiver), move |(mut missed, mut receiver)| {
        let (place, query) = (Place::of(&place.path), query.clone());
        async move {
            loop {
                let (path, event) = match missed.next() {
                    Some(event) => event,
                    None => receiver.recv().await.ok()?,
                };
                if place.lists(&path)
                    && selected(&query, &path, &event["object"])
                    && labelled(&query, &event["object"])
                {
                    // In the order of a real one: the type comes first.
                    let line = format!("{{\"type\":{},\"object\":{}}}\n", event["type"], event["object"]);
                    let line = Bytes::from(line);
                    return Some((Ok::<_, std::io::Error>(line), (missed, receiver)));
                }
            }
        }
    });
    Body::from_stream(events).into_response()
}

fn write(api: &Api, verb: &str, place: &Place, body: &[u8]) -> Response {
    let sent: Value = serde_json::from_slice(body).unwrap();
    let mut state = api.state();
    let name = sent["metadata"]["name"].as_str().unwrap_or_default();
    let path = if verb == "create" { format!("{}/{name}", place.path) } else { place.path.clone() };
    let stored = state.objects.get(&path).cloned();
    let object = match (verb, stored) {
        ("create", Some(_)) => return failure(409, "already exists"),
        ("create", None) => sent.clone(),
        // An apply creates what it names; a merge patch names no kind.
        ("patch", None) if !sent["kind"].is_null() => sent.clone(),
        (_, None) => return failure(404, "not found"),
        ("patch", Some(stored)) if differs(&sent, &stored) => {
            return failure(409, "the object has been modified");
        }
        ("update", Some(stored))
            if sent["metadata"]["resourceVersion"] != stored["metadata"]["resourceVersion"] =>
        {
            return failure(409, "the object has been modified");
        }
        ("update", Some(_)) => sent.clone(),
        (_, Some(stored)) => applied(stored, &sent),
    };
    state.writes.push(format!("{verb} {path}: {sent}"));
    let object = state.store(&path, object, &api.0.events);
    let deleted = !object["metadata"]["deletionTimestamp"].is_null();
    if deleted && object["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty) {
        drop(state);
        api.delete(&path);
    }
    json_of(&object)
}

/// Whether a patch is for another object, or for another version of it.
fn differs(sent: &Value, stored: &Value) -> bool {
    ["resourceVersion", "uid"].iter().any(|field| {
        let wanted = &sent["metadata"][field];
        !wanted.is_null() && *wanted != stored["metadata"][field]
    })
}

/// Server-side apply of what this project applies, and the merge patch of an event that came again.
fn applied(mut stored: Value, sent: &Value) -> Value {
    if sent["webhooks"].is_null() {
        json_patch::merge(&mut stored, sent);
        return stored;
    }
    assert_eq!(sent["metadata"]["uid"], stored["metadata"]["uid"], "made for another object");
    for hook in sent["webhooks"].as_array().unwrap() {
        let hooks = stored["webhooks"].as_array_mut().unwrap();
        let into = hooks.iter_mut().find(|into| into["name"] == hook["name"]).unwrap();
        into["clientConfig"]["caBundle"] = hook["clientConfig"]["caBundle"].clone();
    }
    stored
}

fn failure(code: u16, message: &str) -> Response {
    let reason = match code {
        403 => "Forbidden",
        404 => "NotFound",
        _ => "Conflict",
    };
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "reason": reason, "code": code
    });
    (StatusCode::from_u16(code).unwrap(), json_of(&status)).into_response()
}

fn json_of(value: &Value) -> Response {
    ([("content-type", "application/json")], value.to_string()).into_response()
}
