//! What was found in a text, shown to people and to programs.
//!
//! [`text`] shows findings as a compiler does, the value underlined; the other modules write what CI systems read. All
//! of somebody else's text is escaped on its way.

pub mod github;
pub mod json;
pub mod sarif;
mod sentence;
mod source;
#[cfg(test)]
mod tests;
pub mod text;

pub use sentence::Sentence;
pub use source::{Position, Region, Source};

use crate::manifest::Location;
use crate::text::quoted;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// It is refused.
    Error,
    /// It is legal, but unwise.
    Warning,
}

impl Level {
    /// The word for it, in every format.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// Id of the rule or warning.
    pub rule: String,
    /// What is wrong, without the rule's id.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Kubernetes field path, where it is about a field.
    pub field: Option<String>,
    /// The object that it is about, such as `Etcd prod/main`.
    pub object: Option<String>,
    /// Where it stands; nothing where it is about the whole file.
    pub place: Option<Location>,
}

impl Finding {
    /// What a rule says of a field: its message as the server answers it, with the rule's id at the end or without.
    pub fn of_field(level: Level, rule: &str, field: &str, message: &str, place: Location) -> Self {
        let message = message.strip_prefix(field).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(message);
        let Sentence { what, help } = Sentence::read(message, rule);
        let place = if is_about_its_key(field, &what) { place.at_key() } else { place };
        let message = if what == sentence::REQUIRED_VALUE { required(field, place) } else { what };
        Self {
            level,
            rule: rule.to_owned(),
            message,
            help,
            field: Some(field.to_owned()),
            object: None,
            place: Some(place),
        }
    }
}

/// Whether the value that is refused is the key that the brackets of the field hold.
fn is_about_its_key(field: &str, what: &str) -> bool {
    let key = field.strip_suffix(']').and_then(|field| field.split_once('['));
    let value = what.split_once("Invalid value: ").map(|(_, rest)| rest);
    key.zip(value).is_some_and(|((_, key), value)| value.starts_with(&format!("{}: ", quoted(key))))
}

/// What is said of a value that must be there.
fn required(field: &str, place: Location) -> String {
    let name = field.rsplit('.').next().unwrap_or(field);
    let how = if place.missing { "missing" } else { "empty" };
    format!("{}: \"{name}\" is {how}", sentence::REQUIRED_VALUE)
}

/// Findings of one text.
#[derive(Debug)]
pub struct Report {
    /// The text.
    pub source: Source,
    /// What was found in it, in the order of the text.
    pub findings: Vec<Finding>,
}
