//! Where the documents of a file begin and end: as kubectl's decoder (`k8s.io/apimachinery/pkg/util/yaml`) tells.
//!
//! A file that begins with `{` is a stream of JSON values until that fails; from there on, and otherwise from the
//! beginning, documents are separated by lines that begin with `---`.

use super::SyntaxError;
use super::node::Span;
use serde::de::IgnoredAny;

/// What separates documents.
const SEPARATOR: &str = "---";

/// One document's text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) span: Span,
    /// Why it isn't JSON, where it begins like it.
    pub(super) not_json: Option<SyntaxError>,
}

impl Chunk {
    fn new(start: usize, end: usize) -> Self {
        Self { span: Span::new(start, end), not_json: None }
    }
}

/// Splits a file. What kubectl takes for no separator is an error, and separates here.
pub(super) fn split(text: &str) -> (Vec<Chunk>, Vec<SyntaxError>) {
    let (mut chunks, at, not_json) = json_values(text);
    let json = chunks.len();
    let mut errors = Vec::new();
    yaml_documents(text, at, &mut chunks, &mut errors);
    if let Some(first) = chunks.get_mut(json).filter(|_| json == 0) {
        first.not_json = not_json;
    }
    (chunks, errors)
}

/// The JSON values that a file begins with, where they end, and why what follows is none.
fn json_values(text: &str) -> (Vec<Chunk>, usize, Option<SyntaxError>) {
    let mut chunks = Vec::new();
    if !text.trim_start().starts_with('{') {
        return (chunks, 0, None);
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let mut at = 0;
    loop {
        match values.next() {
            None => return (chunks, text.len(), None),
            Some(Ok(_)) => {
                chunks.push(Chunk::new(at, values.byte_offset()));
                at = values.byte_offset();
            }
            Some(Err(error)) => return (chunks, at, Some(json_error(text, &error))),
        }
    }
}

fn json_error(text: &str, error: &serde_json::Error) -> SyntaxError {
    let line_start = |number: usize| match number {
        0 | 1 => 0,
        _ => text.match_indices('\n').nth(number - 2).map_or(text.len(), |(at, _)| at + 1),
    };
    let at = (line_start(error.line()) + error.column().saturating_sub(1)).min(text.len());
    let sentence = error.to_string();
    match sentence.rsplit_once(" at line ").map_or(&*sentence, |(sentence, _)| sentence) {
        // serde_json has no kind for it.
        "recursion limit exceeded" => SyntaxError::too_deep(text, at),
        sentence => SyntaxError::at(text, at, sentence.to_owned()),
    }
}

fn yaml_documents(text: &str, from: usize, chunks: &mut Vec<Chunk>, errors: &mut Vec<SyntaxError>) {
    let (mut start, mut at) = (from, from);
    for line in text.get(from..).unwrap_or_default().split_inclusive('\n') {
        if let Some(rest) = line.strip_prefix(SEPARATOR) {
            chunks.push(Chunk::new(start, at));
            start = at + line.len();
            errors.extend(bad_separator(rest, at));
        }
        at += line.len();
    }
    chunks.push(Chunk::new(start, text.len()));
    chunks.retain(|chunk| !chunk.span.of(text).trim().is_empty());
}

/// YAML lets a document begin behind `---`; kubectl doesn't.
fn bad_separator(rest: &str, line: usize) -> Option<SyntaxError> {
    let content = rest.trim();
    if content.is_empty() || content.starts_with('#') {
        return None;
    }
    let start = line + SEPARATOR.len() + (rest.len() - rest.trim_start().len());
    Some(SyntaxError {
        span: Span::new(start, start + content.len()),
        message: "kubectl takes nothing but a comment behind \"---\"".to_owned(),
        help: Some("begin the document on the next line".to_owned()),
    })
}
