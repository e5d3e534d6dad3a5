//! A text with a name, and lines and columns in it.

use crate::manifest::Span;

/// A text with a name.
#[derive(Debug)]
pub struct Source {
    /// Its name, as it was given: a path, or what stands for one.
    pub name: String,
    text: String,
    /// Where each line begins.
    lines: Vec<usize>,
}

/// A place in a text as an editor shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// From 1.
    pub line: usize,
    /// From 1, in characters (Unicode code points).
    pub column: usize,
}

/// A piece of a text as an editor shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its first character.
    pub start: Position,
    /// Behind its last character.
    pub end: Position,
}

impl Source {
    /// A text with a name. A byte order mark is no part of it.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let mut text = text.into();
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(breaks).collect();
        Self { name: name.into(), text, lines }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where a span begins and ends.
    pub fn region(&self, span: Span) -> Region {
        Region { start: self.position(span.start), end: self.position(span.end.max(span.start)) }
    }

    /// Line and column of a byte.
    pub fn position(&self, at: usize) -> Position {
        let line = self.line_of(at);
        let start = self.line_start(line);
        let before = self.text.get(start..at.min(self.text.len())).unwrap_or_default();
        Position { line: line + 1, column: before.chars().count() + 1 }
    }

    /// Number of the line of a byte, from 0.
    pub(super) fn line_of(&self, at: usize) -> usize {
        self.lines.partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// Where a line begins, its number counted from 0.
    pub(super) fn line_start(&self, line: usize) -> usize {
        self.lines.get(line).copied().unwrap_or(self.text.len())
    }

    /// The line of a byte, from 0, as a span without its line break.
    pub fn line(&self, line: usize) -> Span {
        let start = self.line_start(line);
        let text = Span::new(start, self.line_start(line + 1)).of(&self.text);
        Span::new(start, start + text.trim_end_matches(['\n', '\r']).len())
    }
}
