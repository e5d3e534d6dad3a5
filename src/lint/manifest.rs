//! An Etcd as a manifest: what a cluster would say of it.

use super::{Judged, Lint};
use crate::admission::mutate;
use crate::diagnostics::{Finding, Level};
use crate::etcd::{Etcd, KIND, Slot, crd};
use crate::manifest::Part;
use crate::rules::{Request, Verdict, View, Warning, judge};
use serde_json::Value;

/// What an update leaves as it is stored, where the manifest says nothing of it: the API server's own fields, and
/// finalizers, which `kubectl apply` takes from nobody else.
const KEPT: [&str; 4] = ["finalizers", "deletionTimestamp", "uid", "generation"];

impl Lint {
    /// What is wrong with an Etcd that replaces an old one, where there is one.
    pub(super) fn manifest(&self, part: Part<'_>, old: Option<&Value>) -> Judged {
        let manifest = part.value();
        let namespace = self.namespace_of(&manifest);
        let old = old.cloned().map(|mut old| {
            crd::fill_in(&mut old);
            old
        });
        let verdict = self.verdict(as_sent(manifest, old.as_ref()), old.as_ref(), &namespace);
        let object = described(part, self.namespace.as_deref());
        let of = |level, rule: &str, field: &str, message: &str| Finding {
            object: Some(object.clone()),
            ..Finding::of_field(level, rule, field, message, part.at_field(field))
        };
        let violations = verdict.violations.iter();
        let known = violations
            .filter(|violation| !namespace.is_empty() || !needs_namespace(violation.rule, &violation.field));
        let known = known.map(|found| of(Level::Error, found.rule, &found.field, &found.message));
        let mut findings: Vec<Finding> = known.map(|finding| in_quotes(finding, part)).collect();
        findings.extend(verdict.warnings.iter().map(|warning| {
            of(Level::Warning, warning.id, warning.field.as_deref().unwrap_or_default(), &warning.text)
        }));
        Judged { findings, left_out: verdict.more_violations, is_refused: false }
    }

    fn verdict(&self, mut new: Value, old: Option<&Value>, namespace: &str) -> Verdict {
        let text = new.to_string();
        let old_text = old.map(Value::to_string);
        let old_etcd = old_text.as_deref().and_then(read);
        let Some(mut etcd) = read(&text) else { return Verdict::default() };
        let mutation = mutate(&mut etcd, old_etcd.as_ref());
        for operation in &mutation.patch {
            // Made from this very object, so that every place is there.
            let _ = operation.apply(&mut new);
        }
        let view = View::new(&etcd, namespace);
        let mut verdict = match old_etcd.as_ref().map(|old| View::new(old, namespace)) {
            None => judge(&Request::Create(&view), &self.settings, ""),
            Some(old) => judge(&Request::Update { old: &old, new: &view }, &self.settings, ""),
        };
        if old.is_some_and(|old| old.get("spec") != new.get("spec")) {
            verdict.warnings.append(&mut verdict.ratcheted);
        }
        let warnings: Vec<Warning> = mutation.warnings.into_iter().chain(verdict.warnings).collect();
        Verdict { warnings, ..verdict }
    }

    /// The namespace of a manifest; empty where it isn't known.
    fn namespace_of(&self, manifest: &Value) -> String {
        let own =
            manifest.pointer("/metadata/namespace").and_then(Value::as_str).filter(|text| !text.is_empty());
        own.or(self.namespace.as_deref()).unwrap_or_default().to_owned()
    }
}

fn read(json: &str) -> Option<Etcd<'_>> {
    match Etcd::read(json) {
        Ok(Slot::Set(etcd)) => Some(etcd),
        Ok(Slot::Absent | Slot::Wrong(_)) | Err(_) => None,
    }
}

/// A manifest as the API server hands it on: status is not its business, and defaults are filled in.
fn as_sent(mut manifest: Value, old: Option<&Value>) -> Value {
    let Value::Object(fields) = &mut manifest else { return manifest };
    fields.remove("status");
    if let Some(old) = old {
        if let Some(status) = old.get("status") {
            fields.insert("status".to_owned(), status.clone());
        }
        if let (Some(Value::Object(new)), Some(old)) = (fields.get_mut("metadata"), old.get("metadata")) {
            for name in KEPT {
                if let (None, Some(stored)) = (new.get(name), old.get(name)) {
                    new.insert(name.to_owned(), stored.clone());
                }
            }
        }
    }
    crd::fill_in(&mut manifest);
    manifest
}

/// What YAML takes for something else than a text is one in quotes.
fn in_quotes(finding: Finding, part: Part<'_>) -> Finding {
    let written =
        finding.field.as_deref().map(|field| part.at_field(field).span).map(|span| part.written(span));
    match (written, finding.help.as_deref()) {
        (Some(written), Some(WRITE_A_STRING)) if !written.contains(['"', '\'', '{', '[', '\n']) => {
            Finding { help: Some(format!("{WRITE_A_STRING}: \"{written}\"")), ..finding }
        }
        _ => finding,
    }
}

/// The remedy of a value that should be a text.
const WRITE_A_STRING: &str = "write a string";

/// A Secret of another namespace is one only where the own namespace is known.
fn needs_namespace(rule: &str, field: &str) -> bool {
    rule == "tls-secret-refs" && field.ends_with(".namespace")
}

/// An object in words: `Etcd prod/main`. `namespace` is its namespace where it names none.
pub(super) fn described(part: Part<'_>, namespace: Option<&str>) -> String {
    let metadata = part.field("metadata");
    let text = |field| metadata.and_then(|metadata| metadata.field(field)).and_then(|field| field.text());
    let name = text("name").map(str::to_owned);
    let name = name.or_else(|| text("generateName").map(|name| format!("{name}…")));
    match (text("namespace").or(namespace), name) {
        (Some(namespace), Some(name)) => format!("{KIND} {namespace}/{name}"),
        (None, Some(name)) => format!("{KIND} {name}"),
        (_, None) => format!("{KIND} without a name"),
    }
}
