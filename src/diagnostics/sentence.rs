//! A rule's message taken apart: what is wrong, and what to do.

/// What is wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// What is wrong.
    pub what: String,
    /// What to do about it, where the message says it apart.
    pub help: Option<String>,
}

/// The rule whose messages say first what to do: `write a string; this is a number`.
const TYPE_RULE: &str = "type";

/// What a message begins with that says nothing but what to do.
const REQUIRED: &str = "Required value: ";
/// What is wrong then.
pub(super) const REQUIRED_VALUE: &str = "Required value";

impl Sentence {
    /// Takes apart a message as the server answers it, with the rule's id at its end or without. The catalogue puts
    /// what to do behind the last sentence or semicolon; behind `Required value` stands nothing else.
    pub fn read(message: &str, rule: &str) -> Self {
        let end = format!(" [{rule}]");
        let message = message.strip_suffix(end.as_str()).unwrap_or(message);
        if let Some((before, what_to_do)) = last_outside_quotes(message, REQUIRED) {
            return Self::new(&format!("{before}{REQUIRED_VALUE}"), Some(what_to_do));
        }
        if let Some((what, found)) = last_outside_quotes(message, ": write ").filter(|_| rule == TYPE_RULE)
            && let Some((expected, found)) = last_outside_quotes(found, "; ")
        {
            return Self::new(&format!("{what}: {found}"), Some(&format!("write {expected}")));
        }
        match last_sentence(message).or_else(|| last_outside_quotes(message, "; ")) {
            Some((what, help)) => Self::new(what, Some(help)),
            None => Self::new(message, None),
        }
    }

    fn new(what: &str, help: Option<&str>) -> Self {
        Self { what: what.to_owned(), help: help.map(lower_first) }
    }
}

/// Splits before the last sentence: a full stop also stands in `e.g.`, and among characters that a name may have.
fn last_sentence(message: &str) -> Option<(&str, &str)> {
    let begins = |rest: &str| rest.starts_with(|first: char| first.is_ascii_uppercase());
    outside_quotes(message, ". ").filter(|(_, rest)| begins(rest)).last()
}

/// Splits at the last separator that doesn't stand in a quoted value.
fn last_outside_quotes<'m>(message: &'m str, separator: &'m str) -> Option<(&'m str, &'m str)> {
    outside_quotes(message, separator).last()
}

/// What stands before and behind each separator that doesn't stand in a quoted value.
fn outside_quotes<'m>(message: &'m str, separator: &'m str) -> impl Iterator<Item = (&'m str, &'m str)> {
    let (mut quoted, mut escaped) = (false, false);
    message.char_indices().filter_map(move |(at, character)| {
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if !quoted => {
                let rest = message.get(at..)?.strip_prefix(separator)?;
                return Some((message.get(..at)?, rest));
            }
            _ => {}
        }
        None
    })
}

/// Help is no sentence of its own; names keep their spelling.
fn lower_first(text: &str) -> String {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(first), Some(second)) if first.is_ascii_uppercase() && second.is_ascii_lowercase() => {
            format!("{}{}", first.to_ascii_lowercase(), text.get(1..).unwrap_or_default())
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_another_type_is_told_before_the_remedy() {
        let read = Sentence::read("Invalid value: true: write a string; this is a boolean [type]", "type");
        assert_eq!(read.what, "Invalid value: true: this is a boolean");
        assert_eq!(read.help.as_deref(), Some("write a string"));
    }

    #[test]
    fn what_to_do_is_told_apart() {
        for (message, what, help) in [
            (
                r#"Invalid value: "http://a; b": spec.etcd.peerUrlTls is set; write "https://", or remove it [r]"#,
                r#"Invalid value: "http://a; b": spec.etcd.peerUrlTls is set"#,
                Some(r#"write "https://", or remove it"#),
            ),
            (
                "Forbidden: can't shrink from 5 to 3: members would stay. Write 5 or more [r]",
                "Forbidden: can't shrink from 5 to 3: members would stay",
                Some("write 5 or more"),
            ),
            ("Required value: write \"backup: {}\" [r]", "Required value", Some("write \"backup: {}\"")),
            ("Invalid value: \"x\": must be above 0 [r]", "Invalid value: \"x\": must be above 0", None),
            (r#"Invalid value: "a\"; b": no"#, r#"Invalid value: "a\"; b": no"#, None),
            (
                r#"Invalid value: "x": has no port; etcd refuses a URL without one, write e.g. "x:2380" [r]"#,
                r#"Invalid value: "x": has no port"#,
                Some(r#"etcd refuses a URL without one, write e.g. "x:2380""#),
            ),
            (
                r#"Invalid value: "c": a name is 3 to 63 characters of a-z . _ -, beginning with a letter [r]"#,
                r#"Invalid value: "c": a name is 3 to 63 characters of a-z . _ -, beginning with a letter"#,
                None,
            ),
            (
                "would be refused: spec.a: Required value: write a name; a pod without it can't start [r]",
                "would be refused: spec.a: Required value",
                Some("write a name; a pod without it can't start"),
            ),
            ("Invalid value: is broken. DNS says so", "Invalid value: is broken", Some("DNS says so")),
        ] {
            let read = Sentence::read(message, "r");
            assert_eq!((read.what.as_str(), read.help.as_deref()), (what, help));
        }
    }
}
