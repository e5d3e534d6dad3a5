//! Comments that allow a warning: `# etcd-warden: allow(rule-id, …) reason`, behind the value or above it.

use super::entries::{find, without_brackets};
use super::own::{self, ALLOW, ALWAYS};
use crate::diagnostics::{Finding, Level};
use crate::manifest::{Comment, Span};
use crate::rules::{Entry, Kind};
use crate::text::quoted;

const NAME: &str = "etcd-warden";
const WORD: &str = "allow";

/// A comment that allows something.
struct Allow<'c> {
    span: Span,
    ids: Vec<&'c str>,
    /// The lines that it is about, by where they begin: its own, and the next with content where nothing else stands
    /// on its own.
    line: usize,
}

/// Takes out the warnings that comments allow, and says what comments allow in vain.
pub(super) fn apply(found: Vec<Finding>, comments: &[Comment], text: &str) -> Vec<Finding> {
    let (mut allows, mut in_vain) = (Vec::new(), Vec::new());
    for comment in comments.iter().filter(|comment| is_meant(&comment.text)) {
        match Allow::read(comment, text) {
            Some(allow) => allows.push(allow),
            None => in_vain.push(not_written_right(comment)),
        }
    }
    in_vain.extend(allows.iter().flat_map(Allow::in_vain));
    let allowed = |finding: &Finding| allows.iter().any(|allow| allow.allows(finding, text));
    found.into_iter().filter(|finding| !allowed(finding)).chain(in_vain).collect()
}

/// Whether a comment is for this program, right or wrong. Prose that begins with its name is not, nor is a key of that
/// name behind which nothing stands.
fn is_meant(comment: &str) -> bool {
    let Some((name, rest)) = comment.trim_start().split_at_checked(NAME.len()) else { return false };
    let rest = rest.trim_start_matches([' ', '\t', '-', '_']);
    let word = rest.split(|character: char| !character.is_alphanumeric()).next().unwrap_or_default();
    let says = rest.strip_prefix(':').is_some_and(|said| !said.trim().is_empty());
    name.eq_ignore_ascii_case(NAME) && (says || word.eq_ignore_ascii_case(WORD))
}

fn not_written_right(comment: &Comment) -> Finding {
    let said = comment.text.trim();
    let message = format!("{} allows nothing: it isn't written as such a comment is", quoted(said));
    let help =
        format!("write \"# {NAME}: {WORD}(id) reason\", the id as it stands in the warning's brackets");
    own::at(Level::Warning, ALLOW, comment.span, message, Some(help))
}

impl<'c> Allow<'c> {
    fn read(comment: &'c Comment, text: &str) -> Option<Self> {
        let said = comment.text.trim_start().strip_prefix(NAME)?.strip_prefix(':')?.trim_start();
        let (ids, _reason) = said.strip_prefix(WORD)?.strip_prefix('(')?.split_once(')')?;
        let ids: Vec<&str> = ids.split(',').map(without_brackets).filter(|id| !id.is_empty()).collect();
        let own = line_start(text, comment.span.start);
        let is_alone = Span::new(own, comment.span.start).of(text).trim().is_empty();
        let line = if is_alone { next_content(text, comment.span.end) } else { own };
        (!ids.is_empty()).then_some(Self { span: comment.span, ids, line })
    }

    fn allows(&self, finding: &Finding, text: &str) -> bool {
        let here = |span: Span| line_start(text, span.start) == self.line;
        let stands_here = finding.place.is_some_and(|place| here(place.span) || place.key.is_some_and(here));
        stands_here
            && finding.level == Level::Warning
            && self.ids.contains(&finding.rule.as_str())
            && find(&finding.rule).is_ok_and(|entry| !is_error(&entry))
    }

    /// Ids that don't exist, and errors, which nothing allows.
    fn in_vain(&self) -> Vec<Finding> {
        let say = |message: String, help: &str| {
            own::at(Level::Warning, ALLOW, self.span, message, Some(help.to_owned()))
        };
        let said = self.ids.iter().filter_map(|id| match find(id) {
            Err(unknown) => {
                Some(say(unknown.to_string(), "write the id as it stands in the warning's brackets"))
            }
            Ok(entry) if is_error(&entry) => {
                let message = format!("{id} is an error, and only warnings can be allowed");
                Some(say(message, "remove it from the comment, and mend what the error says"))
            }
            Ok(_) => None,
        });
        said.collect()
    }
}

/// Whether what bears the id is an error, here: that an object isn't judged is a warning of the server alone.
fn is_error(entry: &Entry) -> bool {
    entry.kind == Kind::Rule || ALWAYS.contains(&entry.id)
}

fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |line_break| line_break + 1)
}

/// Where the next line begins that holds more than a comment.
fn next_content(text: &str, from: usize) -> usize {
    let mut at = from;
    for line in text.get(from..).unwrap_or_default().split_inclusive('\n') {
        let content = line.trim_start();
        if at != from && !content.is_empty() && !content.starts_with('#') {
            return at;
        }
        at += line.len();
    }
    at
}
