//! What is said of a text beside the catalogue: of what never reaches a server.

use super::manifest::described;
use super::select::Foreign;
use crate::diagnostics::{Finding, Level, Source};
use crate::etcd::{GROUP, KIND, VERSION};
use crate::manifest::{Document, Location, Part, Span, SyntaxError};
use crate::rules::{Entry, Kind, NOT_JUDGED};
use crate::text::quoted;
use serde_json::Value;

/// Something that only `lint` says.
#[derive(Clone, Copy, Debug)]
pub struct OwnRule {
    /// Stable id.
    pub id: &'static str,
    /// How bad it is.
    pub level: Level,
    /// When it is said, in one sentence.
    pub summary: &'static str,
    /// What explains it, in Markdown: `docs/rules/<id>.md`.
    pub page: &'static str,
}

impl From<&OwnRule> for Entry {
    fn from(own: &OwnRule) -> Self {
        let kind = match own.level {
            Level::Error => Kind::Rule,
            Level::Warning => Kind::Warning,
        };
        Self::beside_the_catalogue(own.id, kind, own.summary, own.page)
    }
}

/// A row of the table. One whose page isn't there doesn't compile.
macro_rules! own {
    ($id:literal, $level:expr, $summary:literal $(,)?) => {
        OwnRule {
            id: $id,
            level: $level,
            summary: $summary,
            page: include_str!(concat!("../../docs/rules/", $id, ".md")),
        }
    };
}

/// Id of what is said of an unknown field.
pub(super) const UNKNOWN_FIELD: &str = "unknown-field";
/// Id of what is said of a comment that allows what it can't.
pub(super) const ALLOW: &str = "allow";
const SYNTAX: &str = "syntax";
const UNREADABLE: &str = "unreadable";
const LEFT_OUT: &str = "left-out";
const FOREIGN_ETCD: &str = "foreign-etcd";
const DUPLICATE_KEY: &str = "duplicate-key";
const TEXT_AFTER_END: &str = "text-after-end";

/// Everything that only `lint` says.
pub const OWN: &[OwnRule] = &[
    own!("syntax", Level::Error, "A document is YAML or JSON that kubectl can read."),
    own!("unreadable", Level::Error, "A file can be read, and is UTF-8; a folder holds manifests."),
    own!("left-out", Level::Error, "An object breaks rules at more places than are told one by one."),
    own!("unknown-field", Level::Warning, "A field isn't one of the resource: the API server drops it."),
    own!("duplicate-key", Level::Warning, "A key stands twice in one mapping: the later one counts."),
    own!(
        "foreign-etcd",
        Level::Warning,
        "What looks like an Etcd is of a group, version or kind that isn't judged."
    ),
    own!("text-after-end", Level::Warning, "Text stands behind `...`: kubectl passes over it."),
    own!("allow", Level::Warning, "An `allow` comment isn't written as one, or names what can't be allowed."),
];

/// What says that something isn't judged, isn't told or can't be read: no filter takes it away.
pub(super) const ALWAYS: [&str; 4] = [SYNTAX, UNREADABLE, LEFT_OUT, NOT_JUDGED];

/// A finding at a place that is about no field.
pub(super) fn at(level: Level, rule: &str, span: Span, message: String, help: Option<String>) -> Finding {
    let place = Location { span, alias: None, key: None, missing: false };
    Finding { level, rule: rule.to_owned(), message, help, field: None, object: None, place: Some(place) }
}

pub(super) fn syntax(error: &SyntaxError) -> Finding {
    at(Level::Error, SYNTAX, error.span, error.message.clone(), error.help.clone())
}

pub(super) fn unreadable(why: &str) -> Finding {
    Finding {
        level: Level::Error,
        rule: UNREADABLE.to_owned(),
        message: why.to_owned(),
        help: None,
        field: None,
        object: None,
        place: None,
    }
}

/// An object breaks rules at more places than anybody keeps.
pub(super) fn left_out(count: usize, part: Part<'_>) -> Finding {
    let place = part.field("kind").unwrap_or(part).location();
    let violations = if count == 1 { "violation" } else { "violations" };
    let message = format!("{count} more {violations} of this object are not shown");
    let help = "mend those that are, and lint again";
    at(Level::Error, LEFT_OUT, place.span, message, Some(help.to_owned()))
}

pub(super) fn text_after_end(span: Span, text: &str) -> Finding {
    let first_line = span.of(text).lines().next().unwrap_or_default();
    let span = Span::new(span.start, span.start + first_line.len());
    let message = "kubectl reads nothing behind \"...\"".to_owned();
    at(Level::Warning, TEXT_AFTER_END, span, message, Some("begin another document with \"---\"".to_owned()))
}

/// What looks like an Etcd looks as if it were judged.
pub(super) fn foreign_etcd(part: Part<'_>, why: &Foreign<'_>) -> Finding {
    let (message, help, places) = match why {
        Foreign::Version("") => {
            let help = format!("write \"apiVersion: {GROUP}/{VERSION}\", if that is meant");
            (no_text(part, "apiVersion", "this Etcd"), help, ["apiVersion", "kind"])
        }
        Foreign::Version(other) => {
            let help = format!("the Etcds that are judged are of {GROUP}/{VERSION}");
            (format!("an Etcd of {} isn't judged", quoted(other)), help, ["apiVersion", "kind"])
        }
        Foreign::Kind("") => {
            let message = no_text(part, "kind", &format!("this object of {GROUP}"));
            (message, format!("write \"kind: {KIND}\", if that is meant"), ["kind", "apiVersion"])
        }
        Foreign::Kind(other) => {
            let message = format!("{GROUP} has no kind {}: this object isn't judged", quoted(other));
            (message, format!("write \"kind: {KIND}\""), ["kind", "apiVersion"])
        }
        Foreign::Listed => {
            let message = "this Etcd stands in a list that isn't of kind List, and isn't judged".to_owned();
            let help = "write it as a document of its own, or as one of the items of a List".to_owned();
            (message, help, ["kind", "apiVersion"])
        }
    };
    let place = places.iter().find_map(|name| part.field(name)).unwrap_or(part).location();
    at(Level::Warning, FOREIGN_ETCD, place.span, message, Some(help))
}

/// What is said of an object with a field that should be a text.
fn no_text(part: Part<'_>, field: &str, object: &str) -> String {
    let found = part.field(field).map(|found| found.value());
    let what = match found {
        None => return format!("{object} has no {field} and isn't judged"),
        Some(Value::Array(_)) => "a list",
        Some(Value::Object(_)) => "a mapping",
        Some(Value::Number(_)) => "a number",
        Some(Value::Bool(_)) => "a boolean",
        Some(Value::Null | Value::String(_)) => "empty",
    };
    format!("{field} of {object} is {what}, where a text should be: it isn't judged")
}

/// Several stored objects might be what a manifest replaces.
pub(super) fn ambiguous(part: Part<'_>, namespaces: &[&str]) -> Finding {
    let metadata = part.field("metadata");
    let place = metadata.and_then(|metadata| metadata.field("name")).unwrap_or(part).location();
    let shown: Vec<String> = namespaces.iter().map(|namespace| quoted(namespace)).collect();
    let message = format!(
        "this Etcd names no namespace, and what is stored has its name in the namespaces {}: it isn't judged",
        listed(&shown)
    );
    let help = "say with --namespace which it replaces, or write metadata.namespace".to_owned();
    Finding {
        object: Some(described(part, None)),
        ..at(Level::Error, NOT_JUDGED, place.span, message, Some(help))
    }
}

/// Names in words: `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        names => names.concat(),
    }
}

/// The keys of an object that stand twice.
pub(super) fn duplicate_keys(document: &Document, part: Part<'_>, source: &Source) -> Vec<Finding> {
    let whole = part.span();
    let is_in = |span: Span| whole.start <= span.start && span.end <= whole.end;
    let here = document.duplicates.iter().filter(|duplicate| is_in(duplicate.second));
    here.map(|duplicate| {
        let line = source.position(duplicate.first.start).line;
        let name = quoted(&duplicate.name);
        let message = format!(
            "{name} stands in this mapping already, on line {line}: for kubectl the later one counts"
        );
        at(Level::Warning, DUPLICATE_KEY, duplicate.second, message, Some("remove one of the two".to_owned()))
    })
    .collect()
}
