//! Somebody else's text in our messages: escaped, and shortened in the middle.

use std::fmt::Write;

/// Longest value shown in a message, in characters; what is cut is cut in the middle, where it matters least.
pub const VALUE_MAX: usize = 160;

/// A value in quotes, escaped, of [`VALUE_MAX`] characters at most.
pub fn quoted(value: &str) -> String {
    let shown = shortened(value, VALUE_MAX);
    format!("\"{}\"", escaped(&shown).replace('"', "\\\""))
}

/// Text without control, bidirectional or line-breaking characters: each stands as its escape.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_unsafe(character) {
            let _ = write!(out, "{}", character.escape_unicode());
        } else {
            out.push(character);
        }
    }
    out
}

/// Text with one character in the place of each that [`escaped`] escapes, for whole lines, in which columns count.
/// Tabs stay, and line breaks, which become single characters.
pub fn replaced(text: &str) -> String {
    let keep = |character| matches!(character, '\n' | '\t') || !is_unsafe(character);
    let text = text.replace("\r\n", "\n");
    text.chars()
        .map(|character| if keep(character) { character } else { char::REPLACEMENT_CHARACTER })
        .collect()
}

/// Characters that a terminal, a log or an HTTP header takes for something else than text.
fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// Text of at most `max` characters: its two ends with an ellipsis between them where it is longer.
pub fn shortened(text: &str, max: usize) -> String {
    // No text of so few bytes has more characters; spares the count for nearly every text.
    if text.len() <= max || text.chars().count() <= max {
        return text.to_owned();
    }
    let kept = max.saturating_sub(1);
    let (head, tail) = (kept - kept / 2, kept / 2);
    let tail_start = text.char_indices().rev().nth(tail.saturating_sub(1)).map_or(text.len(), |(at, _)| at);
    let start: String = text.chars().take(head).collect();
    let end = if tail == 0 { "" } else { text.get(tail_start..).unwrap_or_default() };
    format!("{start}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_keeps_both_ends() {
        assert_eq!(shortened("abcdefghij", 5), "ab…ij");
        assert_eq!(shortened("abcde", 5), "abcde");
        assert_eq!(shortened("äöüäöü", 3), "ä…ü");
        assert_eq!(shortened("abc", 1), "…");
    }

    #[test]
    fn lines_keep_their_columns() {
        assert_eq!(replaced("a\u{1b}[31m\tb\r\n\u{202e}c\n"), "a\u{fffd}[31m\tb\n\u{fffd}c\n");
    }

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        assert_eq!(escaped("a\u{1b}[31m\n\u{202e}b\0"), "a\\u{1b}[31m\\u{a}\\u{202e}b\\u{0}");
        assert_eq!(quoted("say \"hi\""), "\"say \\\"hi\\\"\"");
    }
}
