//! The project's fixtures as requests to an API server.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// One fixture that an API server could have sent.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its folder: a rule, a warning, or a kind of oddity.
    pub folder: String,
    /// Its file, without the ending.
    pub name: String,
    /// Whether the rules accept it.
    pub accepted: bool,
    pub operation: String,
    /// `""`, `/status` or `/scale`.
    pub subresource: String,
    pub namespace: String,
    pub object_name: String,
    pub object: Value,
    pub old: Value,
    pub user: Value,
    /// Flags of the server that judges it.
    pub flags: Vec<String>,
}

/// Folders of reviews that no API server sends.
const UNSENT: [&str; 2] = ["malformed", "wrong-registration"];

impl Case {
    /// All that are judged by /validate, and name an object where their operation needs one.
    pub fn all() -> Vec<Self> {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        let sent = |path: &PathBuf| !UNSENT.iter().any(|folder| path.ends_with(folder));
        let judged = |path: &PathBuf| path.is_dir() && !path.join("HOOK").exists() && sent(path);
        let folders = listed(&fixtures).into_iter().filter(judged);
        folders.flat_map(|folder| listed(&folder)).filter_map(|file| Self::read(&file)).collect()
    }

    fn read(file: &Path) -> Option<Self> {
        let name =
            file.file_name()?.to_str()?.strip_suffix(".json").filter(|name| !name.ends_with(".answer"))?;
        let folder = file.parent()?;
        let review: Value = serde_json::from_str(&fs::read_to_string(file).ok()?).ok()?;
        let request = &review["request"];
        let (resource, version) = (&request["resource"]["resource"], &request["resource"]["version"]);
        if resource != "etcds" || version != "v1alpha1" || review["apiVersion"] != "admission.k8s.io/v1" {
            return None;
        }
        let (object, old) = (request["object"].clone(), request["oldObject"].clone());
        let operation = request["operation"].as_str()?.to_owned();
        let there = match operation.as_str() {
            "CREATE" => object["metadata"].is_object(),
            "UPDATE" => object.is_object() && old["metadata"].is_object(),
            "DELETE" => old["metadata"].is_object(),
            _ => false,
        };
        let subresource = request["subResource"].as_str().unwrap_or_default();
        let subresource = if subresource.is_empty() { String::new() } else { format!("/{subresource}") };
        there.then(|| Self {
            folder: folder.file_name().unwrap().to_str().unwrap().to_owned(),
            name: name.to_owned(),
            accepted: name.starts_with("accepted"),
            operation,
            subresource,
            namespace: request["namespace"].as_str().unwrap_or("default").to_owned(),
            object_name: request["name"]
                .as_str()
                .or_else(|| old["metadata"]["name"].as_str())
                .unwrap_or_default()
                .to_owned(),
            object,
            old,
            user: request["userInfo"].clone(),
            flags: flags(folder),
        })
    }

    /// What is to be written, as somebody would write it.
    pub fn written(&self) -> Value {
        let mut object = without_what_the_server_fills_in(&self.object);
        if self.object["metadata"]["namespace"].is_string() {
            object["metadata"]["namespace"] = json!(self.namespace);
        }
        object
    }

    /// The stored object. Of a Scale, the smallest Etcd that has it.
    pub fn stored(&self) -> Value {
        let mut stored = without_what_the_server_fills_in(&self.old);
        if self.subresource == "/scale" {
            stored = json!({
                "kind": "Etcd",
                "metadata": stored["metadata"],
                "spec": {"labels": {}, "etcd": {}, "backup": {}, "replicas": self.old["spec"]["replicas"]},
            });
        }
        stored["metadata"]["namespace"] = json!(self.namespace);
        stored["metadata"]["name"] = json!(self.object_name);
        stored
    }

    /// Whether the server only warns of what it would refuse otherwise.
    pub fn only_warns(&self) -> bool {
        self.flags.iter().any(|flag| flag == "--enforcement")
    }

    /// Whether deletion of the stored object was asked for.
    pub fn is_terminating(&self) -> bool {
        self.old["metadata"]["deletionTimestamp"].is_string()
    }
}

fn listed(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn flags(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("FLAGS")).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// As somebody would have written it.
pub(super) fn without_what_the_server_fills_in(object: &Value) -> Value {
    let mut object = object.clone();
    for field in [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "generation",
        "managedFields",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        object["metadata"].as_object_mut().unwrap().remove(field);
    }
    object
}
