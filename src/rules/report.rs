//! What rules report: violations, and warnings.

use super::text::{escaped, quoted, shortened};
use std::fmt::{self, Display, Write};
use std::hash::{DefaultHasher, Hasher};

/// Longest message of one violation, in characters.
const MESSAGE_MAX: usize = 700;

/// Most violations that are kept: many times what an answer has room for, so that no manifest makes the server
/// hold gigabytes. Further ones are counted.
const KEPT_MAX: usize = 2000;

/// Kubernetes' cause types, as they stand in `status.details.causes[].reason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// A value that must be there isn't.
    Required,
    /// A value can't be what it is.
    Invalid,
    /// A value stands twice where it may stand once.
    Duplicate,
    /// A value is none of a few.
    NotSupported,
    /// The change, or the deletion, isn't allowed.
    Forbidden,
    /// A list is too long.
    TooMany,
    /// A value has another JSON type than its field.
    TypeInvalid,
}

impl Cause {
    /// The cause type's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::Duplicate => "FieldValueDuplicate",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooMany => "FieldValueTooMany",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    /// The words that Kubernetes' own validation errors begin with.
    const fn prefix(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::Duplicate => "Duplicate value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooMany => "Too many",
        }
    }
}

/// One violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule's id.
    pub rule: &'static str,
    /// Kubernetes field path.
    pub field: String,
    /// Cause type.
    pub cause: Cause,
    /// What is wrong, with the value and the remedy; ends with the rule's id in brackets.
    pub message: String,
    /// The value that breaks the rule, or both of two: what ratcheting compares.
    pub(super) value: String,
    /// The other field of a rule about two: where that one is what was changed, this is no second mistake.
    pub(super) related: Option<&'static str>,
}

impl Violation {
    /// The message without the rule's id.
    pub(super) fn sentence(&self) -> &str {
        self.message.rsplit_once(" [").map_or(&self.message, |(sentence, _)| sentence)
    }
}

/// Collects the violations of the rule that is running.
#[derive(Debug)]
pub struct Report {
    rule: &'static str,
    /// What was found so far, by all rules.
    pub(super) violations: Vec<Violation>,
    /// How many more there were.
    pub(super) more: usize,
    /// Whether there was room for the last one.
    kept_last: bool,
}

impl Report {
    /// A report without violations.
    pub(super) fn new() -> Self {
        Self { rule: "", violations: Vec::new(), more: 0, kept_last: false }
    }

    /// Whose violations come next.
    pub(super) fn begin(&mut self, rule: &'static str) {
        self.rule = rule;
    }

    fn add(
        &mut self,
        cause: Cause,
        field: &dyn Display,
        shown: &str,
        value: String,
        detail: &dyn Display,
    ) -> &mut Self {
        if self.violations.len() >= KEPT_MAX {
            self.more += 1;
            self.kept_last = false;
            return self;
        }
        let prefix = cause.prefix();
        let sentence = match shown {
            "" => format!("{prefix}: {detail}"),
            shown => format!("{prefix}: {shown}: {detail}"),
        };
        let violation = Violation {
            rule: self.rule,
            field: shortened(&escaped(&field.to_string()), MESSAGE_MAX),
            cause,
            message: format!("{} [{}]", shortened(&sentence, MESSAGE_MAX), self.rule),
            value,
            related: None,
        };
        self.violations.push(violation);
        self.kept_last = true;
        self
    }

    /// The violation just reported, if there was room for it.
    fn last(&mut self) -> Option<&mut Violation> {
        self.violations.last_mut().filter(|_| self.kept_last)
    }

    /// Says of the violation just reported that it is about a second field too.
    pub fn about(&mut self, field: &'static str) -> &mut Self {
        if let Some(last) = self.last() {
            last.related = Some(field);
        }
        self
    }

    /// Says of the violation just reported which second value it depends on.
    pub fn with(&mut self, value: impl Display) -> &mut Self {
        if let Some(last) = self.last() {
            last.value = format!("{} {value}", last.value);
        }
        self
    }

    /// A value can't be what it is.
    pub fn invalid(&mut self, field: impl Display, value: &str, detail: impl Display) -> &mut Self {
        self.add(Cause::Invalid, &field, &quoted(value), value.to_owned(), &detail)
    }

    /// A number can't be what it is.
    pub fn invalid_number(&mut self, field: impl Display, value: i64, detail: impl Display) -> &mut Self {
        self.add(Cause::Invalid, &field, &value.to_string(), value.to_string(), &detail)
    }

    /// A value must be there.
    pub fn required(&mut self, field: impl Display, detail: impl Display) -> &mut Self {
        self.add(Cause::Required, &field, "", String::new(), &detail)
    }

    /// A value stands twice.
    pub fn duplicate(&mut self, field: impl Display, value: &str, detail: impl Display) -> &mut Self {
        self.add(Cause::Duplicate, &field, &quoted(value), value.to_owned(), &detail)
    }

    /// A number stands twice.
    pub fn duplicate_number(&mut self, field: impl Display, number: &str, detail: impl Display) -> &mut Self {
        self.add(Cause::Duplicate, &field, number, number.to_owned(), &detail)
    }

    /// A value is none of those supported.
    pub fn not_supported(&mut self, field: impl Display, value: &str, detail: impl Display) -> &mut Self {
        self.add(Cause::NotSupported, &field, &quoted(value), value.to_owned(), &detail)
    }

    /// A change isn't allowed.
    pub fn forbidden(&mut self, field: impl Display, detail: impl Display) -> &mut Self {
        self.add(Cause::Forbidden, &field, "", String::new(), &detail)
    }

    /// A list is too long. `value` is the list, for ratcheting.
    pub fn too_many(
        &mut self,
        field: impl Display,
        have: usize,
        most: usize,
        value: &dyn fmt::Debug,
    ) -> &mut Self {
        let detail =
            format!("must have at most {most} entries; remove {} of them", have.saturating_sub(most));
        self.add(Cause::TooMany, &field, &have.to_string(), fingerprint(value), &detail)
    }

    /// A value has another JSON type than its field.
    pub fn type_invalid(&mut self, field: impl Display, shown: &str, detail: impl Display) -> &mut Self {
        let text = escaped(&shortened(shown, super::text::VALUE_MAX));
        self.add(Cause::TypeInvalid, &field, &text, shown.to_owned(), &detail)
    }

    /// What a field check of the resource refused.
    pub(super) fn field_check(
        &mut self,
        cause: Cause,
        field: impl Display,
        shown: &str,
        value: String,
        detail: &str,
    ) {
        self.add(cause, &field, shown, value, &detail);
    }
}

/// A few digits that are equal for equal values, without a copy of a value that may be large.
fn fingerprint(value: &dyn fmt::Debug) -> String {
    struct Digest(DefaultHasher);
    impl Write for Digest {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.write(text.as_bytes());
            Ok(())
        }
    }
    let mut digest = Digest(DefaultHasher::new());
    // A hasher takes everything.
    let _ = write!(digest, "{value:?}");
    format!("{:x}", digest.0.finish())
}

/// One warning: legal, but unwise.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Warning {
    /// Its id, or the id of the rule that ratcheting let pass.
    pub id: &'static str,
    /// One line that ends with the id in brackets; at most 256 characters.
    pub text: String,
}

impl Warning {
    /// Longest warning, in characters: what an API server cuts warnings to.
    const MAX: usize = 256;

    /// A warning of one line.
    pub fn new(id: &'static str, sentence: impl Display) -> Self {
        let room = Self::MAX - id.len() - " []".len();
        let sentence = shortened(&escaped(&sentence.to_string()), room);
        Self { id, text: format!("{sentence} [{id}]") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_reads_like_kubernetes_own_and_ends_with_the_rule() {
        let mut report = Report::new();
        report.begin("some-rule");
        report.invalid("spec.a", "x\ny", "must be z");
        report.required("spec.b", "write it");
        report.invalid_number("spec.c", -1, "must be above 0");
        let messages: Vec<&str> = report.violations.iter().map(|v| v.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "Invalid value: \"x\\u{a}y\": must be z [some-rule]",
                "Required value: write it [some-rule]",
                "Invalid value: -1: must be above 0 [some-rule]",
            ]
        );
        assert_eq!(report.violations[1].sentence(), "Required value: write it");
    }

    #[test]
    fn a_warning_keeps_its_id_however_long_it_is() {
        let warning = Warning::new("long-name", "x".repeat(1000));
        assert_eq!(warning.text.chars().count(), 256);
        assert!(warning.text.ends_with(" [long-name]"));
    }
}
