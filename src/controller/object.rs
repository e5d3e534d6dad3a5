//! An Etcd as the loop has it at hand.

use std::collections::BTreeMap;

use kube::core::DynamicObject;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::spec::Spec;
use super::status::Status;
use crate::etcd::{ALLOW_QUORUM_LOSS, LEAVE_FINALIZER};

/// An Etcd.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Etcd {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its identity.
    pub uid: String,
    /// Number of changes of its spec.
    pub generation: i64,
    /// Its version.
    pub resource_version: String,
    /// Whether deletion was asked for.
    pub is_terminating: bool,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// What must be done before it goes.
    pub finalizers: Vec<String>,
    /// The cluster as it is wanted.
    pub spec: Spec,
    /// The cluster as it was last seen.
    pub status: Status,
    /// Paths in the spec that this version doesn't know: a later CRD's.
    pub unknown: Vec<String>,
}

/// An Etcd that can't be read: the CRD that is installed takes what this loop doesn't.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{part} can't be read: {cause}: correct it, or install the CRD of this version (etcd-warden crd)")]
pub struct Unreadable {
    part: &'static str,
    cause: String,
}

impl Etcd {
    /// Reads an object of the API server.
    pub fn read(object: &DynamicObject) -> Result<Self, Unreadable> {
        let metadata = object.metadata.clone();
        let raw = object.data.get("spec").cloned().unwrap_or_default();
        let spec: Spec = part("spec", raw.clone())?;
        let status = part("status", object.data.get("status").cloned().unwrap_or_default())?;
        let mut unknown = Vec::new();
        unread(&raw, &serde_json::to_value(&spec).unwrap_or_default(), "spec", &mut unknown);
        Ok(Self {
            name: metadata.name.unwrap_or_default(),
            namespace: metadata.namespace.unwrap_or_default(),
            uid: metadata.uid.unwrap_or_default(),
            generation: metadata.generation.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
            is_terminating: metadata.deletion_timestamp.is_some(),
            annotations: metadata.annotations.unwrap_or_default(),
            finalizers: metadata.finalizers.unwrap_or_default(),
            spec,
            status,
            unknown,
        })
    }

    /// Name of a member, as etcd knows it.
    pub fn member(&self, ordinal: u32) -> String {
        match &self.spec.member_name_prefix {
            Some(prefix) => format!("{prefix}-{}-{ordinal}", self.name),
            None => format!("{}-{ordinal}", self.name),
        }
    }

    /// Whether the loop's finalizer holds it.
    pub fn is_held(&self) -> bool {
        self.finalizers.iter().any(|finalizer| finalizer == LEAVE_FINALIZER)
    }

    /// Whether its administrator gives up the quorum of the combined cluster.
    pub fn gives_up_quorum(&self) -> bool {
        self.annotations.get(ALLOW_QUORUM_LOSS).is_some_and(|value| value == "true")
    }
}

fn part<T: DeserializeOwned + Default>(part: &'static str, value: Value) -> Result<T, Unreadable> {
    if value.is_null() {
        return Ok(T::default());
    }
    // A field that is `null` is the same as absent.
    serde_json::from_value(without_nulls(value))
        .map_err(|error| Unreadable { part, cause: error.to_string() })
}

/// The API server takes a `null` where a field has no place for one as an error.
pub(super) fn without_nulls(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key, without_nulls(value)))
            .collect(),
        other => other,
    }
}

/// What stands in `raw` and was lost when it was read.
fn unread(raw: &Value, read: &Value, path: &str, found: &mut Vec<String>) {
    let Value::Object(fields) = raw else { return };
    for (key, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
        let path = format!("{path}.{key}");
        match read.get(key) {
            // What is empty needn't be written back.
            None if is_empty(value) => {}
            None => found.push(path),
            Some(read) => unread(value, read, &path, found),
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::controller::sample;

    fn object(spec: &Value, status: &Value) -> DynamicObject {
        let object = json!({"apiVersion": "v", "kind": "Etcd", "metadata": {"name": "main"}, "spec": spec, "status": status});
        serde_json::from_value(object).unwrap()
    }

    fn read(spec: &Value, status: &Value) -> Result<Etcd, Unreadable> {
        Etcd::read(&object(spec, status))
    }

    #[test]
    fn every_field_of_the_crd_is_read_and_no_other_is_known() {
        let sample = sample::etcd();
        let etcd = read(&sample["spec"], &sample["status"]).unwrap();
        assert_eq!(etcd.unknown, Vec::<String>::new());
        assert_eq!(serde_json::to_value(&etcd.spec).unwrap(), sample["spec"]);
        assert_eq!(serde_json::to_value(&etcd.status).unwrap(), sample["status"]);
    }

    #[test]
    fn nulls_are_absent_and_later_fields_are_named() {
        let spec = json!({
            "replicas": 3, "selector": null, "labels": null, "later": {}, "more": 1,
            "etcd": {"quota": 5, "resources": {"limits": {"cpu": 1}}, "metrix": "basic", "clientService": {"x": [1]}}
        });
        let etcd = read(&spec, &Value::Null).unwrap();
        assert_eq!(etcd.unknown, ["spec.etcd.clientService.x", "spec.etcd.metrix", "spec.more"]);
        let limits = etcd.spec.etcd.resources.unwrap().limits.unwrap();
        assert_eq!(limits["cpu"].0, "1");
    }

    #[test]
    fn what_can_not_be_read_is_named_with_the_remedy() {
        let error = read(&json!({"replicas": "three"}), &Value::Null).unwrap_err().to_string();
        assert!(error.starts_with("spec can't be read: ") && error.contains("etcd-warden crd"), "{error}");
    }
}
