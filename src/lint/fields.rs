//! Fields that the resource doesn't have. The API server drops them before it asks anybody, so that no webhook can
//! say so.

use super::own::{self, UNKNOWN_FIELD};
use crate::diagnostics::{Finding, Level};
use crate::etcd::crd::{self, Strength};
use crate::manifest::Part;
use crate::text::quoted;
use serde_json::{Map, Value};
use std::sync::OnceLock;

/// Fields of Kubernetes' own `ObjectMeta`, which no schema of a resource describes.
const METADATA: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// How alike two names are, from 0 to 1, that one is taken for the other mistyped.
const ALIKE: f64 = 0.8;

/// The resource as its definition describes it.
pub(super) fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    // A table with a wrong path is a test's to find; here it means that no field is unknown.
    SCHEMA.get_or_init(|| crd::schema(Strength::Structural, false).unwrap_or_default())
}

/// The fields of an Etcd that the resource doesn't have.
pub(super) fn unknown(etcd: Part<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let Some(properties) = properties(schema()) else { return found };
    for (name, part) in etcd.fields() {
        match (name, properties.get(name)) {
            ("metadata", _) => metadata(part, &mut found),
            // What a manifest says of it is dropped as a whole.
            ("status", _) => {}
            (_, Some(schema)) => below(part, schema, name, &mut found),
            (_, None) => found.push(finding(part, name, "", &names(properties))),
        }
    }
    found
}

fn below(part: Part<'_>, schema: &Value, path: &str, found: &mut Vec<Finding>) {
    if let Some(items) = schema.get("items") {
        for (index, item) in part.items().enumerate() {
            below(item, items, &format!("{path}[{index}]"), found);
        }
    }
    let Some(properties) = properties(schema) else { return };
    for (name, field) in part.fields() {
        match properties.get(name) {
            Some(schema) => below(field, schema, &format!("{path}.{name}"), found),
            None => found.push(finding(field, name, path, &names(properties))),
        }
    }
}

fn finding(part: Part<'_>, name: &str, path: &str, known: &[&str]) -> Finding {
    let nearest = nearest(name, known).map(|known| format!("write \"{known}\""));
    said(
        part,
        name,
        path,
        nearest.or_else(|| elsewhere(name).map(|path| format!("there is {path}, if that is meant"))),
    )
}

/// The one place of the resource that has a field of this name.
fn elsewhere(name: &str) -> Option<String> {
    let mut places = Vec::new();
    collect(properties(schema())?.get("spec")?, "spec", name, &mut places);
    match places.as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    }
}

fn metadata(part: Part<'_>, found: &mut Vec<Finding>) {
    let unknown = part.fields().filter(|(name, _)| !METADATA.contains(name));
    found.extend(unknown.map(|(name, field)| {
        let help = nearest(name, &METADATA).map(|known| format!("write \"{known}\""));
        said(field, name, "metadata", help)
    }));
}

fn said(part: Part<'_>, name: &str, path: &str, help: Option<String>) -> Finding {
    let location = part.location();
    let span = location.key.unwrap_or(location.span);
    let of = if path.is_empty() { "an Etcd" } else { path };
    let message = format!("{} is no field of {of}: the API server drops it", quoted(name));
    let help = help.unwrap_or_else(|| "remove it, or look for its name with kubectl explain etcd".to_owned());
    let field = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    Finding { field: Some(field), ..own::at(Level::Warning, UNKNOWN_FIELD, span, message, Some(help)) }
}

/// The properties of an object with a known set of fields.
pub(super) fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

fn names(properties: &Map<String, Value>) -> Vec<&str> {
    properties.keys().map(String::as_str).collect()
}

fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let folded = name.to_lowercase();
    let likeness = |known: &str| strsim::jaro_winkler(&folded, &known.to_lowercase());
    let alike =
        known.iter().map(|known| (likeness(known), *known)).filter(|(likeness, _)| *likeness >= ALIKE);
    alike.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, known)| known)
}

/// The paths under which a schema has a field, lists of objects included.
fn collect(schema: &Value, path: &str, name: &str, places: &mut Vec<String>) {
    if let Some(items) = schema.get("items") {
        collect(items, &format!("{path}[]"), name, places);
    }
    for (property, schema) in properties(schema).into_iter().flatten() {
        let path = format!("{path}.{property}");
        if property == name {
            places.push(path.clone());
        }
        collect(schema, &path, name, places);
    }
}
