//! Runs the tables over a request, and settles what speaks where rules overlap.

use super::catalogue::{Check, RULES};
use super::change::{Change, is_within};
use super::fields;
use super::report::{Report, Violation, Warning};
use super::settings::Settings;
use super::view::View;
use super::warnings;
use std::collections::{HashMap, HashSet};

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
    let mut report = Report::new();
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
}

fn update(change: &Change<'_>) -> Verdict {
    let (frozen, others) = change_violations(change);
    let Ratcheted { kept, fresh, more_violations } = if change.waives_object_rules() {
        Ratcheted::default()
    } else {
        ratchet(object_violations(change.new, change.settings), change)
    };
    let fresh = fresh.into_iter().filter(|violation| !is_silenced(violation, &frozen)).collect();
    Verdict {
        violations: [frozen, others, fresh].concat(),
        more_violations,
        warnings: new_warnings(change),
        ratcheted: kept.iter().map(ratcheted).collect(),
    }
}

/// Violations of rules that make a value final, and of the other rules about changes.
fn change_violations(change: &Change<'_>) -> (Vec<Violation>, Vec<Violation>) {
    let (mut frozen, mut others) = (Report::new(), Report::new());
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
    (frozen.violations, others.violations)
}

/// Whether a violation is the same mistake as the edit of a value that is final.
fn is_silenced(violation: &Violation, frozen: &[Violation]) -> bool {
    frozen.iter().any(|edit| {
        is_within(&violation.field, &edit.field) || violation.related.is_some_and(|field| field == edit.field)
    })
}

/// What is wrong now: what was so before, at the same value, and what is new.
#[derive(Default)]
struct Ratcheted {
    kept: Vec<Violation>,
    fresh: Vec<Violation>,
    more_violations: usize,
}

fn ratchet(found: Report, change: &Change<'_>) -> Ratcheted {
    if found.violations.is_empty() {
        return Ratcheted::default();
    }
    let old = change.old_report();
    if found.more > old.more {
        // More than a report keeps, and more than before: which ones are new can't be told.
        return Ratcheted { fresh: found.violations, more_violations: found.more, kept: Vec::new() };
    }
    let mut before: HashMap<(&str, String, String), usize> = HashMap::new();
    for violation in &old.violations {
        *before.entry(key(violation)).or_default() += 1;
    }
    let (kept, fresh) =
        found.violations.into_iter().partition(|violation| match before.get_mut(&key(violation)) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        });
    Ratcheted { kept, fresh, more_violations: 0 }
}

/// Equal for the same rule at the same value, wherever in its list the value stands.
fn key(violation: &Violation) -> (&'static str, String, String) {
    (violation.rule, without_indices(&violation.field), violation.value.clone())
}

fn without_indices(field: &str) -> String {
    let mut out = String::with_capacity(field.len());
    for (part, piece) in field.split('[').enumerate() {
        match piece.split_once(']') {
            Some((index, rest)) if part > 0 && index.bytes().all(|b| b.is_ascii_digit()) => {
                out.push_str(rest);
            }
            _ if part > 0 => out.extend(["[", piece]),
            _ => out.push_str(piece),
        }
    }
    out
}

fn ratcheted(violation: &Violation) -> Warning {
    Warning::new(
        violation.rule,
        format_args!("{}: kept as it was: {}", violation.field, violation.sentence()),
    )
}

/// What the update makes worth a warning: true of the new object, and not of the old one in the same words.
fn new_warnings(change: &Change<'_>) -> Vec<Warning> {
    let mut warnings = warnings::of_object(change.new);
    if !warnings.is_empty() {
        let before: HashSet<Warning> = warnings::of_object(change.old).into_iter().collect();
        warnings.retain(|warning| !before.contains(warning));
    }
    warnings.extend(warnings::of_change(change));
    warnings
}

fn update_status(change: &Change<'_>) -> Verdict {
    let mut report = Report::new();
    run(&mut report, |check, report| {
        if let Check::Status(look) = check {
            look(change, report);
        }
    });
    report.into()
}

fn update_scale(change: &Change<'_>) -> Verdict {
    let mut report = Report::new();
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
    report.into()
}

fn delete(old: &View<'_>, settings: &Settings) -> Verdict {
    let mut report = Report::new();
    run(&mut report, |check, report| {
        if let Check::Deleted(look) = check {
            look(old, settings, report);
        }
    });
    Verdict { warnings: warnings::of_deletion(old, settings), ..report.into() }
}

/// Sorts fields as a person would: `members[2]` before `members[10]`.
fn by_field(field: &str) -> Vec<(u64, String)> {
    let pieces = field.split_inclusive(['.', '[', ']']);
    pieces.map(|piece| (piece.trim_end_matches(']').parse().unwrap_or(0), piece.to_owned())).collect()
}
