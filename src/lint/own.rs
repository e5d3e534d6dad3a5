//! What is said of a text beside the catalogue: of what never reaches a server.

use crate::diagnostics::{Finding, Level, Source};
use crate::etcd::{GROUP, VERSION};
use crate::manifest::{Document, Location, Part, Span, SyntaxError};
use crate::rules::{Entry, Kind};
use crate::text::quoted;

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
    own!("foreign-etcd", Level::Warning, "An Etcd is of a group or version that isn't judged."),
    own!("text-after-end", Level::Warning, "Text stands behind `...`: kubectl passes over it."),
    own!("allow", Level::Warning, "An `allow` comment names what can't be allowed."),
];

/// Those of [`OWN`] that say that something isn't told or can't be read: no filter takes them away.
pub(super) const ALWAYS: [&str; 3] = [SYNTAX, UNREADABLE, LEFT_OUT];

/// A finding at a place that is about no field.
pub(super) fn at(level: Level, rule: &str, span: Span, message: String, help: Option<String>) -> Finding {
    let place = Location { span, alias: None, key: None, missing: false };
    Finding { level, rule: rule.to_owned(), message, help, field: None, object: None, place: Some(place) }
}

pub(super) fn syntax(error: SyntaxError) -> Finding {
    at(Level::Error, SYNTAX, error.span, error.message, error.help)
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

/// An Etcd of another group looks like one that was judged.
pub(super) fn foreign_etcd(part: Part<'_>, api_version: &str) -> Finding {
    let message = match api_version {
        "" => "this Etcd has no apiVersion and isn't judged".to_owned(),
        other => format!("an Etcd of {} isn't judged", quoted(other)),
    };
    let place = part.field("apiVersion").or_else(|| part.field("kind")).unwrap_or(part).location();
    let help = format!("the Etcds that are judged are of {GROUP}/{VERSION}");
    at(Level::Warning, FOREIGN_ETCD, place.span, message, Some(help))
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
