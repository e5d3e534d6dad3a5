//! Values of another type than the definition's schema has at their place. The rules look at what they read; an API
//! server with the definition looks at everything, before it asks anybody.

use super::fields::{properties, schema};
use crate::diagnostics::Finding;
use crate::etcd::crd::TYPE_RULE;
use crate::etcd::{Json, Wrong};
use crate::manifest::Part;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// Of Kubernetes' own `ObjectMeta`, which no schema of a resource describes, what people write.
fn metadata() -> &'static Value {
    static METADATA: OnceLock<Value> = OnceLock::new();
    METADATA.get_or_init(|| {
        let (text, strings) = (
            json!({"type": "string"}),
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
        );
        let list = |items| json!({"type": "array", "items": items});
        json!({"type": "object", "properties": {
            "name": text, "generateName": text, "namespace": text, "labels": strings, "annotations": strings,
            "finalizers": list(&text), "ownerReferences": list(&json!({"type": "object"})),
        }})
    })
}

/// The places of an Etcd at which the type is another one, each with what is said there as the rule about types says
/// it; `known` are those of which the rules have said so.
pub(super) fn wrong(etcd: Part<'_>, known: &[Finding]) -> Vec<(String, String)> {
    let known = known.iter().filter(|finding| finding.rule == TYPE_RULE);
    let known = known.filter_map(|finding| finding.field.as_deref()).collect();
    let mut walk = Walk { known, found: Vec::new() };
    for (name, part) in etcd.fields() {
        match name {
            "metadata" => walk.below(part, metadata(), name),
            "spec" => {
                if let Some(schema) = properties(schema()).and_then(|properties| properties.get(name)) {
                    walk.below(part, schema, name);
                }
            }
            _ => {}
        }
    }
    walk.found
}

struct Walk<'f> {
    known: BTreeSet<&'f str>,
    found: Vec<(String, String)>,
}

impl Walk<'_> {
    fn below(&mut self, part: Part<'_>, schema: &Value, path: &str) {
        // The API server takes it for nothing at all.
        if part.is_null() || self.known.contains(path) {
            return;
        }
        if let Some(expected) = expected(part, schema) {
            let Wrong { expected, found, shown } = *Wrong::new(expected, &outline(part));
            let message = format!("Invalid value: {shown}: write {expected}; this is {found}");
            self.found.push((path.to_owned(), message));
            return;
        }
        if let Some(items) = schema.get("items") {
            for (index, item) in part.items().enumerate() {
                self.below(item, items, &format!("{path}[{index}]"));
            }
        }
        let named = properties(schema);
        let any = schema.get("additionalProperties");
        for (name, field) in part.fields() {
            match named.and_then(|properties| properties.get(name)) {
                Some(schema) => self.below(field, schema, &format!("{path}.{name}")),
                None => any.into_iter().for_each(|any| self.below(field, any, &format!("{path}[{name}]"))),
            }
        }
    }
}

/// What a schema has at the place of a value that is something else.
fn expected(part: Part<'_>, schema: &Value) -> Option<&'static str> {
    let value = part.scalar();
    let is_whole =
        |value: &Value| value.is_i64() || value.as_f64().is_some_and(|number| number.fract() == 0.0);
    let int32 = f64::from(i32::MIN)..=f64::from(i32::MAX);
    let is_int32 = |value: &Value| value.as_f64().is_some_and(|number| int32.contains(&number));
    let of = |is_it: bool, expected: &'static str| (!is_it).then_some(expected);
    if schema.get("x-kubernetes-int-or-string").is_some() {
        return of(
            value.is_some_and(|value| value.is_string() || is_whole(value)),
            "a string, or a whole number",
        );
    }
    let format = schema.get("format").and_then(Value::as_str);
    match schema.get("type").and_then(Value::as_str)? {
        "object" => of(value.is_none() && !part.is_list(), "an object"),
        "array" => of(part.is_list(), "a list"),
        "string" => of(value.is_some_and(Value::is_string), "a string"),
        "boolean" => of(value.is_some_and(Value::is_boolean), "true or false"),
        "integer" if format == Some("int32") => of(
            value.is_some_and(|value| is_whole(value) && is_int32(value)),
            "a whole number that fits 32 bits",
        ),
        "integer" => of(value.is_some_and(is_whole), "a whole number that fits 64 bits"),
        _ => None,
    }
}

/// A value as messages show it.
fn outline(part: Part<'_>) -> Json<'_> {
    match part.scalar() {
        None if part.is_list() => Json::List,
        None => Json::Object,
        Some(Value::Bool(value)) => Json::Bool(*value),
        Some(Value::String(text)) => Json::Text(text.as_str().into()),
        Some(Value::Number(number)) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => Json::Integer(number),
            (None, number) => Json::Number(number.unwrap_or(f64::NAN)),
        },
        Some(Value::Null | Value::Array(_) | Value::Object(_)) => Json::Null,
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostics::Source;
    use crate::lint::{Lint, Stored};

    /// Rule, field and remedy of what is found in an Etcd with these metadata, and this in its spec.
    fn found(metadata: &str, spec: &str) -> Vec<String> {
        let text = format!(
            "apiVersion: druid.gardener.cloud/v1alpha1\nkind: Etcd\nmetadata: {metadata}\nspec: {{replicas: 1, labels: {{}}, \
             backup: {{}}, {spec}}}\n"
        );
        let linted = Lint::default().text(Source::new("x.yaml", text), &Stored::default());
        let said = linted.report.findings.into_iter().map(|finding| {
            format!(
                "{} {}: {}",
                finding.rule,
                finding.field.unwrap_or_default(),
                finding.help.unwrap_or_default()
            )
        });
        said.collect()
    }

    #[test]
    fn what_no_rule_reads_is_held_against_the_schema() {
        for (metadata, spec, said) in [
            ("{name: main, labels: [a]}", "etcd: {}", &["type metadata.labels: write an object"][..]),
            (
                "{name: main, labels: {a: 1}}",
                "etcd: {}",
                &[r#"type metadata.labels[a]: write a string: "1""#],
            ),
            ("{name: main, finalizers: a}", "etcd: {}", &["type metadata.finalizers: write a list"]),
            (
                "{name: main}",
                "etcd: {}, priorityClassName: [x]",
                &["type spec.priorityClassName: write a string"],
            ),
            (
                "{name: main}",
                "etcd: {}, schedulingConstraints: {topologySpreadConstraints: [{maxSkew: x}]}",
                &[
                    "type spec.schedulingConstraints.topologySpreadConstraints[0].maxSkew: write a whole number that \
                   fits 32 bits",
                ],
            ),
            (
                "{name: main}",
                "etcd: {resources: {limits: {memory: [1]}}}",
                &["type spec.etcd.resources.limits[memory]: write a string, or a whole number"],
            ),
            (
                "{name: main}",
                "etcd: {resources: {limits: {memory: 1, cpu: \"1\"}}}, priorityClassName: null",
                &[],
            ),
            // Of these the rules speak.
            (
                "{name: main}",
                "etcd: {quota: [1], metrics: 1}",
                &[
                    "type spec.etcd.metrics: write a string, but not \"1\": supported values: \"basic\", \"extensive\"",
                    "type spec.etcd.quota: write a quantity: a string such as \"8Gi\", or a whole number",
                ],
            ),
        ] {
            let mut found = found(metadata, spec);
            found.sort();
            assert_eq!(found, said, "{metadata} {spec}");
        }
    }
}
