//! Comments that allow a warning: `# etcd-warden: allow(rule-id, …) reason`, behind the value or above it.

use super::entries::{find, without_brackets};
use super::own::{self, ALLOW};
use crate::diagnostics::{Finding, Level};
use crate::manifest::{Comment, Document, Span};

const PREFIX: &str = "etcd-warden:";

/// A comment that allows something.
struct Allow<'c> {
    span: Span,
    ids: Vec<&'c str>,
    /// The lines that it is about, by where they begin: its own, and the next with content where nothing else stands
    /// on its own.
    line: usize,
}

/// Takes out the warnings that comments allow, and says what comments allow in vain.
pub(super) fn apply(found: Vec<Finding>, document: &Document, text: &str) -> Vec<Finding> {
    let allows: Vec<Allow<'_>> =
        document.comments.iter().filter_map(|comment| Allow::read(comment, text)).collect();
    if allows.is_empty() {
        return found;
    }
    let allowed = |finding: &Finding| {
        finding.level == Level::Warning && allows.iter().any(|allow| allow.is_at(finding, text))
    };
    let mut kept: Vec<Finding> = found.into_iter().filter(|finding| !allowed(finding)).collect();
    let in_vain = allows.iter().flat_map(|allow| allow.in_vain(&kept, text)).collect::<Vec<_>>();
    kept.extend(in_vain);
    kept
}

impl<'c> Allow<'c> {
    fn read(comment: &'c Comment, text: &str) -> Option<Self> {
        let what = comment.text.trim_start().strip_prefix(PREFIX)?.trim_start().strip_prefix("allow(")?;
        let (ids, _reason) = what.split_once(')')?;
        let ids = ids.split(',').map(without_brackets).filter(|id| !id.is_empty()).collect();
        let own = line_start(text, comment.span.start);
        let is_alone = Span::new(own, comment.span.start).of(text).trim().is_empty();
        let line = if is_alone { next_content(text, comment.span.end) } else { own };
        Some(Self { span: comment.span, ids, line })
    }

    fn is_at(&self, finding: &Finding, text: &str) -> bool {
        let here = |span: Span| line_start(text, span.start) == self.line;
        let stands_here = finding.place.is_some_and(|place| here(place.span) || place.key.is_some_and(here));
        stands_here && self.ids.contains(&finding.rule.as_str())
    }

    /// Ids that don't exist, and errors, which nothing allows.
    fn in_vain(&self, found: &[Finding], text: &str) -> Vec<Finding> {
        let say = |message: String, help: &str| {
            own::at(Level::Warning, ALLOW, self.span, message, Some(help.to_owned()))
        };
        let unknown =
            self.ids.iter().filter_map(|id| find(id).err()).map(|unknown| {
                say(unknown.to_string(), "write the id as it stands in the warning's brackets")
            });
        let errors =
            found.iter().filter(|finding| finding.level == Level::Error && self.is_at(finding, text));
        let errors = errors.map(|finding| {
            say(format!("{} is an error, and only warnings can be allowed", finding.rule), "mend the value")
        });
        unknown.chain(errors).collect()
    }
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
