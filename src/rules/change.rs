//! A change of an object, and when two values are the same.

use super::address::Address;
use super::report::Violation;
use super::settings::Settings;
use super::view::{UrlAt, View};
use std::cell::OnceCell;

/// Tells what is wrong with an object, whatever it was before.
pub(super) type Look = fn(&View<'_>, &Settings) -> Vec<Violation>;

/// A change of an object.
#[derive(Debug)]
pub struct Change<'a> {
    /// The object as it is stored.
    pub old: &'a View<'a>,
    /// The object as it shall be.
    pub new: &'a View<'a>,
    /// What the administrator decided.
    pub settings: &'a Settings,
    /// Who asks for the change.
    pub user: &'a str,
    /// Tells what is wrong with an object.
    look: Look,
    /// What was wrong with the old object already; worked out when first asked for.
    old_violations: OnceCell<Vec<Violation>>,
}

impl<'a> Change<'a> {
    /// A change from `old` to `new`.
    pub(super) fn new(
        old: &'a View<'a>,
        new: &'a View<'a>,
        settings: &'a Settings,
        user: &'a str,
        look: Look,
    ) -> Self {
        Self { old, new, settings, user, look, old_violations: OnceCell::new() }
    }

    /// What was wrong with the old object already.
    pub(super) fn old_violations(&self) -> &[Violation] {
        self.old_violations.get_or_init(|| (self.look)(self.old, self.settings))
    }

    /// Whether the old value at a field, or below it, broke a rule.
    pub(super) fn was_wrong(&self, field: &str) -> bool {
        self.old_violations().iter().any(|violation| is_within(&violation.field, field))
    }

    /// Whether the rules about the new object are waived, so that the rules about the change must speak for
    /// values that are missing or broken.
    pub fn waives_object_rules(&self) -> bool {
        self.new.is_terminating()
    }
}

/// Whether a field is another one or stands below it.
pub(super) fn is_within(field: &str, above: &str) -> bool {
    field.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Whether two URLs are the same value: same scheme and same address; by text where one can't be read.
pub(super) fn same_url(one: &UrlAt<'_>, other: &UrlAt<'_>) -> bool {
    match (&one.read, &other.read) {
        (Ok(one), Ok(other)) => is_same(one, other),
        _ => one.text == other.text,
    }
}

/// Whether two addresses are the same and have the same scheme.
pub fn is_same(one: &Address, other: &Address) -> bool {
    one.https == other.https && one.same_as(other)
}

/// Whether two collections of URLs are equal as sets.
pub(super) fn same_urls<'v, 'a: 'v>(
    one: impl Iterator<Item = &'v UrlAt<'a>>,
    other: impl Iterator<Item = &'v UrlAt<'a>>,
) -> bool {
    let (one, other): (Vec<_>, Vec<_>) = (one.collect(), other.collect());
    let all_in = |some: &[&UrlAt<'_>], others: &[&UrlAt<'_>]| {
        some.iter().all(|url| others.iter().any(|candidate| same_url(url, candidate)))
    };
    all_in(&one, &other) && all_in(&other, &one)
}
