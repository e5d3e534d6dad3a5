//! How the CRD describes a type: a structural schema, as Kubernetes calls it.
//!
//! Here is the shape only: names, types and descriptions. What a value may be, beyond its type, is in
//! [`super::crd`].

use super::scalar::{Int, IntOrText, StringMap, Text};
use super::slot::Slot;
use serde_json::{Map, Value, json};

/// A type that the CRD describes.
pub(crate) trait Schema {
    /// Its schema, without a description: that belongs to the field.
    fn schema() -> Value;
}

impl Schema for Text<'_> {
    fn schema() -> Value {
        json!({"type": "string"})
    }
}

impl Schema for bool {
    fn schema() -> Value {
        json!({"type": "boolean"})
    }
}

impl<const BITS: u32> Schema for Int<BITS> {
    fn schema() -> Value {
        json!({"type": "integer", "format": format!("int{BITS}")})
    }
}

impl Schema for IntOrText<'_> {
    fn schema() -> Value {
        json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]})
    }
}

impl Schema for StringMap<'_> {
    fn schema() -> Value {
        json!({"type": "object", "additionalProperties": {"type": "string"}})
    }
}

impl<T: Schema> Schema for Slot<T> {
    fn schema() -> Value {
        T::schema()
    }
}

impl<T: Schema> Schema for Vec<T> {
    fn schema() -> Value {
        json!({"type": "array", "items": T::schema()})
    }
}

/// A moment: RFC 3339.
pub(super) enum Time {}

impl Schema for Time {
    fn schema() -> Value {
        json!({"type": "string", "format": "date-time"})
    }
}

/// One property of an object.
pub(crate) type Property = (&'static str, Value);

/// A property of type `T`; `documentation` is the lines of its doc comment.
pub(crate) fn property<T: Schema>(name: &'static str, documentation: &[&str]) -> Property {
    let lines: Vec<&str> = documentation.iter().map(|line| line.trim()).collect();
    (name, described(T::schema(), &lines.join(" ")))
}

/// An object with these properties.
pub(crate) fn object(properties: Vec<Property>) -> Value {
    let properties: Map<String, Value> =
        properties.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    json!({"type": "object", "properties": properties})
}

/// An object's schema with one more property.
pub(super) fn with_property<T: Schema>(mut schema: Value, name: &str, description: &str) -> Value {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert(name.to_owned(), described(T::schema(), description));
    }
    schema
}

fn described(mut schema: Value, description: &str) -> Value {
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("description".to_owned(), description.into());
    }
    schema
}

/// A type of Kubernetes' own, as its API describes it.
fn kubernetes<T: schemars::JsonSchema>() -> Value {
    let mut settings = schemars::generate::SchemaSettings::openapi3();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("title");
    }
    complete(&mut schema);
    schema
}

/// What Kubernetes' own description leaves to Go types.
fn complete(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.contains_key("x-kubernetes-int-or-string") {
                quantity(object);
            } else if is_selector(object) {
                object.insert("x-kubernetes-map-type".to_owned(), "atomic".into());
            }
            object.values_mut().for_each(complete);
        }
        Value::Array(items) => items.iter_mut().for_each(complete),
        _ => {}
    }
}

/// A quantity is an integer or a string; Kubernetes' own treatise on them, at each of them, would be half of the
/// CRD.
fn quantity(schema: &mut Map<String, Value>) {
    schema.remove("description");
    schema.insert("anyOf".to_owned(), json!([{"type": "integer"}, {"type": "string"}]));
    schema.insert("pattern".to_owned(), QUANTITY.into());
}

/// How a quantity is written.
const QUANTITY: &str =
    r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+))?$";

/// Selectors are applied as a whole.
fn is_selector(schema: &Map<String, Value>) -> bool {
    let has = |name: &str| schema.get("properties").is_some_and(|properties| properties.get(name).is_some());
    has("nodeSelectorTerms") || (has("matchExpressions") && (has("matchLabels") || has("matchFields")))
}

/// Names Kubernetes' own types as they stand in the resource.
macro_rules! of_kubernetes {
    ($($(#[$meta:meta])* $name:ident = $type:ty;)*) => {
        $(
            $(#[$meta])*
            pub(super) enum $name {}

            impl Schema for $name {
                fn schema() -> Value {
                    kubernetes::<$type>()
                }
            }
        )*
    };
}

of_kubernetes! {
    /// Nodes and pods that pods seek or avoid.
    Affinity = k8s_openapi::api::core::v1::Affinity;
    /// CPU and memory of a container.
    ResourceRequirements = k8s_openapi::api::core::v1::ResourceRequirements;
    /// How pods spread over a topology.
    TopologySpreadConstraint = k8s_openapi::api::core::v1::TopologySpreadConstraint;
    /// Which objects are meant, by their labels.
    LabelSelector = k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
}
