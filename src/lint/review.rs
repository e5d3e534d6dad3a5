//! An AdmissionReview: what the server would answer.

use super::manifest::described;
use super::{Judged, Lint};
use crate::admission::{Audited, Policy, review};
use crate::audit::Stage;
use crate::diagnostics::{Finding, Level, Sentence};
use crate::manifest::Part;
use crate::rules::NOT_JUDGED;
use serde::de::IgnoredAny;

/// What the server would say of a review.
pub(super) fn judged(lint: &Lint, part: Part<'_>) -> Judged {
    let policy = Policy::new(&lint.settings, Audited::All);
    let body = body(part);
    let outcome = match review(Stage::Validate, body.as_bytes(), &policy) {
        Ok(outcome) => outcome,
        Err(no_review) => {
            return Judged {
                findings: vec![not_judged(part, &no_review.to_string())],
                left_out: 0,
                is_refused: true,
            };
        }
    };
    let object = object(part).unwrap_or(part);
    let namespace = part.field("request").and_then(|request| request.field("namespace")?.text());
    let name = described(object, namespace);
    let of = |level, rule: &str, field: &str, message: &str| Finding {
        object: Some(name.clone()),
        ..Finding::of_field(level, rule, field, message, object.at_field(field))
    };
    let record = outcome.record.as_deref();
    let refusal =
        record.and_then(|record| record.message.as_deref()).map(|message| not_judged(part, message));
    let violations = record.map_or(&[][..], |record| &record.violations).iter();
    let violations = violations.map(|found| of(Level::Error, found.rule, &found.field, &found.message));
    let warnings = outcome.warnings.iter().map(|warning| {
        of(Level::Warning, warning.id, warning.field.as_deref().unwrap_or_default(), &warning.text)
    });
    Judged {
        is_refused: refusal.is_some(),
        findings: refusal.into_iter().chain(violations).chain(warnings).collect(),
        left_out: record.map_or(0, |record| record.violations_left_out),
    }
}

/// The body to post: a JSON file's own text, which may say more than a value that was made from it.
fn body(part: Part<'_>) -> String {
    let text = part.source();
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) => text.to_owned(),
        Err(_) => part.value().to_string(),
    }
}

/// What the review is about.
fn object(part: Part<'_>) -> Option<Part<'_>> {
    let request = part.field("request")?;
    let is_object = |name| request.field(name).filter(|object| !object.is_null());
    is_object("object").or_else(|| is_object("oldObject"))
}

fn not_judged(part: Part<'_>, message: &str) -> Finding {
    let Sentence { what, help } = Sentence::read(message, NOT_JUDGED);
    Finding {
        level: Level::Error,
        rule: NOT_JUDGED.to_owned(),
        message: what,
        help,
        field: None,
        object: None,
        place: Some(part.location()),
    }
}
