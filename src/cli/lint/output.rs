//! What is printed of what was found.

use super::{Args, Format};
use crate::cli::Failure;
use crate::cli::output::print_as_is;
use crate::diagnostics::text::{self, Style};
use crate::diagnostics::{Level, Report, github, json, sarif};
use crate::lint::{Linted, entries};
use crate::rules::{Entry, Kind};
use crate::text::escaped;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The version of the JSON format: another one when a field changes its meaning or goes.
const JSON_VERSION: u32 = 1;

/// What was found, in numbers.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    files: usize,
    unreadable: usize,
    judged: usize,
    errors: usize,
    warnings: usize,
    left_out: usize,
    passed_over: BTreeMap<String, usize>,
}

/// Everything, as JSON.
#[derive(Serialize)]
struct Document<'l> {
    version: u32,
    summary: Summary,
    findings: Vec<json::Entry<'l>>,
}

/// How many findings of a level there are.
pub(super) fn count(linted: &[Linted], level: Level) -> usize {
    let findings = linted.iter().flat_map(|linted| &linted.report.findings);
    findings.filter(|finding| finding.level == level).count()
}

/// Prints everything on standard output.
pub(super) fn print(args: &Args, linted: &[Linted]) -> Result<(), Failure> {
    let text = match args.format {
        Format::Text => as_text(linted, args.color.into()),
        Format::Github => lines(linted),
        Format::Json => as_json(&document(linted))?,
        Format::Sarif => as_json(&log(linted))?,
    };
    print_as_is(text.as_bytes())
}

fn as_text(linted: &[Linted], style: Style) -> String {
    let mut out = String::new();
    for Linted { report, .. } in linted {
        for finding in &report.findings {
            let _ = writeln!(out, "{}\n", text::render(&report.source, finding, style));
        }
    }
    out + &sentence(&summary(linted))
}

fn lines(linted: &[Linted]) -> String {
    let mut out = String::new();
    for Linted { report, .. } in linted {
        for finding in &report.findings {
            let _ = writeln!(out, "{}", github::line(&report.source, finding));
        }
    }
    out + &sentence(&summary(linted))
}

fn as_json(document: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(document);
    text.map(|text| text + "\n").map_err(|error| Failure::Failed(error.to_string()))
}

fn document(linted: &[Linted]) -> Document<'_> {
    let entries = linted.iter().flat_map(|Linted { report, .. }| {
        report.findings.iter().map(|finding| json::Entry::new(&report.source, finding))
    });
    Document { version: JSON_VERSION, summary: summary(linted), findings: entries.collect() }
}

fn log(linted: &[Linted]) -> serde_json::Value {
    let rules: Vec<sarif::Rule<'_>> = entries().map(|entry| described(&entry)).collect();
    let reports: Vec<&Report> = linted.iter().map(|linted| &linted.report).collect();
    sarif::log(&reports, &rules, linted.iter().all(|linted| !linted.unreadable))
}

fn described(entry: &Entry) -> sarif::Rule<'static> {
    let level = match entry.kind {
        Kind::Rule => Level::Error,
        Kind::Warning => Level::Warning,
    };
    sarif::Rule { id: entry.id, summary: entry.summary, level }
}

fn summary(linted: &[Linted]) -> Summary {
    let mut passed_over = BTreeMap::new();
    for (kind, count) in linted.iter().flat_map(|linted| &linted.passed_over) {
        *passed_over.entry(escaped(kind)).or_default() += count;
    }
    Summary {
        files: linted.len(),
        unreadable: linted.iter().filter(|linted| linted.unreadable).count(),
        judged: linted.iter().map(|linted| linted.judged).sum(),
        errors: count(linted, Level::Error),
        warnings: count(linted, Level::Warning),
        left_out: linted.iter().map(|linted| linted.left_out).sum(),
        passed_over,
    }
}

/// The last line: what was found in how much, and what was passed over.
fn sentence(summary: &Summary) -> String {
    let found = match (summary.errors, summary.warnings) {
        (0, 0) => "nothing wrong".to_owned(),
        (errors, 0) => counted(errors, "error"),
        (0, warnings) => counted(warnings, "warning"),
        (errors, warnings) => format!("{}, {}", counted(errors, "error"), counted(warnings, "warning")),
    };
    let judged = match summary.judged {
        0 => "no Etcd".to_owned(),
        judged => counted(judged, "Etcd"),
    };
    let mut line = format!("{found}: {judged} in {}", counted(summary.files, "file"));
    if summary.unreadable > 0 {
        let _ = write!(line, ", {} of them not readable", summary.unreadable);
    }
    if summary.left_out > 0 {
        let _ = write!(line, "; {} not shown", counted(summary.left_out, "more violation"));
    }
    if !summary.passed_over.is_empty() {
        let kinds: Vec<String> =
            summary.passed_over.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let _ = write!(line, "; passed over: {}", kinds.join(", "));
    }
    line + "\n"
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
