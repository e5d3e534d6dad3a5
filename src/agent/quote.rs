//! What others said, as it may stand in a message: without control characters, bounded, its end kept.

use crate::text::escaped;

/// Longest quotation, in bytes.
const QUOTED_MAX: usize = 1024;

/// The end of a text, with what is not to be seen escaped.
pub fn quote(text: &str) -> String {
    let escaped = escaped(text.trim());
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
