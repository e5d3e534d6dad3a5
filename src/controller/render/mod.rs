//! The objects of an Etcd, as pure functions of it: one file a kind.
//!
//! Names, labels and ports are etcd-druid's. What a leave needs (`StatefulSet`, `ServiceAccount`, Role, `RoleBinding`,
//! ConfigMap, peer Service) carries no owner reference: foreground deletion would take it away before the members are
//! out of a combined cluster.

mod client_service;
mod config_map;
mod disruption_budget;
mod peer_service;
mod pod;
mod role;
mod role_binding;
mod service_account;
mod standing;
mod stateful_set;
mod tls;
mod volumes;

use serde_json::{Map, Value, json};

use super::kind::Kind;
use super::object::Etcd;
use crate::etcd::{GROUP, KIND, VERSION};
use crate::member::{Config, Formed};

pub(super) use config_map::{config, quantity};
pub(super) use standing::{CONTAINER, image, source_endpoints, storage};
pub use standing::{Frozen, Standing};
pub(super) use stateful_set::hash;

/// Who manages what bears it.
pub const MANAGER: &str = "etcd-warden";
/// Label that says who manages an object.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Label with the name of the Etcd that an object belongs to.
pub const PART_OF: &str = "app.kubernetes.io/part-of";
/// Label that tells an Etcd's objects apart.
const COMPONENT: &str = "app.kubernetes.io/component";
/// Label with the object's own name.
const NAME: &str = "app.kubernetes.io/name";
/// Component of the members' pods.
const MEMBERS: &str = "etcd-statefulset";
/// Annotation with the UID of the Etcd that an object belongs to: another Etcd of that name is another one.
pub const BELONGS_TO: &str = "etcd-warden.dev/etcd-uid";

/// What an administrator decides about the objects, by flags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Image of etcd where the Etcd names none.
    pub etcd_image: Option<String>,
    /// Image with the agent: this program's own.
    pub agent_image: String,
}

impl Settings {
    /// The image of etcd that is wanted for an Etcd; nothing where nobody names one.
    pub fn image<'a>(&'a self, etcd: &'a Etcd) -> Option<&'a str> {
        etcd.spec.etcd.image.as_deref().or(self.etcd_image.as_deref())
    }
}

/// An object as it should be.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// All of it.
    pub object: Value,
}

/// Why an Etcd can't be made real.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unrenderable {
    /// No image of etcd.
    #[error("no image of etcd is known: name one in spec.etcd.image, or start the server with --etcd-image")]
    NoImage,
    /// A quantity that is none, or doesn't fit.
    #[error("{field} {value:?} is no size of 1 byte or more: write one such as 8Gi")]
    Size {
        /// Where it stands.
        field: &'static str,
        /// What stands there.
        value: String,
    },
}

/// What is rendered: an Etcd, and what is known around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Render<'a> {
    pub(super) etcd: &'a Etcd,
    pub(super) settings: &'a Settings,
    pub(super) standing: &'a Standing,
    pub(super) config: &'a Config,
}

/// A rendered object's name, what it is called among the Etcd's objects, and the rest of it.
struct Part {
    kind: Kind,
    name: String,
    component: &'static str,
    /// Whether it goes with the Etcd by itself.
    owned: bool,
    labels: Map<String, Value>,
    annotations: Map<String, Value>,
    content: Value,
}

/// Every object of an Etcd, in the order in which they are applied: the pods' last.
const PARTS: [fn(Render<'_>) -> Result<Part, Unrenderable>; 8] = [
    service_account::part,
    role::part,
    role_binding::part,
    config_map::part,
    peer_service::part,
    client_service::part,
    disruption_budget::part,
    stateful_set::part,
];

/// Every object of an Etcd.
pub fn render(etcd: &Etcd, settings: &Settings, standing: &Standing) -> Result<Vec<Rendered>, Unrenderable> {
    let config = config(etcd, standing)?;
    let render = Render { etcd, settings, standing, config: &config };
    PARTS.iter().map(|part| Ok(part(render)?.rendered(etcd))).collect()
}

/// Kind and name of every object of an Etcd, the record of its cluster among them.
pub fn names(etcd: &str) -> Vec<(Kind, String)> {
    vec![
        (Kind::ServiceAccount, etcd.to_owned()),
        (Kind::Role, role_name(etcd)),
        (Kind::RoleBinding, role_name(etcd)),
        (Kind::ConfigMap, Config::name(etcd)),
        (Kind::ConfigMap, Formed::name(etcd)),
        (Kind::Service, format!("{etcd}-peer")),
        (Kind::Service, format!("{etcd}-client")),
        (Kind::PodDisruptionBudget, etcd.to_owned()),
        (Kind::StatefulSet, etcd.to_owned()),
    ]
}

/// Labels by which everything of an Etcd is found.
pub fn common_labels(etcd: &str) -> Map<String, Value> {
    object(json!({MANAGED_BY: MANAGER, PART_OF: etcd}))
}

/// The same labels, as a selector is written.
pub fn selector(etcd: &str) -> String {
    format!("{MANAGED_BY}={MANAGER},{PART_OF}={etcd}")
}

/// Labels by which Services find the pods.
fn pod_selector(etcd: &str) -> Map<String, Value> {
    let mut labels = common_labels(etcd);
    labels.insert(COMPONENT.to_owned(), MEMBERS.into());
    labels
}

/// Name of the Role and its binding.
fn role_name(etcd: &str) -> String {
    format!("{GROUP}:etcd:{etcd}")
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// An object with one more field, if there is one.
pub(super) fn with(mut object: Value, name: &str, field: Option<Value>) -> Value {
    if let (Some(fields), Some(field)) = (object.as_object_mut(), field) {
        fields.insert(name.to_owned(), field);
    }
    object
}

impl Part {
    fn new(kind: Kind, name: impl Into<String>, component: &'static str, content: Value) -> Self {
        let (labels, annotations) = (Map::new(), Map::new());
        Self { kind, name: name.into(), component, owned: false, labels, annotations, content }
    }

    fn owned(mut self) -> Self {
        self.owned = true;
        self
    }

    fn rendered(self, etcd: &Etcd) -> Rendered {
        let mut labels = own_labels(&self.name, &etcd.name, self.component);
        // A user's labels of the client Service win, as etcd-druid has it; those by which it is found don't.
        labels.extend(self.labels);
        labels.extend(common_labels(&etcd.name));
        let mut annotations = self.annotations;
        annotations.insert(BELONGS_TO.to_owned(), etcd.uid.clone().into());
        let metadata = json!({
            "name": self.name, "namespace": etcd.namespace, "labels": labels, "annotations": annotations,
        });
        let metadata = with(metadata, "ownerReferences", self.owned.then(|| json!([owner(etcd)])));
        let mut all = object(self.content);
        all.insert("apiVersion".to_owned(), self.kind.api_version().into());
        all.insert("kind".to_owned(), self.kind.name().into());
        all.insert("metadata".to_owned(), metadata);
        Rendered { kind: self.kind, name: self.name, object: Value::Object(all) }
    }
}

fn own_labels(name: &str, etcd: &str, component: &str) -> Map<String, Value> {
    let label = name.replace(':', "-");
    // The Role's name is longer than a label may be where the Etcd's is long.
    let label = if crate::etcd::is_label_value(&label) { label.as_str() } else { etcd };
    object(json!({NAME: label, COMPONENT: component}))
}

fn owner(etcd: &Etcd) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": KIND, "name": etcd.name, "uid": etcd.uid,
        "controller": true, "blockOwnerDeletion": true,
    })
}

#[cfg(test)]
mod tests;
