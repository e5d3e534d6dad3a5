//! What rules report: violations, and warnings.

use crate::text::{escaped, quoted, shortened};
use std::collections::HashMap;
use std::fmt::{self, Display, Write};
use std::hash::{DefaultHasher, Hash, Hasher};

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
    value: String,
    /// What stands for the field in that comparison, where it may be reported at one of several.
    place: Option<&'static str>,
    /// The other field of a rule about two: where that one is what was changed, this is no second mistake.
    pub(super) related: Option<&'static str>,
}

impl Violation {
    /// Equal for the same rule at the same value, wherever in its list the value stands.
    fn identity(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let place = self.place.map_or_else(|| without_indices(&self.field), str::to_owned);
        (self.rule, place, &self.value).hash(&mut hasher);
        hasher.finish()
    }

    /// The message without the rule's id.
    pub(super) fn sentence(&self) -> &str {
        self.message.rsplit_once(" [").map_or(&self.message, |(sentence, _)| sentence)
    }

    /// What is said of it where it is no reason to refuse.
    pub fn as_warning(&self) -> Warning {
        let sentence = format_args!("would be refused: {}: {}", self.field, self.sentence());
        Warning::new(self.rule, sentence).at(&self.field)
    }
}

/// A field without the indices of lists, in which a value may move; keys of maps stay.
fn without_indices(field: &str) -> String {
    let mut out = String::with_capacity(field.len());
    let mut rest = field;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        // The only maps of the resource: what stands in their brackets is a key, even if it looks like an index.
        let is_map = ["labels", "annotations"].iter().any(|map| before.ends_with(map));
        let index = after.split_once(']').filter(|(index, _)| index.bytes().all(|b| b.is_ascii_digit()));
        match index {
            Some((_, behind)) if !is_map => rest = behind,
            _ => {
                out.push('[');
                out.push_str(after);
                return out;
            }
        }
    }
    out + rest
}

/// Collects the violations of the rule that is running.
#[derive(Debug, Default)]
pub struct Report {
    rule: &'static str,
    /// The last one, about which something may still be said.
    pending: Option<Violation>,
    /// What was found so far, by all rules.
    pub(super) violations: Vec<Violation>,
    /// How many more there were.
    pub(super) more: usize,
    /// What was so before, at the same value.
    pub(super) kept: Vec<Violation>,
    /// Of everything that was found, kept or not.
    identities: Vec<u64>,
    /// What another report found, as often as it found it.
    before: HashMap<u64, usize>,
}

impl Report {
    /// A report in which what another one found doesn't count again.
    pub(super) fn ratcheting(old: &Self) -> Self {
        let mut before = HashMap::new();
        for identity in &old.identities {
            *before.entry(*identity).or_default() += 1;
        }
        Self { before, ..Self::default() }
    }

    /// Whose violations come next.
    pub(super) fn begin(&mut self, rule: &'static str) {
        self.settle();
        self.rule = rule;
    }

    /// Nothing more is said of the last violation.
    pub(super) fn settle(&mut self) {
        let Some(violation) = self.pending.take() else { return };
        let identity = violation.identity();
        self.identities.push(identity);
        let was_so = self.before.get_mut(&identity).filter(|left| **left > 0);
        if let Some(left) = was_so {
            *left -= 1;
            if self.kept.len() < KEPT_MAX {
                self.kept.push(violation);
            }
        } else if self.violations.len() < KEPT_MAX {
            self.violations.push(violation);
        } else {
            self.more += 1;
        }
    }

    fn add(
        &mut self,
        cause: Cause,
        field: &dyn Display,
        shown: &str,
        value: String,
        detail: &dyn Display,
    ) -> &mut Self {
        self.settle();
        let prefix = cause.prefix();
        let sentence = match shown {
            "" => format!("{prefix}: {detail}"),
            shown => format!("{prefix}: {shown}: {detail}"),
        };
        self.pending = Some(Violation {
            rule: self.rule,
            field: shortened(&escaped(&field.to_string()), MESSAGE_MAX),
            cause,
            message: format!("{} [{}]", shortened(&escaped(&sentence), MESSAGE_MAX), self.rule),
            value,
            place: None,
            related: None,
        });
        self
    }

    /// Says of the violation just reported that it is about a second field too.
    pub fn about(&mut self, field: &'static str) -> &mut Self {
        if let Some(last) = &mut self.pending {
            last.related = Some(field);
        }
        self
    }

    /// Says of the violation just reported which second value it depends on.
    pub fn with(&mut self, value: impl Display) -> &mut Self {
        if let Some(last) = &mut self.pending {
            last.value = format!("{} {value}", last.value);
        }
        self
    }

    /// Says of the violation just reported that it is the same one at any of the fields of a relation, whose
    /// values together are `value`.
    pub fn same_at(&mut self, place: &'static str, value: String) -> &mut Self {
        if let Some(last) = &mut self.pending {
            last.place = Some(place);
            last.value = value;
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
        let text = escaped(&shortened(shown, crate::text::VALUE_MAX));
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
pub(super) fn fingerprint(value: &dyn fmt::Debug) -> String {
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
    /// Kubernetes field path of what it is about, where that is a field.
    pub field: Option<String>,
}

impl Warning {
    /// Longest warning, in characters: what an API server cuts warnings to.
    const MAX: usize = 256;

    /// A warning of one line.
    pub fn new(id: &'static str, sentence: impl Display) -> Self {
        let room = Self::MAX - id.len() - " []".len();
        let sentence = shortened(&escaped(&sentence.to_string()), room);
        Self { id, text: format!("{sentence} [{id}]"), field: None }
    }

    /// The warning, about a field.
    pub fn at(mut self, field: impl Display) -> Self {
        self.field = Some(field.to_string());
        self
    }
}

/// Collects warnings.
#[derive(Debug, Default)]
pub struct Given {
    id: &'static str,
    /// What was given so far.
    pub(super) warnings: Vec<Warning>,
}

impl Given {
    /// Which warnings come next.
    pub(super) fn begin(&mut self, id: &'static str) {
        self.id = id;
    }

    /// Says something of a field.
    pub(super) fn at(&mut self, field: impl Display, sentence: impl Display) {
        self.warnings.push(Warning::new(self.id, sentence).at(field));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_reads_like_kubernetes_own_and_ends_with_the_rule() {
        let mut report = Report::default();
        report.begin("some-rule");
        report.invalid("spec.a", "x\ny", "must be z");
        report.required("spec.b", "write it");
        report.invalid_number("spec.c", -1, "must be above 0\u{1b}[31m");
        report.settle();
        let messages: Vec<&str> = report.violations.iter().map(|v| v.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "Invalid value: \"x\\u{a}y\": must be z [some-rule]",
                "Required value: write it [some-rule]",
                "Invalid value: -1: must be above 0\\u{1b}[31m [some-rule]",
            ]
        );
        assert_eq!(report.violations[1].sentence(), "Required value: write it");
    }

    #[test]
    fn lists_may_be_reordered_and_maps_not() {
        for (field, place) in [
            ("spec.replicas", "spec.replicas"),
            ("spec.members[12].peerUrls[0]", "spec.members.peerUrls"),
            ("spec.labels[12]", "spec.labels[12]"),
            ("spec.annotations[a[0]]", "spec.annotations[a[0]]"),
            ("spec.etcd.clientService.labels[1]", "spec.etcd.clientService.labels[1]"),
        ] {
            assert_eq!(without_indices(field), place);
        }
    }

    #[test]
    fn what_was_so_before_is_kept_as_often_as_it_was() {
        let report_twice = |report: &mut Report, value: &str| {
            report.begin("some-rule");
            report.invalid("spec.list[0]", value, "no");
            report.invalid("spec.list[1]", value, "no");
            report.settle();
        };
        let mut old = Report::default();
        old.begin("some-rule");
        old.invalid("spec.list[7]", "x", "no");
        old.settle();
        let mut new = Report::ratcheting(&old);
        report_twice(&mut new, "x");
        assert_eq!((new.kept.len(), new.violations.len()), (1, 1));
        let mut other = Report::ratcheting(&old);
        report_twice(&mut other, "y");
        assert_eq!((other.kept.len(), other.violations.len()), (0, 2));
    }

    #[test]
    fn what_is_new_is_found_behind_any_number_of_old_ones() {
        let fill = |report: &mut Report, count: usize| {
            report.begin("some-rule");
            for number in 0..count {
                report.invalid(format_args!("spec.list[{number}]"), &number.to_string(), "no");
            }
        };
        let mut old = Report::default();
        fill(&mut old, KEPT_MAX + 10);
        old.settle();
        assert_eq!((old.violations.len(), old.more), (KEPT_MAX, 10));
        let mut new = Report::ratcheting(&old);
        fill(&mut new, KEPT_MAX + 10);
        new.invalid("spec.list[0]", "new", "no");
        new.settle();
        assert_eq!((new.violations.len(), new.more), (1, 0));
    }

    #[test]
    fn a_warning_keeps_its_id_however_long_it_is() {
        let warning = Warning::new("long-name", "x".repeat(1000));
        assert_eq!(warning.text.chars().count(), 256);
        assert!(warning.text.ends_with(" [long-name]"));
    }
}
