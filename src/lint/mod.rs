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
pub use select::WITHOUT_KIND;
pub use stored::Stored;

use crate::diagnostics::{Finding, Level, Report, Source};
use crate::manifest as reader;
use crate::rules::Settings;
use select::Subject;
use std::collections::BTreeMap;
use stored::Ambiguous;

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
    /// How many objects it holds, by what became of them.
    pub counts: Counts,
    /// Whether something could not be read.
    pub unreadable: bool,
}

/// Objects, by what became of them.
#[derive(Debug, Default)]
pub struct Counts {
    /// How many Etcds and reviews were judged.
    pub judged: usize,
    /// How many of them are Etcds that replace a stored one.
    pub updates: usize,
    /// How many of them are Etcds that replace none.
    pub creations: usize,
    /// How many Etcds and reviews could not be judged.
    pub not_judged: usize,
    /// How many violations are not among the findings: beyond what is kept of one object.
    pub left_out: usize,
    /// Objects of other kinds, by kind.
    pub passed_over: BTreeMap<String, usize>,
}

impl Lint {
    /// Judges by these settings and rules.
    pub fn new(settings: Settings, filter: Filter) -> Self {
        Self { settings, filter, ..Self::default() }
    }

    /// Judges a text; `stored` is what its objects are to replace.
    pub fn text(&self, source: Source, stored: &Stored) -> Linted {
        let file = reader::read(source.text());
        let mut run = Run { lint: self, stored, findings: Vec::new(), counts: Counts::default() };
        for document in &file.documents {
            run.document(document, &source);
        }
        run.findings.extend(allow::apply(Vec::new(), &file.loose, source.text()));
        let Run { findings, counts, .. } = run;
        let (report, unreadable) = self.report(source, findings, &file);
        Linted { report, counts, unreadable }
    }

    /// What is said of an input that can't be read at all.
    pub fn unreadable(&self, name: &str, why: &str) -> Linted {
        let report = Report { source: Source::new(name, ""), findings: vec![own::unreadable(why)] };
        Linted { report, counts: Counts::default(), unreadable: true }
    }

    /// What was found in a text, with what its reading says; and whether something in it can't be read.
    fn report(&self, source: Source, mut findings: Vec<Finding>, file: &reader::File) -> (Report, bool) {
        findings.extend(file.unread.iter().map(|span| own::text_after_end(*span, source.text())));
        findings.extend(file.errors.iter().map(own::syntax));
        findings.retain(|finding| self.filter.lets(&finding.rule));
        findings.sort_by_key(|finding| finding.place.map(|place| (place.span, place.alias)));
        for finding in findings.iter_mut().filter(|_| self.deny_warnings) {
            finding.level = Level::Error;
        }
        (Report { source, findings }, !file.errors.is_empty())
    }
}

/// One text under way.
struct Run<'l> {
    lint: &'l Lint,
    stored: &'l Stored,
    findings: Vec<Finding>,
    counts: Counts,
}

/// What is wrong with one object, and how much more than that.
#[derive(Default)]
struct Judged {
    findings: Vec<Finding>,
    left_out: usize,
    /// Whether it was refused before anything judged it.
    is_refused: bool,
}

impl Run<'_> {
    fn document(&mut self, document: &reader::Document, source: &Source) {
        let (text, mut found) = (source.text(), Vec::new());
        for subject in select::subjects(document.root(text)) {
            match subject {
                Subject::Etcd(part) => {
                    found.extend(self.etcd(part));
                    let own = fields::unknown(part).into_iter();
                    let own = own.chain(own::duplicate_keys(document, part, source));
                    let object = Some(manifest::described(part, self.lint.namespace.as_deref()));
                    found.extend(own.map(|finding| Finding { object: object.clone(), ..finding }));
                }
                Subject::Review(part) => {
                    let judged = review::judged(self.lint, part);
                    found.extend(self.counted(judged, part));
                }
                Subject::Foreign { part, why } => found.push(own::foreign_etcd(part, &why)),
                Subject::Other(kind) => *self.counts.passed_over.entry(kind).or_default() += 1,
            }
        }
        self.findings.extend(allow::apply(found, &document.comments, text));
    }

    fn etcd(&mut self, part: reader::Part<'_>) -> Vec<Finding> {
        let old = match self.stored.of(part, self.lint.namespace.as_deref()) {
            Ok(old) => old,
            Err(Ambiguous(namespaces)) => {
                self.counts.not_judged += 1;
                return vec![own::ambiguous(part, &namespaces)];
            }
        };
        self.counts.updates += usize::from(old.is_some());
        self.counts.creations += usize::from(old.is_none());
        self.counted(self.lint.manifest(part, old), part)
    }

    /// Counts an object. Its findings, and that there are more, if there are.
    fn counted(&mut self, judged: Judged, part: reader::Part<'_>) -> Vec<Finding> {
        let Judged { mut findings, left_out, is_refused } = judged;
        self.counts.judged += usize::from(!is_refused);
        self.counts.not_judged += usize::from(is_refused);
        self.counts.left_out += left_out;
        if left_out > 0 {
            let object = findings.first().and_then(|finding| finding.object.clone());
            findings.push(Finding { object, ..own::left_out(left_out, part) });
        }
        findings
    }
}
