//! An Etcd as a manifest: what a cluster would say of it.

use super::{Judged, Lint, types};
use crate::admission::mutate;
use crate::diagnostics::{Finding, Level};
use crate::etcd::crd::{self, TYPE_RULE};
use crate::etcd::{Etcd, KIND, Slot};
use crate::manifest::Part;
use crate::rules::{Request, Verdict, View, Warning, judge};
use serde_json::Value;
use std::collections::HashMap;

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
        let judged =
            |manifest: Value| self.verdict(as_sent(manifest, old.as_ref()), old.as_ref(), &namespace);
        let verdict = judged(manifest);
        let object = described(part, self.namespace.as_deref());
        let of = |level, rule: &str, field: &str, message: &str| Finding {
            object: Some(object.clone()),
            ..Finding::of_field(level, rule, field, message, part.at_field(field))
        };
        let violations = verdict.violations.iter();
        let known = violations
            .filter(|violation| !namespace.is_empty() || !needs_namespace(violation.rule, &violation.field));
        let known = known.map(|found| of(Level::Error, found.rule, &found.field, &found.message));
        let mut findings: Vec<Finding> = known.collect();
        // Where violations are left out, these may be among them.
        let all_are_known = verdict.more_violations == 0;
        let untyped = all_are_known.then(|| types::wrong(part, &findings)).into_iter().flatten();
        findings.extend(untyped.map(|(field, message)| of(Level::Error, TYPE_RULE, &field, &message)));
        in_quotes(&mut findings, part, judged);
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

/// What YAML takes for something else than a text is one in quotes; where that text is no better, why. All of them are
/// judged at once.
fn in_quotes(findings: &mut [Finding], part: Part<'_>, judged: impl Fn(Value) -> Verdict) {
    let bare: Vec<Option<&str>> = findings.iter().map(|finding| bare(finding, part)).collect();
    if bare.iter().all(Option::is_none) {
        return;
    }
    let mut quoted = part.value();
    for (finding, written) in findings.iter().zip(&bare) {
        let pointer = finding.field.as_deref().map(|field| part.pointer(field));
        let value = pointer.and_then(|pointer| quoted.pointer_mut(pointer.as_str()));
        if let (Some(value), Some(written)) = (value, written) {
            *value = Value::from(*written);
        }
    }
    let violations = judged(quoted).violations;
    // Of several at one field the first.
    let still: HashMap<&str, &str> =
        violations.iter().rev().map(|found| (found.field.as_str(), found.message.as_str())).collect();
    for (finding, written) in findings.iter_mut().zip(bare) {
        let Some(written) = written else { continue };
        finding.help = Some(match finding.field.as_deref().and_then(|field| still.get(field)) {
            Some(still) => format!("{WRITE_A_STRING}, but not \"{written}\": {}", detail(still, written)),
            None => format!("{WRITE_A_STRING}: \"{written}\""),
        });
    }
}

/// What is written where a text should be, without quotes or anything else that can't simply be put into them.
fn bare<'d>(finding: &Finding, part: Part<'d>) -> Option<&'d str> {
    let field = finding.field.as_deref().filter(|_| finding.help.as_deref() == Some(WRITE_A_STRING))?;
    let written = part.written(part.at_field(field).span);
    (!written.contains(['"', '\'', '{', '[', '\n'])).then_some(written)
}

/// What a message says of a value, without the value and the rule's id.
fn detail<'m>(message: &'m str, value: &str) -> &'m str {
    let message = message.rsplit_once(" [").map_or(message, |(message, _)| message);
    message.split_once(&format!("\"{value}\": ")).map_or(message, |(_, detail)| detail)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostics::Source;
    use crate::lint::Stored;

    /// The remedies for an Etcd with this line in `spec.etcd`, and this name.
    fn remedies(name: &str, line: &str) -> Vec<String> {
        let text = format!(
            "apiVersion: druid.gardener.cloud/v1alpha1\nkind: Etcd\nmetadata: {{name: {name}}}\nspec:\n  replicas: 1\n  \
             labels: {{}}\n  backup: {{}}\n  etcd:\n    {line}\n"
        );
        let linted = Lint::default().text(Source::new("x.yaml", text), &Stored::default());
        linted.report.findings.into_iter().filter_map(|finding| finding.help).collect()
    }

    #[test]
    fn quotes_are_advised_where_they_help() {
        assert_eq!(remedies("main", "image: 3.6"), ["write a string: \"3.6\""]);
        let duration = &remedies("main", "heartbeatDuration: 10")[0];
        assert!(
            duration.starts_with("write a string, but not \"10\": not a duration: write numbers"),
            "{duration}"
        );
        let name = &remedies("123", "metrics: basic")[0];
        assert!(name.starts_with("write a string, but not \"123\": Services are named after it"), "{name}");
    }

    #[test]
    fn what_is_left_out_is_not_told_as_a_wrong_type() {
        let annotations: Vec<String> = (0..2100).map(|number| format!("a{number}: {number}")).collect();
        let text = format!(
            "apiVersion: druid.gardener.cloud/v1alpha1\nkind: Etcd\nmetadata: {{name: main}}\nspec: {{replicas: 1, labels: \
             {{}}, backup: {{}}, etcd: {{}}, annotations: {{{}}}}}\n",
            annotations.join(", ")
        );
        let linted = Lint::default().text(Source::new("x.yaml", text), &Stored::default());
        assert_eq!((linted.report.findings.len(), linted.counts.left_out), (2001, 100));
    }

    /// A manifest may hold thousands of them, and judging takes as long as the manifest is.
    #[test]
    fn all_that_lacks_quotes_is_judged_at_once() {
        let text = "spec:\n  annotations: {a: 1, b: 2, c: [3]}\n";
        let file = crate::manifest::read(text);
        let part = file.documents[0].root(text);
        let mut findings: Vec<Finding> = ["a", "b", "c"]
            .map(|key| {
                let field = format!("spec.annotations[{key}]");
                let message = "Invalid value: 1: write a string; this is a number";
                Finding::of_field(Level::Error, TYPE_RULE, &field, message, part.at_field(&field))
            })
            .into();
        let seen = std::cell::RefCell::new(Vec::new());
        in_quotes(&mut findings, part, |manifest| {
            seen.borrow_mut().push(manifest["spec"]["annotations"].clone());
            Verdict::default()
        });
        assert_eq!(seen.into_inner(), [serde_json::json!({"a": "1", "b": "2", "c": [3]})]);
        let help: Vec<&str> = findings.iter().filter_map(|finding| finding.help.as_deref()).collect();
        assert_eq!(help, ["write a string: \"1\"", "write a string: \"2\"", "write a string"]);
    }

    #[test]
    fn a_key_is_underlined_where_it_is_what_is_wrong() {
        for (labels, underlined) in [
            ("labels: {\"a b\": c}", "\"a b\""),
            ("annotations: {? -scrape\n: \"true\"}", "-scrape"),
            ("labels: {a: \"b c\"}", "\"b c\""),
        ] {
            let text = format!(
                "apiVersion: druid.gardener.cloud/v1alpha1\nkind: Etcd\nmetadata: {{name: main}}\nspec:\n  replicas: 1\n  \
                 labels: {{}}\n  backup: {{}}\n  etcd:\n    clientService: {{{labels}}}\n"
            );
            let linted = Lint::default().text(Source::new("x.yaml", text.as_str()), &Stored::default());
            let places = linted.report.findings.iter().map(|finding| finding.place.unwrap().span.of(&text));
            assert_eq!(places.collect::<Vec<_>>(), [underlined], "{text}");
        }
    }
}
