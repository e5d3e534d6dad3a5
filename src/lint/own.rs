//! What is said of a text beside the catalogue: of what never reaches a server.

use crate::diagnostics::{Finding, Level};
use crate::etcd::{GROUP, VERSION};
use crate::manifest::{Document, Location, Part, Span, SyntaxError};
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
}

const fn error(id: &'static str, summary: &'static str) -> OwnRule {
    OwnRule { id, level: Level::Error, summary }
}

const fn warning(id: &'static str, summary: &'static str) -> OwnRule {
    OwnRule { id, level: Level::Warning, summary }
}

/// Id of what is said of an unknown field.
pub(super) const UNKNOWN_FIELD: &str = "unknown-field";
/// Id of what is said of a comment that allows what it can't.
pub(super) const ALLOW: &str = "allow";
const SYNTAX: &str = "syntax";
const UNREADABLE: &str = "unreadable";
const FOREIGN_ETCD: &str = "foreign-etcd";
const DUPLICATE_KEY: &str = "duplicate-key";
const TEXT_AFTER_END: &str = "text-after-end";

/// Everything that only `lint` says.
pub const OWN: &[OwnRule] = &[
    error(SYNTAX, "A document is YAML or JSON that kubectl can read."),
    error(UNREADABLE, "A file can be read, and is UTF-8."),
    warning(UNKNOWN_FIELD, "A field isn't one of the resource: the API server drops it."),
    warning(DUPLICATE_KEY, "A key stands twice in one mapping: the later one counts."),
    warning(FOREIGN_ETCD, "An Etcd is of a group or version that isn't judged."),
    warning(TEXT_AFTER_END, "Text stands behind `...`: kubectl passes over it."),
    warning(ALLOW, "An `allow` comment names what can't be allowed."),
];

/// Those of [`OWN`] that say that something can't be read: no filter takes them away.
pub(super) const ALWAYS: [&str; 2] = [SYNTAX, UNREADABLE];

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
pub(super) fn duplicate_keys(document: &Document, part: Part<'_>, text: &str) -> Vec<Finding> {
    let whole = part.span();
    let is_in = |span: Span| whole.start <= span.start && span.end <= whole.end;
    let here = document.duplicates.iter().filter(|duplicate| is_in(duplicate.second));
    here.map(|duplicate| {
        let line = 1 + Span::new(0, duplicate.first.start).of(text).matches('\n').count();
        let name = quoted(&duplicate.name);
        let message = format!(
            "{name} stands in this mapping already, on line {line}: for kubectl the later one counts"
        );
        at(Level::Warning, DUPLICATE_KEY, duplicate.second, message, Some("remove one of the two".to_owned()))
    })
    .collect()
}
