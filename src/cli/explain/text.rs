//! Explanations for people: the list, and a page, as they stand on a terminal.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use textwrap::{Options, WordSplitter};

use crate::rules::{Block, Entry, Group, Kind, Page};

const HEADING: Style = Style::new().bold();
const CODE: Style = AnsiColor::Cyan.on_default();
const INDENT: &str = "    ";
/// Least room for the sentences of the list: with less, each stands below its id.
const SENTENCE_MIN: usize = 42;

/// By chapter, an id and a sentence each.
pub(super) fn list(entries: &[Entry], width: usize) -> String {
    let column = entries.iter().map(|entry| entry.id.len()).max().unwrap_or_default() + 4;
    let mut text = String::new();
    for group in Group::ALL {
        let of_group = |kind| entries.iter().filter(move |entry| entry.group == group && entry.kind == kind);
        for (kind, what) in [(Kind::Rule, "what is refused"), (Kind::Warning, "what is warned of")] {
            if of_group(kind).next().is_none() {
                continue;
            }
            let _ = writeln!(text, "{HEADING}{}: {what}{HEADING:#}", group.title());
            for entry in of_group(kind) {
                push_entry(&mut text, entry, column, width);
            }
            text.push('\n');
        }
    }
    text + "etcd-warden explain RULE says why, with an example.\n"
}

fn push_entry(text: &mut String, entry: &Entry, column: usize, width: usize) {
    let (id, sentence) = (entry.id, entry.summary);
    if width < column + SENTENCE_MIN {
        push_wrapped(text, &format!("{CODE}{id}{CODE:#}"), width, "  ", "");
        push_wrapped(text, sentence, width, INDENT, INDENT);
    } else {
        let line = format!("{CODE}{id:column$}{CODE:#}{sentence}");
        push_wrapped(text, &line, width, "  ", &" ".repeat(column + 2));
    }
}

/// A whole page.
pub(super) fn page(page: &Page<'_>, width: usize) -> String {
    let mut text = String::new();
    for section in &page.sections {
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = writeln!(text, "{HEADING}{}{HEADING:#}", section.title);
        let mut before = None;
        for block in &section.blocks {
            if before.is_some_and(|before| !(is_item(before) && is_item(block))) {
                text.push('\n');
            }
            push_block(&mut text, block, width);
            before = Some(block);
        }
    }
    text
}

fn is_item(block: &Block<'_>) -> bool {
    matches!(block, Block::Item(_))
}

fn push_block(text: &mut String, block: &Block<'_>, width: usize) {
    match block {
        Block::Paragraph(paragraph) => push_wrapped(text, &inline(paragraph), width, "", ""),
        Block::Item(item) => push_wrapped(text, &inline(item), width, "- ", "  "),
        Block::Code { info: "text", text: code } => {
            for line in unwrapped(code).lines() {
                push_wrapped(text, line, width, INDENT, &INDENT.repeat(2));
            }
        }
        Block::Code { text: code, .. } => {
            for line in code.lines() {
                let indented = format!("{INDENT}{line}");
                text.push_str(indented.trim_end());
                text.push('\n');
            }
        }
    }
}

/// Messages whose lines were broken to fit a page: a line that begins with blanks goes on with the last.
pub(super) fn unwrapped(text: &str) -> String {
    text.replace(&format!("\n{INDENT}"), " ")
}

fn push_wrapped(text: &mut String, line: &str, width: usize, first: &str, then: &str) {
    let options = Options::new(width)
        .initial_indent(first)
        .subsequent_indent(then)
        .word_splitter(WordSplitter::NoHyphenation)
        .break_words(false);
    for line in textwrap::wrap(line, options) {
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// Code in colour, and links as their text.
fn inline(paragraph: &str) -> String {
    let mut text = String::new();
    for (index, piece) in without_targets(paragraph).split('`').enumerate() {
        if index % 2 == 0 {
            text.push_str(piece);
        } else {
            let _ = write!(text, "{CODE}`{piece}`{CODE:#}");
        }
    }
    text
}

/// `[text](target)` as `text`.
fn without_targets(paragraph: &str) -> String {
    let mut text = String::new();
    let mut rest = paragraph;
    while let Some((before, after)) = rest.split_once("](") {
        let Some((_, after)) = after.split_once(')') else { break };
        let (lead, label) = before.rsplit_once('[').unwrap_or((before, ""));
        text.push_str(lead);
        text.push_str(label);
        rest = after;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::entries;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn every_page_fits_its_width() {
        for entry in entries() {
            for width in [80, 98] {
                let text = plain(&page(&entry.page(), width));
                assert!(text.starts_with(&format!("{}\n", entry.id)), "{text}");
                for line in text.lines() {
                    assert!(line.chars().count() <= width, "{}: {line}", entry.id);
                    assert!(!line.ends_with(' '), "{}: {line}", entry.id);
                }
                assert!(!text.contains("<!--") && !text.contains("]("), "{text}");
            }
        }
    }

    /// Whatever reads the list, a terminal or a program: each id begins a line, and no line is too long.
    #[test]
    fn a_list_has_every_entry_and_fits_its_width() {
        let all: Vec<Entry> = entries().collect();
        for width in [60, 80, 98] {
            let text = plain(&list(&all, width));
            let long = text.lines().find(|line| line.chars().count() > width);
            assert!(long.is_none(), "{width}: {long:?}");
            let words: Vec<&str> = text.split_whitespace().collect();
            for entry in &all {
                let begins = |line: &&str| line.split_whitespace().next() == Some(entry.id);
                assert!(text.lines().any(|line| begins(&line)), "{}", entry.id);
                let whole: Vec<&str> =
                    [entry.id].into_iter().chain(entry.summary.split_whitespace()).collect();
                assert!(words.windows(whole.len()).any(|found| found == whole.as_slice()), "{}", entry.id);
            }
        }
    }

    #[test]
    fn links_are_their_text() {
        assert_eq!(plain(&inline("see [`a`](a.md), [b](b.md)!")), "see `a`, b!");
        assert_eq!(plain(&inline("a](b")), "a](b");
    }
}
