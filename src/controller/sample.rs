//! For tests: an Etcd with every field that the CRD has.

use serde_json::{Value, json};

use crate::etcd::crd::{Strength, schema};

/// Kubernetes' own types, which are not taken apart: where they stand, and what stands there.
fn own_types(path: &str) -> Option<Value> {
    Some(match path {
        "spec.selector" | "status.labelSelector" => json!({"matchLabels": {"a": "b"}}),
        "spec.schedulingConstraints.affinity" => json!({"podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}}),
        "spec.schedulingConstraints.topologySpreadConstraints" => {
            json!([{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}])
        }
        _ if path.ends_with(".resources") => json!({"requests": {"cpu": "1"}}),
        _ => return None,
    })
}

/// Texts that must have a shape.
const SHAPED: &[(&str, &str)] = &[
    ("spec.etcd.image", "registry.example/etcd:v3.6.4"),
    ("spec.etcd.additionalAdvertisePeerURLs.memberName", "main-0"),
];

/// Metadata apart, which isn't described.
pub(in crate::controller) fn etcd() -> Value {
    let schema = schema(Strength::Full, false).unwrap();
    ["spec", "status"]
        .into_iter()
        .map(|part| (part.to_owned(), of(&schema["properties"][part], part)))
        .collect()
}

fn of(schema: &Value, path: &str) -> Value {
    if let Some(value) = own_types(path) {
        return value;
    }
    match schema["type"].as_str() {
        Some("object") => match schema["properties"].as_object() {
            Some(fields) => fields
                .iter()
                .map(|(name, schema)| (name.clone(), of(schema, &format!("{path}.{name}"))))
                .collect(),
            None => json!({"key": "value"}),
        },
        Some("array") => json!([of(&schema["items"], path)]),
        Some("boolean") => true.into(),
        Some("integer") => 3.into(),
        Some("string") => text(path).into(),
        _ => "2Gi".into(),
    }
}

fn text(path: &str) -> &'static str {
    SHAPED.iter().find(|(at, _)| *at == path).map_or("text", |(_, text)| text)
}

/// A place in a value: as the CRD has it, and where it is.
pub(in crate::controller) struct Place {
    pub(in crate::controller) path: String,
    pub(in crate::controller) pointer: String,
}

/// Every place of the sample's part: leaves, and Kubernetes' own types as a whole.
pub(in crate::controller) fn places(value: &Value, part: &str) -> Vec<Place> {
    let mut found = Vec::new();
    walk(value, part, "", &mut found);
    found
}

fn walk(value: &Value, path: &str, pointer: &str, found: &mut Vec<Place>) {
    match value {
        Value::Object(fields) if own_types(path).is_none() => {
            for (name, value) in fields {
                walk(value, &format!("{path}.{name}"), &format!("{pointer}/{name}"), found);
            }
        }
        Value::Array(items) if own_types(path).is_none() && items[0].is_object() => {
            walk(&items[0], path, &format!("{pointer}/0"), found);
        }
        _ => found.push(Place { path: path.to_owned(), pointer: pointer.to_owned() }),
    }
}
