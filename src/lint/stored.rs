//! What is stored: the objects that manifests are to replace.

use super::select::{self, Subject};
use super::{Counts, Lint, Linted, own};
use crate::diagnostics::Source;
use crate::manifest::{self as reader, Part};
use serde_json::Value;
use std::collections::HashMap;

/// Namespace and name of an object.
type Key = (String, String);

/// The objects that manifests are to replace.
#[derive(Debug, Default)]
pub struct Stored {
    objects: HashMap<Key, Value>,
}

/// A manifest without a namespace has the name of several stored objects: the namespaces that these are in, sorted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ambiguous<'s>(pub(super) Vec<&'s str>);

impl Stored {
    /// Whether nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// What a manifest replaces. One of the two may leave out its namespace.
    pub(super) fn of(
        &self,
        manifest: Part<'_>,
        namespace: Option<&str>,
    ) -> Result<Option<&Value>, Ambiguous<'_>> {
        if self.is_empty() {
            return Ok(None);
        }
        let key = key(manifest, namespace);
        if let Some(exact) = self.objects.get(&key) {
            return Ok(Some(exact));
        }
        let (own, name) = key;
        let alike = self
            .objects
            .iter()
            .filter(|((namespace, stored), _)| *stored == name && (namespace.is_empty() || own.is_empty()));
        match alike.collect::<Vec<_>>().as_slice() {
            [] => Ok(None),
            [(_, only)] => Ok(Some(only)),
            several => {
                let mut namespaces: Vec<&str> =
                    several.iter().map(|((namespace, _), _)| namespace.as_str()).collect();
                namespaces.sort_unstable();
                Err(Ambiguous(namespaces))
            }
        }
    }
}

impl Lint {
    /// The Etcds in a text, which others are to replace; of two with one name the later. Beside them what is to be
    /// said of the text, for what can't be read of it would make an update look like a creation.
    pub fn stored(&self, source: Source) -> (Stored, Linted) {
        let file = reader::read(source.text());
        let (mut objects, mut findings) = (HashMap::new(), Vec::new());
        let roots = file.documents.iter().map(|document| document.root(source.text()));
        for subject in roots.flat_map(select::subjects) {
            match subject {
                Subject::Etcd(part) => {
                    objects.insert(key(part, self.namespace.as_deref()), part.value());
                }
                Subject::Foreign { part, why } => findings.push(own::foreign_etcd(part, &why)),
                Subject::Review(_) | Subject::Other(_) => {}
            }
        }
        let (report, unreadable) = self.report(source, findings, &file);
        (Stored { objects }, Linted { report, counts: Counts::default(), unreadable })
    }
}

fn key(object: Part<'_>, namespace: Option<&str>) -> Key {
    let metadata = object.field("metadata");
    let text = |name: &str| metadata?.field(name)?.text().filter(|text| !text.is_empty());
    let namespace = text("namespace").or(namespace).unwrap_or_default();
    (namespace.to_owned(), text("name").unwrap_or_default().to_owned())
}
