//! Runs the tables over a request, and settles what speaks where rules overlap.

use super::catalogue::{Check, RULES};
use super::change::{Change, is_within};
use super::fields;
use super::report::{Report, Violation, Warning};
use super::settings::Settings;
use super::view::View;
use super::warnings;
use std::collections::HashSet;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// An object shall be created.
    Create(&'a View<'a>),
    /// An object shall change.
    Update {
        /// As it is stored.
        old: &'a View<'a>,
        /// As it shall be.
        new: &'a View<'a>,
    },
    /// An object's status shall change.
    UpdateStatus {
        /// As it is stored.
        old: &'a View<'a>,
        /// As it shall be.
        new: &'a View<'a>,
    },
    /// An object's `spec.replicas` shall change, and nothing else is known of it.
    UpdateScale {
        /// As it is stored.
        old: &'a View<'a>,
        /// As it shall be.
        new: &'a View<'a>,
    },
    /// An object shall go.
    Delete(&'a View<'a>),
}

/// What the catalogue says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The violations, by field; none: the request is allowed.
    pub violations: Vec<Violation>,
    /// How many more there are than a report keeps.
    pub more_violations: usize,
    /// Every warning.
    pub warnings: Vec<Warning>,
    /// Violations that the old object had already, at the same value, as warnings: to be given where `spec` is
    /// changed at all.
    pub ratcheted: Vec<Warning>,
}

/// Judges a request. `user` is who asks.
pub fn judge(request: &Request<'_>, settings: &Settings, user: &str) -> Verdict {
    let change = |old, new| Change::new(old, new, settings, user, object_violations);
    let mut verdict = match *request {
        Request::Create(new) => create(new, settings),
        Request::Update { old, new } => update(&change(old, new)),
        Request::UpdateStatus { old, new } => update_status(&change(old, new)),
        Request::UpdateScale { old, new } => update_scale(&change(old, new)),
        Request::Delete(old) => delete(old, settings),
    };
    verdict.violations.sort_by_cached_key(|violation| (by_field(&violation.field), violation.rule));
    verdict
}

impl From<Report> for Verdict {
    fn from(report: Report) -> Self {
        Self { violations: report.violations, more_violations: report.more, ..Self::default() }
    }
}

fn create(new: &View<'_>, settings: &Settings) -> Verdict {
    let mut report = object_violations(new, settings);
    run(&mut report, |check, report| {
        if let Check::Created(look) = check {
            look(new, report);
        }
    });
    Verdict { warnings: warnings::of_object(new), ..report.into() }
}

/// What the rules about an object say of it.
fn object_violations(view: &View<'_>, settings: &Settings) -> Report {
    look_at_object(view, settings, Report::default())
}

fn look_at_object(view: &View<'_>, settings: &Settings, mut report: Report) -> Report {
    fields::check(view.etcd, &mut report);
    run(&mut report, |check, report| {
        if let Check::Object(look) = check {
            look(view, settings, report);
        }
    });
    report
}

fn run(report: &mut Report, mut look: impl FnMut(Check, &mut Report)) {
    for rule in RULES {
        report.begin(rule.id);
        for check in rule.checks {
            look(*check, report);
        }
    }
    report.settle();
}

fn update(change: &Change<'_>) -> Verdict {
    let (frozen, others) = change_violations(change);
    let found = ratchet(change);
    let silencing: Vec<&Violation> = frozen.violations.iter().chain(&others.violations).collect();
    let fresh: Vec<Violation> = found
        .violations
        .into_iter()
        .filter(|violation| !is_silenced(violation, &frozen.violations, &silencing))
        .collect();
    Verdict {
        more_violations: frozen.more + others.more + found.more,
        violations: [frozen.violations, others.violations, fresh].concat(),
        warnings: new_warnings(change),
        ratcheted: found.kept.iter().map(ratcheted).collect(),
    }
}

/// What is wrong with the new object: what was so before, at the same value, is `kept`.
fn ratchet(change: &Change<'_>) -> Report {
    if change.waives_object_rules() {
        return Report::default();
    }
    let found = object_violations(change.new, change.settings);
    if found.violations.is_empty() {
        return found;
    }
    look_at_object(change.new, change.settings, Report::ratcheting(change.old_report()))
}

/// Violations of rules that make a value final, and of the other rules about changes.
fn change_violations(change: &Change<'_>) -> (Report, Report) {
    let (mut frozen, mut others) = (Report::default(), Report::default());
    run(&mut frozen, |check, report| {
        if let Check::Frozen(look) = check {
            look(change, report);
        }
    });
    run(&mut others, |check, report| {
        if let Check::Changed(look) = check {
            look(change, report);
        }
    });
    (frozen, others)
}

/// Whether a violation is the same mistake as an edit that is refused: of a value that is final, or of the other
/// value that it depends on.
fn is_silenced(violation: &Violation, frozen: &[Violation], edits: &[&Violation]) -> bool {
    frozen.iter().any(|edit| is_within(&violation.field, &edit.field))
        || edits.iter().any(|edit| violation.related.is_some_and(|field| field == edit.field))
}

fn ratcheted(violation: &Violation) -> Warning {
    let sentence = format_args!("{}: kept as it was: {}", violation.field, violation.sentence());
    Warning::new(violation.rule, sentence).at(&violation.field)
}

/// What the update makes worth a warning: true of the new object, and not of the old one in the same words.
fn new_warnings(change: &Change<'_>) -> Vec<Warning> {
    let mut warnings = warnings::of_object(change.new);
    if !warnings.is_empty() {
        let before = warnings::of_object(change.old);
        let before: HashSet<&str> = before.iter().map(|warning| warning.text.as_str()).collect();
        warnings.retain(|warning| !before.contains(warning.text.as_str()));
    }
    warnings.extend(warnings::of_change(change));
    warnings
}

fn update_status(change: &Change<'_>) -> Verdict {
    let mut report = Report::default();
    run(&mut report, |check, report| {
        if let Check::Status(look) = check {
            look(change, report);
        }
    });
    report.into()
}

fn update_scale(change: &Change<'_>) -> Verdict {
    let mut report = Report::default();
    for rule in RULES.iter().filter(|rule| rule.scale) {
        report.begin(rule.id);
        for check in rule.checks {
            match check {
                Check::Object(look) => look(change.new, change.settings, &mut report),
                Check::Changed(look) | Check::Frozen(look) => look(change, &mut report),
                Check::Field | Check::Created(_) | Check::Status(_) | Check::Deleted(_) => {}
            }
        }
    }
    report.settle();
    report.into()
}

fn delete(old: &View<'_>, settings: &Settings) -> Verdict {
    let mut report = Report::default();
    run(&mut report, |check, report| {
        if let Check::Deleted(look) = check {
            look(old, settings, report);
        }
    });
    // What becomes of an object is said only of one that goes.
    let warnings =
        if report.violations.is_empty() { warnings::of_deletion(old, settings) } else { Vec::new() };
    Verdict { warnings, ..report.into() }
}

/// Sorts fields as a person would: `members[2]` before `members[10]`.
fn by_field(field: &str) -> Vec<(u64, String)> {
    let pieces = field.split_inclusive(['.', '[', ']']);
    pieces.map(|piece| (piece.trim_end_matches(']').parse().unwrap_or(0), piece.to_owned())).collect()
}
