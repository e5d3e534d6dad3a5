//! Findings as SARIF 2.1.0 (OASIS), which code scanning services read.

use super::{Finding, Level, Report, Source};
use crate::manifest::Span;
use serde::Serialize;
use serde_json::{Value, json};
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
    let results: Vec<SarifResult<'_>> = reports
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
        "shortDescription": text(&rule.summary.replace('`', "\"")),
        "defaultConfiguration": {"level": rule.level.name()},
    })
}

fn text(text: &str) -> Value {
    json!({"text": text})
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult<'f> {
    rule_id: &'f str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule_index: Option<usize>,
    level: &'static str,
    message: Value,
    locations: [Place; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Place>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Place {
    physical_location: PhysicalLocation,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logical_locations: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Value>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Value>,
}

fn result<'f>(source: &Source, finding: &'f Finding, rules: &[Rule<'_>]) -> SarifResult<'f> {
    let field = finding.field.as_deref().filter(|field| !field.is_empty());
    let place = Place {
        physical_location: physical(source, finding.place.map(|place| place.span)),
        logical_locations: field.map(|field| json!({"fullyQualifiedName": field})).into_iter().collect(),
        ..Place::default()
    };
    let alias = finding.place.and_then(|place| place.alias).map(|alias| Place {
        physical_location: physical(source, Some(alias)),
        message: Some(text("comes here by this alias")),
        ..Place::default()
    });
    SarifResult {
        rule_id: &finding.rule,
        rule_index: rules.iter().position(|rule| rule.id == finding.rule),
        level: finding.level.name(),
        message: text(&message(finding)),
        locations: [place],
        related_locations: alias.into_iter().collect(),
    }
}

fn message(finding: &Finding) -> String {
    match &finding.help {
        Some(help) => format!("{}. Help: {help}", finding.message),
        None => finding.message.clone(),
    }
}

fn physical(source: &Source, span: Option<Span>) -> PhysicalLocation {
    let region = span.map(|span| source.region(span)).map(|region| {
        json!({
            "startLine": region.start.line,
            "startColumn": region.start.column,
            "endLine": region.end.line,
            "endColumn": region.end.column,
        })
    });
    PhysicalLocation { artifact_location: json!({"uri": uri(&source.name)}), region }
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
