//! What others said, as it may stand in a message: without control characters, bounded, its end kept.

/// Longest quotation, in bytes.
const QUOTED_MAX: usize = 1024;

/// Characters that turn the direction of text, or hide.
const fn is_hidden(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// The end of a text, with what is not to be seen escaped.
pub fn quote(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.trim().chars() {
        if character.is_control() || is_hidden(character) {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    if escaped.len() <= QUOTED_MAX {
        return escaped;
    }
    let mut from = escaped.len() - QUOTED_MAX;
    while !escaped.is_char_boundary(from) {
        from += 1;
    }
    format!("…{}", escaped.get(from..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_turns_or_hides_is_escaped() {
        assert_eq!(quote(" a\u{1b}[31m\u{202e}b\n"), "a\\u{1b}[31m\\u{202e}b");
    }

    #[test]
    fn the_end_is_kept() {
        let quoted = quote(&format!("{}end", "ä".repeat(2000)));
        assert!(quoted.len() <= QUOTED_MAX + '…'.len_utf8() && quoted.ends_with("end"), "{quoted}");
    }
}
