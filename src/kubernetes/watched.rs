//! An Etcd as a watch brings it, stripped to what rules read.
//!
//! Nothing that stands in an object can end the watch: it is taken apart level by level, and what isn't read is never
//! parsed.

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::NamespaceResourceScope;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::etcd::{self, Metadata, Spec, Status};

/// Annotations with another prefix are read by no rule.
const ANNOTATIONS: &str = "etcd-warden.dev/";

/// One object of a watch.
#[derive(Clone, Debug, Default)]
pub(super) struct Watched {
    /// Name, namespace, uid and version; nothing else.
    metadata: ObjectMeta,
    /// What rules read of it, as JSON.
    json: String,
}

impl Watched {
    pub(super) fn of(json: &str) -> Self {
        let object = fields(json);
        let metadata = object.get("metadata").map(|raw| fields(raw.get())).unwrap_or_default();
        let text = |name: &str| metadata.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok());
        Self {
            metadata: ObjectMeta {
                name: text("name"),
                namespace: text("namespace"),
                uid: text("uid"),
                resource_version: text("resourceVersion"),
                ..ObjectMeta::default()
            },
            json: kept(&object),
        }
    }

    /// Namespace and name; nothing for what isn't called anything.
    pub(super) fn key(&self) -> Option<(&str, &str)> {
        Some((self.metadata.namespace.as_deref()?, self.metadata.name.as_deref()?))
    }

    pub(super) fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    pub(super) fn version(&self) -> &str {
        self.metadata.resource_version.as_deref().unwrap_or_default()
    }

    pub(super) fn json(&self) -> &str {
        &self.json
    }
}

type Fields<'a> = BTreeMap<String, &'a RawValue>;

/// The fields of an object, unread; none of what is no object.
fn fields(json: &str) -> Fields<'_> {
    serde_json::from_str(json).unwrap_or_default()
}

#[derive(Serialize)]
struct Kept<'a> {
    metadata: Fields<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spec: Option<Part<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Part<'a>>,
}

/// An object's known fields, or whatever stands in its place.
#[derive(Serialize)]
#[serde(untagged)]
enum Part<'a> {
    Known(Fields<'a>),
    Other(&'a RawValue),
}

fn kept(object: &Fields<'_>) -> String {
    let metadata = object.get("metadata").map(|raw| fields(raw.get())).unwrap_or_default();
    let annotations = metadata.get("annotations").map(|raw| own(fields(raw.get())));
    let mut metadata = known(metadata, Metadata::FIELDS);
    metadata.remove("annotations");
    let annotations = annotations.filter(|own| !own.is_empty()).and_then(|own| raw(&own));
    if let Some(annotations) = &annotations {
        metadata.insert("annotations".to_owned(), annotations);
    }
    let kept = Kept {
        metadata,
        spec: object.get("spec").map(|raw| part(raw, Spec::FIELDS)),
        status: object.get("status").map(|raw| part(raw, Status::FIELDS)),
    };
    // Raw values always serialise.
    serde_json::to_string(&kept).unwrap_or_default()
}

fn raw(fields: &Fields<'_>) -> Option<Box<RawValue>> {
    serde_json::value::to_raw_value(fields).ok()
}

fn own(mut annotations: Fields<'_>) -> Fields<'_> {
    annotations.retain(|key, _| key.starts_with(ANNOTATIONS));
    annotations
}

fn part<'a>(raw: &'a RawValue, names: &[(&str, &str)]) -> Part<'a> {
    match serde_json::from_str::<Fields<'a>>(raw.get()) {
        Ok(fields) => Part::Known(known(fields, names)),
        Err(_) => Part::Other(raw),
    }
}

fn known<'a>(mut fields: Fields<'a>, names: &[(&str, &str)]) -> Fields<'a> {
    fields.retain(|field, _| names.iter().any(|(_, name)| name == field));
    fields
}

impl<'de> Deserialize<'de> for Watched {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(|raw| Self::of(raw.get()))
    }
}

impl Resource for Watched {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        etcd::KIND.into()
    }

    fn group((): &()) -> Cow<'_, str> {
        etcd::GROUP.into()
    }

    fn version((): &()) -> Cow<'_, str> {
        etcd::VERSION.into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        etcd::RESOURCE.into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_rule_reads_is_not_kept() {
        let watched = Watched::of(
            r#"{"apiVersion":"druid.gardener.cloud/v1alpha1","kind":"Etcd",
                "metadata":{"name":"main","namespace":"shop","uid":"u","resourceVersion":"7","managedFields":[{"a":1}],
                  "annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","etcd-warden.dev/x":"true"}},
                "spec":{"replicas":3,"unknown":{"b":2}},"status":{"members":[{"name":"m"}],"conditions":[],"peerUrlTLSEnabled":true}}"#,
        );
        assert_eq!(watched.key(), Some(("shop", "main")));
        assert_eq!((watched.uid(), watched.version()), ("u", "7"));
        assert_eq!(
            watched.json(),
            r#"{"metadata":{"annotations":{"etcd-warden.dev/x":"true"},"name":"main","namespace":"shop","resourceVersion":"7","uid":"u"},"spec":{"replicas":3},"status":{"conditions":[],"members":[{"name":"m"}]}}"#
        );
    }

    #[derive(Deserialize)]
    struct List {
        items: Vec<Watched>,
    }

    #[test]
    fn an_odd_object_is_read_as_far_as_it_goes() {
        let deep = format!("{}1{}", r#"{"a":"#.repeat(500), "}".repeat(500));
        for (spec, kept) in [("3", "3"), ("[1]", "[1]"), (r#"{"replicas":"x"}"#, r#"{"replicas":"x"}"#)] {
            let json = format!(r#"{{"metadata":{{"name":"m","namespace":"n","labels":3}},"spec":{spec}}}"#);
            let watched = Watched::of(&json);
            assert_eq!(watched.key(), Some(("n", "m")));
            assert!(watched.json().ends_with(&format!(r#""spec":{kept}}}"#)), "{}", watched.json());
        }
        let json = format!(
            r#"{{"items":[{{"metadata":{{"name":"m","namespace":"n"}},"spec":{{"etcd":{deep},"other":{deep}}}}},3]}}"#
        );
        let items = serde_json::from_str::<List>(&json).unwrap().items;
        assert_eq!(items.iter().map(Watched::key).collect::<Vec<_>>(), [Some(("n", "m")), None]);
        assert!(items[0].json().contains(&deep) && !items[0].json().contains("other"));
    }
}
