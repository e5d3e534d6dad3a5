//! What Git leaves in a file where two branches changed the same lines.

use super::SyntaxError;
use super::node::Span;

/// What the lines begin with that Git writes around the two sides, and between them.
const SIDES: [&str; 2] = ["<<<<<<<", ">>>>>>>"];
const BETWEEN: &str = "=======";

/// The first line of a merge conflict in a piece of a text, where that isn't YAML.
pub(super) fn found(text: &str, chunk: Span) -> Option<SyntaxError> {
    let mut at = chunk.start;
    for line in chunk.of(text).split_inclusive('\n') {
        let content = line.trim_end();
        if is_marker(content) {
            let message = "this is a merge conflict that isn't resolved".to_owned();
            let help =
                "keep what is meant of the two sides, and remove the lines with <<<<<<<, ======= and >>>>>>>";
            return Some(SyntaxError {
                span: Span::new(at, at + content.len()),
                message,
                help: Some(help.to_owned()),
            });
        }
        at += line.len();
    }
    None
}

fn is_marker(line: &str) -> bool {
    let is_side =
        |side: &&str| line.strip_prefix(*side).is_some_and(|name| name.is_empty() || name.starts_with(' '));
    line == BETWEEN || SIDES.iter().any(is_side)
}
