//! What is printed of what was found.

use super::{Args, Format, Found};
use crate::cli::Failure;
use crate::cli::output::print_as_is;
use crate::diagnostics::text::{self, Style};
use crate::diagnostics::{Level, Report, github, json, sarif};
use crate::lint::{Counts, Linted, WITHOUT_KIND, entries};
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
    not_judged: usize,
    #[serde(flatten)]
    compared: Option<Compared>,
    errors: usize,
    warnings: usize,
    left_out: usize,
    passed_over: BTreeMap<String, usize>,
}

/// What there is in numbers where files are compared with what was before.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Compared {
    updates: usize,
    old_unreadable: usize,
}

/// Everything, as JSON.
#[derive(Serialize)]
struct Document<'l> {
    version: u32,
    summary: Summary,
    findings: Vec<json::Entry<'l>>,
}

/// How many findings of a level there are.
pub(super) fn count(found: &Found, level: Level) -> usize {
    let findings = found.all().flat_map(|linted| &linted.report.findings);
    findings.filter(|finding| finding.level == level).count()
}

/// Prints everything on standard output.
pub(super) fn print(args: &Args, found: &Found) -> Result<(), Failure> {
    let text = match args.format {
        Format::Text => as_text(found, args.color.into()),
        Format::Github => lines(found),
        Format::Json => as_json(&document(found))?,
        Format::Sarif => as_json(&log(found))?,
    };
    print_as_is(text.as_bytes())
}

fn as_text(found: &Found, style: Style) -> String {
    let mut out = String::new();
    for Linted { report, .. } in found.all() {
        for finding in &report.findings {
            let _ = writeln!(out, "{}\n", text::render(&report.source, finding, style));
        }
    }
    out + &sentence(&summary(found))
}

fn lines(found: &Found) -> String {
    let mut out = String::new();
    for Linted { report, .. } in found.all() {
        for finding in &report.findings {
            let _ = writeln!(out, "{}", github::line(&report.source, finding));
        }
    }
    out + &sentence(&summary(found))
}

fn as_json(document: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(document);
    text.map(|text| text + "\n").map_err(|error| Failure::Failed(error.to_string()))
}

fn document(found: &Found) -> Document<'_> {
    let entries = found.all().flat_map(|Linted { report, .. }| {
        report.findings.iter().map(|finding| json::Entry::new(&report.source, finding))
    });
    Document { version: JSON_VERSION, summary: summary(found), findings: entries.collect() }
}

fn log(found: &Found) -> serde_json::Value {
    let rules: Vec<sarif::Rule<'_>> = entries().map(|entry| described(&entry)).collect();
    let reports: Vec<&Report> = found.all().map(|linted| &linted.report).collect();
    sarif::log(&reports, &rules, found.all().all(|linted| !linted.unreadable))
}

fn described(entry: &Entry) -> sarif::Rule<'static> {
    let level = match entry.kind {
        Kind::Rule => Level::Error,
        Kind::Warning => Level::Warning,
    };
    sarif::Rule { id: entry.id, summary: entry.summary, level }
}

fn summary(found: &Found) -> Summary {
    let files = &found.files;
    let mut passed_over = BTreeMap::new();
    for (kind, count) in files.iter().flat_map(|linted| &linted.counts.passed_over) {
        *passed_over.entry(escaped(kind)).or_default() += count;
    }
    let sum = |count: fn(&Counts) -> usize| files.iter().map(|linted| count(&linted.counts)).sum();
    let compared = found.before.as_ref().map(|before| Compared {
        updates: sum(|counts| counts.updates),
        old_unreadable: before.iter().filter(|linted| linted.unreadable).count(),
    });
    Summary {
        files: files.len(),
        unreadable: files.iter().filter(|linted| linted.unreadable).count(),
        judged: sum(|counts| counts.judged),
        not_judged: sum(|counts| counts.not_judged),
        compared,
        errors: count(found, Level::Error),
        warnings: count(found, Level::Warning),
        left_out: sum(|counts| counts.left_out),
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
    let mut line = format!("{found}: {} in {}", judged(summary), counted(summary.files, "file"));
    if summary.unreadable > 0 {
        let _ = write!(line, ", {} of them not readable", summary.unreadable);
    }
    if summary.compared.as_ref().is_some_and(|compared| compared.old_unreadable > 0) {
        line.push_str("; what they are compared with can't all be read");
    }
    if summary.not_judged > 0 {
        let _ = write!(line, "; {} not judged", counted(summary.not_judged, "object"));
    }
    if summary.left_out > 0 {
        let _ = write!(line, "; {} not shown", counted(summary.left_out, "more violation"));
    }
    if !summary.passed_over.is_empty() {
        let kinds: Vec<String> =
            summary.passed_over.iter().map(|(kind, count)| counted(*count, kind)).collect();
        let _ = write!(line, "; passed over: {}", kinds.join(", "));
    }
    line + "\n"
}

fn judged(summary: &Summary) -> String {
    let judged = match summary.judged {
        0 => "no Etcd".to_owned(),
        judged => counted(judged, "Etcd"),
    };
    match &summary.compared {
        None => judged,
        Some(Compared { updates: 0, .. }) => judged + " (no update)",
        Some(Compared { updates, .. }) => format!("{judged} ({})", counted(*updates, "update")),
    }
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {}", plural(what)) }
}

/// Several of a kind, as English and Kubernetes form them: Ingresses, Policies, Gateways, Endpoints.
fn plural(what: &str) -> String {
    let ends = |ends: &[&str]| ends.iter().any(|end| what.ends_with(end));
    match what {
        WITHOUT_KIND => "documents without a kind".to_owned(),
        "Endpoints" => what.to_owned(),
        _ if ends(&["s", "x", "ch", "sh"]) => format!("{what}es"),
        _ if ends(&["ay", "ey", "oy", "uy"]) => format!("{what}s"),
        _ => match what.strip_suffix('y') {
            Some(stem) => format!("{stem}ies"),
            None => format!("{what}s"),
        },
    }
}
