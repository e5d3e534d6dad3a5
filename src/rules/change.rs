//! A change of an object, and when two values are the same.

use super::address::AddressValue;
use super::report::Report;
use super::settings::Settings;
use super::view::{UrlAt, View};
use std::cell::OnceCell;
use std::collections::HashSet;

/// Tells what is wrong with an object, whatever it was before.
pub(super) type Look = fn(&View<'_>, &Settings) -> Report;

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
    old_report: OnceCell<Report>,
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
        Self { old, new, settings, user, look, old_report: OnceCell::new() }
    }

    /// What was wrong with the old object already.
    pub(super) fn old_report(&self) -> &Report {
        self.old_report.get_or_init(|| (self.look)(self.old, self.settings))
    }

    /// Whether the old value at a field, or below it, broke a rule.
    pub(super) fn was_wrong(&self, field: &str) -> bool {
        self.old_report().violations.iter().any(|violation| is_within(&violation.field, field))
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

/// What two URLs have in common when they are the same value: scheme and address, or the text where it can't be
/// read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum UrlKey<'u> {
    Address(AddressValue<'u>),
    Text(&'u str),
}

impl<'u> UrlKey<'u> {
    pub(super) fn of(url: &'u UrlAt<'_>) -> Self {
        match &url.read {
            Ok(address) => Self::Address(address.value()),
            Err(_) => Self::Text(url.text),
        }
    }
}

/// The first URL that isn't in another collection.
pub(super) fn first_missing<'u, 'a>(urls: &[&'u UrlAt<'a>], from: &[&UrlAt<'_>]) -> Option<&'u UrlAt<'a>> {
    let there: HashSet<UrlKey<'_>> = from.iter().map(|url| UrlKey::of(url)).collect();
    urls.iter().find(|url| !there.contains(&UrlKey::of(url))).copied()
}
