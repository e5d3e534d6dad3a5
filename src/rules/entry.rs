//! Rules and warnings alike: what can be looked up by an id.

use super::catalogue::{Group, RULES, Rule};
use super::page::Page;
use super::warnings::{WARNINGS, WarningRule};

/// A rule or a warning, as far as they are documented alike.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its id.
    pub id: &'static str,
    /// Whether it refuses or warns.
    pub kind: Kind,
    /// The chapter that it belongs to.
    pub group: Group,
    /// The operations that it runs on, as they are written in the documentation.
    pub runs: String,
    /// What it demands, or when it is given, in one sentence.
    pub summary: &'static str,
    /// What the CRD alone can't see of it; nothing of a warning, which a CRD knows nothing of.
    pub beyond_crd: Option<&'static str>,
    page: &'static str,
}

/// Whether something is refused or only warned of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A violation refuses the request.
    Rule,
    /// The request is allowed with a warning.
    Warning,
}

impl Entry {
    /// What is said without a rule of the catalogue, of files and their text.
    pub(crate) fn beside_the_catalogue(
        id: &'static str,
        kind: Kind,
        summary: &'static str,
        page: &'static str,
    ) -> Self {
        Self { id, kind, group: Group::Files, runs: "lint".to_owned(), summary, beyond_crd: None, page }
    }

    /// What explains it.
    pub fn page(&self) -> Page<'static> {
        Page::read(self.page)
    }
}

impl From<&Rule> for Entry {
    fn from(rule: &Rule) -> Self {
        Self {
            id: rule.id,
            kind: Kind::Rule,
            group: rule.group,
            runs: rule.runs(),
            summary: rule.summary,
            beyond_crd: rule.beyond_crd,
            page: rule.page,
        }
    }
}

impl From<&WarningRule> for Entry {
    fn from(warning: &WarningRule) -> Self {
        Self {
            id: warning.id,
            kind: Kind::Warning,
            group: warning.group,
            runs: warning.runs().to_owned(),
            summary: warning.summary,
            beyond_crd: None,
            page: warning.page,
        }
    }
}

/// Every rule, then every warning, in the order of the tables.
pub fn entries() -> impl Iterator<Item = Entry> {
    RULES.iter().map(Entry::from).chain(WARNINGS.iter().map(Entry::from))
}
