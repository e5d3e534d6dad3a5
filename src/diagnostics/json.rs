//! Findings as JSON. Field names are part of the format, which `docs/lint.md` describes.

use super::{Finding, Source};
use serde::Serialize;

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry<'f> {
    level: &'static str,
    rule: &'f str,
    message: &'f str,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'f str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'f str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<&'f str>,
    file: &'f str,
    #[serde(flatten)]
    region: Option<Region>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alias: Option<Region>,
}

/// A piece of a text: lines and columns from 1, columns in characters, the end behind the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
}

impl<'f> Entry<'f> {
    /// A finding in a text.
    pub fn new(source: &'f Source, finding: &'f Finding) -> Self {
        let region = |span| {
            let super::Region { start, end } = source.region(span);
            Region { line: start.line, column: start.column, end_line: end.line, end_column: end.column }
        };
        Self {
            level: finding.level.name(),
            rule: &finding.rule,
            message: &finding.message,
            help: finding.help.as_deref(),
            field: finding.field.as_deref().filter(|field| !field.is_empty()),
            object: finding.object.as_deref(),
            file: &source.name,
            region: finding.place.map(|place| region(place.span)),
            alias: finding.place.and_then(|place| place.alias).map(region),
        }
    }
}
