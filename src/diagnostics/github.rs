//! Findings as GitHub's workflow commands, which become annotations of a pull request.

use super::{Finding, Level, Source};
use crate::text::escaped;

/// One finding as one line, without its line break.
pub fn line(source: &Source, finding: &Finding) -> String {
    let command = match finding.level {
        Level::Error => "error",
        Level::Warning => "warning",
    };
    let mut properties = vec![("file", escaped(&source.name))];
    if let Some(place) = finding.place {
        let region = source.region(place.span);
        properties.push(("line", region.start.line.to_string()));
        properties.push(("endLine", region.end.line.to_string()));
        // GitHub shows columns of one line only, and takes the end as part of it.
        if region.start.line == region.end.line {
            properties.push(("col", region.start.column.to_string()));
            properties.push((
                "endColumn",
                region.end.column.saturating_sub(1).max(region.start.column).to_string(),
            ));
        }
    }
    properties.push(("title", finding.rule.clone()));
    let properties: Vec<String> =
        properties.into_iter().map(|(name, value)| format!("{name}={}", property(&value))).collect();
    format!("::{command} {}::{}", properties.join(","), data(&message(finding)))
}

/// What is wrong, where, and what to do.
fn message(finding: &Finding) -> String {
    let field = finding.field.iter().filter(|field| !field.is_empty()).map(|field| format!("{field}: "));
    let help = finding.help.iter().map(|help| format!("\nhelp: {help}"));
    field.chain([finding.message.clone()]).chain(help).collect()
}

/// What a command's message escapes.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// What a command's property escapes.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
