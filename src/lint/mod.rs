//! The rules without a server: what it would say of a text with manifests.
//!
//! Pure: texts and what is stored in, findings out. Files, Git and the terminal are `cli`'s.
//!
//! An `Etcd` goes the way that it goes in a cluster: status dropped, defaults filled in, URLs written as mutation
//! writes them, then judged. An AdmissionReview is judged as the server judges it.

mod allow;
mod entries;
mod fields;
mod filter;
mod manifest;
mod own;
mod review;
mod select;
mod stored;
#[cfg(test)]
mod tests;
mod types;

pub use entries::{UnknownId, entries, find, without_brackets};
pub use filter::Filter;
pub use own::{OWN, OwnRule};
pub use stored::Stored;

use crate::diagnostics::{Finding, Level, Report, Source};
use crate::manifest as reader;
use crate::rules::Settings;
use select::Subject;
use serde_json::Value;
use std::collections::BTreeMap;

/// How texts are judged.
#[derive(Debug, Default)]
pub struct Lint {
    /// What the administrator decided about the rules.
    pub settings: Settings,
    /// The namespace of manifests that name none, where it is known.
    pub namespace: Option<String>,
    /// Which rules are asked.
    pub filter: Filter,
    /// Whether a warning is as bad as an error.
    pub deny_warnings: bool,
}

/// What was found in one text.
#[derive(Debug)]
pub struct Linted {
    /// What was found.
    pub report: Report,
    /// How many Etcds and reviews were judged.
    pub judged: usize,
    /// How many violations are not among the findings: beyond what is kept of one object.
    pub left_out: usize,
    /// Objects of other kinds, by kind.
    pub passed_over: BTreeMap<String, usize>,
    /// Whether something could not be read.
    pub unreadable: bool,
}

impl Lint {
    /// Judges by these settings and rules.
    pub fn new(settings: Settings, filter: Filter) -> Self {
        Self { settings, filter, ..Self::default() }
    }

    /// Judges a text; `stored` is what its objects are to replace.
    pub fn text(&self, source: Source, stored: &Stored) -> Linted {
        let file = reader::read(source.text());
        let mut run = Run {
            lint: self,
            stored,
            findings: Vec::new(),
            judged: 0,
            left_out: 0,
            passed_over: BTreeMap::new(),
        };
        for document in &file.documents {
            run.document(document, &source);
        }
        run.findings.extend(file.unread.iter().map(|span| own::text_after_end(*span, source.text())));
        run.findings.retain(|finding| self.filter.lets(&finding.rule));
        let unreadable = !file.errors.is_empty();
        run.findings.extend(file.errors.into_iter().map(own::syntax));
        run.findings.sort_by_key(|finding| finding.place.map(|place| (place.span, place.alias)));
        for finding in run.findings.iter_mut().filter(|_| self.deny_warnings) {
            finding.level = Level::Error;
        }
        let report = Report { source, findings: run.findings };
        Linted {
            report,
            judged: run.judged,
            left_out: run.left_out,
            passed_over: run.passed_over,
            unreadable,
        }
    }

    /// What is said of an input that can't be read at all.
    pub fn unreadable(&self, name: &str, why: &str) -> Linted {
        let report = Report { source: Source::new(name, ""), findings: vec![own::unreadable(why)] };
        Linted { report, judged: 0, left_out: 0, passed_over: BTreeMap::new(), unreadable: true }
    }
}

/// One text under way.
struct Run<'l> {
    lint: &'l Lint,
    stored: &'l Stored,
    findings: Vec<Finding>,
    judged: usize,
    left_out: usize,
    passed_over: BTreeMap<String, usize>,
}

/// What is wrong with one object, and how much more than that.
#[derive(Default)]
struct Judged {
    findings: Vec<Finding>,
    left_out: usize,
}

impl Run<'_> {
    fn document(&mut self, document: &reader::Document, source: &Source) {
        let (text, mut found) = (source.text(), Vec::new());
        for subject in select::subjects(document.root(text)) {
            match subject {
                Subject::Etcd(part) => {
                    let judged = self.lint.manifest(part, self.stored);
                    found.extend(self.counted(judged, part));
                    let own = fields::unknown(part).into_iter();
                    let own = own.chain(own::duplicate_keys(document, part, source));
                    let object = Some(manifest::described(part, self.lint.namespace.as_deref()));
                    found.extend(own.map(|finding| Finding { object: object.clone(), ..finding }));
                }
                Subject::Review(part) => {
                    let judged = review::judged(self.lint, part);
                    found.extend(self.counted(judged, part));
                }
                Subject::Foreign { part, api_version } => found.push(own::foreign_etcd(part, api_version)),
                Subject::Other(kind) => *self.passed_over.entry(kind).or_default() += 1,
            }
        }
        self.findings.extend(allow::apply(found, document, text));
    }

    /// Counts an object. Its findings, and that there are more, if there are.
    fn counted(&mut self, judged: Judged, part: reader::Part<'_>) -> Vec<Finding> {
        let Judged { mut findings, left_out } = judged;
        self.judged += 1;
        self.left_out += left_out;
        if left_out > 0 {
            let object = findings.first().and_then(|finding| finding.object.clone());
            findings.push(Finding { object, ..own::left_out(left_out, part) });
        }
        findings
    }
}

/// The Etcds in a text, by namespace and name: what other texts may replace.
fn etcds(text: &str) -> Vec<Value> {
    let file = reader::read(text);
    let documents = file.documents.iter().flat_map(|document| select::subjects(document.root(text)));
    documents
        .filter_map(|subject| match subject {
            Subject::Etcd(part) => Some(part.value()),
            Subject::Review(_) | Subject::Foreign { .. } | Subject::Other(_) => None,
        })
        .collect()
}
