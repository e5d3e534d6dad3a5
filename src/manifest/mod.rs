//! Manifests as kubectl reads them, with the place of everything in them.
//!
//! [`read`] takes the text of a file apart into documents; each gives its value as JSON, and for a JSON pointer or a
//! Kubernetes field path the piece of the text where it stands. Pure: text in, documents and errors out.
//!
//! What kubectl makes of a text is decided by `k8s.io/apimachinery/pkg/util/yaml` and `sigs.k8s.io/yaml`, that is
//! go-yaml v2. A table in the tests holds their answers to odd texts. What is not copied is listed in `docs/lint.md`.

mod build;
mod conflict;
mod locate;
mod node;
mod scalar;
mod stream;
#[cfg(test)]
mod tests;

pub use locate::{Location, Part};
pub use node::Span;

use node::Child;

/// How deep lists and mappings may be nested: as deep as the server takes them.
const DEPTH_MAX: usize = 128;

/// What a file holds.
#[derive(Debug, Default)]
pub struct File {
    /// The documents that could be read.
    pub documents: Vec<Document>,
    /// Why others could not.
    pub errors: Vec<SyntaxError>,
    /// Text behind the end of a document (`...`), which kubectl passes over without a word.
    pub unread: Vec<Span>,
    /// Comments with nothing else between two `---`.
    pub loose: Vec<Comment>,
}

/// One document.
#[derive(Debug)]
pub struct Document {
    root: Child,
    /// Its comments, in their order.
    pub comments: Vec<Comment>,
    /// Keys that stand twice in one mapping.
    pub duplicates: Vec<Duplicate>,
}

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// Where it stands, `#` included.
    pub span: Span,
    /// What it says, without `#`.
    pub text: String,
}

/// A key that stands twice in one mapping; what stands at the second counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The key.
    pub name: String,
    /// Where it stands first.
    pub first: Span,
    /// Where it stands again, or is merged in.
    pub second: Span,
}

/// Why a document can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Where.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

impl SyntaxError {
    /// More levels than the server takes.
    fn too_deep(text: &str, at: usize) -> Self {
        let message = format!("lists and mappings are nested deeper than {DEPTH_MAX}");
        Self {
            help: Some("no Etcd is: look for a bracket too many".to_owned()),
            ..Self::at(text, at, message)
        }
    }

    fn new(span: Span, message: &str) -> Self {
        Self { span, message: message.to_owned(), help: None }
    }

    /// At one character.
    fn at(text: &str, at: usize, message: String) -> Self {
        let length = text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        Self { span: Span::new(at, at + length), message, help: None }
    }
}

impl Document {
    /// The whole document; `text` is the file's, as it was given to [`read`].
    pub fn root<'d>(&'d self, text: &'d str) -> Part<'d> {
        Part { child: &self.root, text }
    }
}

/// Reads a file. Documents that can't be read don't keep the others from being read.
pub fn read(text: &str) -> File {
    let (chunks, errors) = stream::split(text);
    let mut file = File { errors, ..File::default() };
    for chunk in chunks {
        let conflict = || conflict::found(text, chunk.span);
        match build::build(text, chunk.span) {
            // Alone between two `---`, a marker is a text.
            Ok(built) if built.is_scalar() && conflict().is_some() => file.errors.extend(conflict()),
            Ok(built) => {
                file.documents.extend(built.document);
                file.loose.extend(built.loose);
                file.unread.extend(built.unread);
            }
            // What looks like JSON is told what JSON lacks.
            Err(error) => {
                let not_json = chunk.not_json.filter(|_| is_json(chunk.span.of(text)));
                let error = not_json.unwrap_or(error);
                file.errors.push(conflict().unwrap_or(error));
            }
        }
    }
    file.errors.sort_by_key(|error| error.span);
    file
}

/// Whether a text was meant as JSON: keys in quotes are seldom written in YAML's own braces.
fn is_json(text: &str) -> bool {
    text.trim_start().strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with('"'))
}
