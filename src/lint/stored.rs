//! What is stored: the objects that manifests are to replace.

use serde_json::Value;
use std::collections::HashMap;

/// Namespace and name of an object.
type Key = (String, String);

/// The objects that manifests are to replace.
#[derive(Debug, Default)]
pub struct Stored {
    objects: HashMap<Key, Value>,
}

impl Stored {
    /// The Etcds in a text that `namespace` is the namespace of, where they name none; of two with one name the later.
    pub fn read(text: &str, namespace: Option<&str>) -> Self {
        let objects = super::etcds(text).into_iter().map(|object| (key(&object, namespace), object));
        Self { objects: objects.collect() }
    }

    /// Whether nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// What a manifest replaces. One of the two may leave out its namespace.
    pub(super) fn of(&self, manifest: &Value, namespace: Option<&str>) -> Option<&Value> {
        let (own, name) = key(manifest, namespace);
        let exact = self.objects.get(&(own.clone(), name.clone()));
        let mut alike = self
            .objects
            .iter()
            .filter(|((namespace, stored), _)| *stored == name && (namespace.is_empty() || own.is_empty()));
        exact.or_else(|| match (alike.next(), alike.next()) {
            (Some((_, only)), None) => Some(only),
            _ => None,
        })
    }
}

fn key(object: &Value, namespace: Option<&str>) -> Key {
    let text = |field: &str| object.pointer(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    let namespace = text("/metadata/namespace").or(namespace).unwrap_or_default();
    (namespace.to_owned(), text("/metadata/name").unwrap_or_default().to_owned())
}
