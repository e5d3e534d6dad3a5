//! Findings as SARIF 2.1.0 (OASIS), which code scanning services read.

use super::{Finding, Level, Report, Source};
use crate::manifest::Span;
use serde_json::{Map, Value, json};
use std::fmt::Write;

const VERSION: &str = "2.1.0";
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// A rule as it is described in a log.
#[derive(Clone, Copy, Debug)]
pub struct Rule<'r> {
    /// Its id.
    pub id: &'r str,
    /// What it demands, or when it is said.
    pub summary: &'r str,
    /// How bad it is to break it.
    pub level: Level,
}

/// A log of one run. `rules` are all that could have spoken; `successful` says whether every input was read.
pub fn log(reports: &[&Report], rules: &[Rule<'_>], successful: bool) -> Value {
    let results: Vec<Value> = reports
        .iter()
        .flat_map(|report| report.findings.iter().map(|finding| result(&report.source, finding, rules)))
        .collect();
    json!({
        "$schema": SCHEMA,
        "version": VERSION,
        "runs": [{
            "tool": {"driver": {
                "name": env!("CARGO_PKG_NAME"),
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(described).collect::<Vec<_>>(),
            }},
            "invocations": [{"executionSuccessful": successful}],
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn described(rule: &Rule<'_>) -> Value {
    json!({
        "id": rule.id,
        "shortDescription": {"text": rule.summary.replace('`', "\"")},
        "defaultConfiguration": {"level": rule.level.name()},
    })
}

fn result(source: &Source, finding: &Finding, rules: &[Rule<'_>]) -> Value {
    let mut result = Map::new();
    result.insert("ruleId".to_owned(), finding.rule.as_str().into());
    if let Some(index) = rules.iter().position(|rule| rule.id == finding.rule) {
        result.insert("ruleIndex".to_owned(), index.into());
    }
    result.insert("level".to_owned(), finding.level.name().into());
    result.insert("message".to_owned(), json!({"text": message(finding)}));
    result.insert("locations".to_owned(), json!([location(source, finding)]));
    if let Some(alias) = finding.place.and_then(|place| place.alias) {
        let mut related = physical(source, Some(alias));
        related["message"] = json!({"text": "comes here by this alias"});
        result.insert("relatedLocations".to_owned(), json!([related]));
    }
    Value::Object(result)
}

fn message(finding: &Finding) -> String {
    match &finding.help {
        Some(help) => format!("{}. Help: {help}", finding.message),
        None => finding.message.clone(),
    }
}

fn location(source: &Source, finding: &Finding) -> Value {
    let mut location = physical(source, finding.place.map(|place| place.span));
    if let Some(field) = finding.field.as_deref().filter(|field| !field.is_empty()) {
        location["logicalLocations"] = json!([{"fullyQualifiedName": field}]);
    }
    location
}

fn physical(source: &Source, span: Option<Span>) -> Value {
    let mut physical = json!({"artifactLocation": {"uri": uri(&source.name)}});
    if let Some(span) = span {
        let region = source.region(span);
        physical["region"] = json!({
            "startLine": region.start.line,
            "startColumn": region.start.column,
            "endLine": region.end.line,
            "endColumn": region.end.column,
        });
    }
    json!({"physicalLocation": physical})
}

/// A path as a URI reference: relative as it is given, absolute with its scheme.
fn uri(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    path.bytes().fold(scheme.to_owned(), |mut uri, byte| {
        if is_plain(byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
        uri
    })
}
