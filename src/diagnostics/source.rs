//! A text with a name, and lines and columns in it.

use crate::manifest::Span;

/// Bytes between two places of which it is known how many characters stand before them: a column in a line of a
/// megabyte is found without counting the megabyte.
const STEP: usize = 4096;

/// A text with a name.
#[derive(Debug)]
pub struct Source {
    /// Its name, as it was given: a path, or what stands for one.
    pub name: String,
    text: String,
    /// Where each line begins.
    lines: Vec<usize>,
    /// Places, and how many characters stand before each.
    counted: Vec<(usize, usize)>,
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
        let counted = counted(&text);
        Self { name: name.into(), text, lines, counted }
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
        let before = self.characters_before(at.min(self.text.len()));
        let column = before.saturating_sub(self.characters_before(self.line_start(line)));
        Position { line: line + 1, column: column + 1 }
    }

    fn characters_before(&self, at: usize) -> usize {
        let known = self.counted.partition_point(|(place, _)| *place <= at).saturating_sub(1);
        let (place, before) = self.counted.get(known).copied().unwrap_or_default();
        before + self.text.get(place..at).unwrap_or_default().chars().count()
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

fn counted(text: &str) -> Vec<(usize, usize)> {
    let (mut at, mut characters, mut counted) = (0, 0, vec![(0, 0)]);
    while at + STEP < text.len() {
        let next = text.floor_char_boundary(at + STEP);
        characters += text.get(at..next).unwrap_or_default().chars().count();
        at = next;
        counted.push((at, characters));
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_in_characters_however_long_a_line_is() {
        let line = "aä日😀".repeat(3 * STEP);
        let source = Source::new("x", format!("short\n{line}\nä"));
        let start = "short\n".len();
        for (count, (at, _)) in line.char_indices().enumerate().step_by(997) {
            assert_eq!(source.position(start + at), Position { line: 2, column: count + 1 }, "{at}");
        }
        let end = Position { line: 2, column: 4 * 3 * STEP + 1 };
        assert_eq!(source.position(start + line.len()), end);
        assert_eq!(source.position(usize::MAX), Position { line: 3, column: 2 });
    }
}
