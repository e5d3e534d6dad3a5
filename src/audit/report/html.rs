//! Text that becomes HTML.

use crate::text;

/// HTML that is written. Markup is fixed text of this program; whatever comes from a log goes through
/// [`Html::text`], and nothing else takes it.
#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Markup.
    pub(super) fn markup(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// A number.
    pub(super) fn number(&mut self, number: f64) -> &mut Self {
        self.0.push_str(&number.to_string());
        self
    }

    /// How many, with thousands apart.
    pub(super) fn count(&mut self, count: u64) -> &mut Self {
        self.0.push_str(&thousands(count));
        self
    }

    /// Text of any origin, in an element or in an attribute's quotes.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        for character in text::escaped(text).chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                other => self.0.push(other),
            }
        }
        self
    }

    /// The HTML so far; it goes on with nothing.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.0)
    }
}

/// `1,234,567`.
pub(super) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> String {
        Html::default().text(text).take()
    }

    #[test]
    fn text_stays_text() {
        for (given, expected) in [
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("\" onload='x'", "&quot; onload=&#39;x&#39;"),
            ("&lt;", "&amp;lt;"),
            ("a\u{2028}b\u{202e}c\u{7}d\ne", "a\\u{2028}b\\u{202e}c\\u{7}d\\u{a}e"),
            ("ü 漢 🦀", "ü 漢 🦀"),
        ] {
            assert_eq!(text(given), expected);
        }
    }

    #[test]
    fn thousands_are_apart() {
        for (number, expected) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(number), expected);
        }
    }
}
