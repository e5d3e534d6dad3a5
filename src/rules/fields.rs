//! From the resource's own field checks to violations: the one converter.

use super::report::{Cause, Report};
use crate::etcd::checks::CAUSE;
use crate::etcd::{Etcd, json_name};
use crate::text::quoted;
use serde_json::Value;
use std::borrow::Cow;
use validator::{Validate, ValidationError, ValidationErrors, ValidationErrorsKind};

/// Runs the checks that need one field only.
pub(super) fn check(etcd: &Etcd<'_>, report: &mut Report) {
    if let Err(errors) = etcd.validate() {
        convert("", &errors, report);
    }
}

fn convert(path: &str, errors: &ValidationErrors, report: &mut Report) {
    for (name, kind) in errors.errors() {
        let path = match path {
            "" => json_name(name).to_owned(),
            path => format!("{path}.{}", json_name(name)),
        };
        match kind {
            ValidationErrorsKind::Struct(nested) => convert(&path, nested, report),
            ValidationErrorsKind::List(items) => {
                for (index, nested) in items {
                    convert(&format!("{path}[{index}]"), nested, report);
                }
            }
            ValidationErrorsKind::Field(errors) => errors.iter().for_each(|error| add(&path, error, report)),
        }
    }
}

fn add(path: &str, error: &ValidationError, report: &mut Report) {
    // Every code is written in `etcd::checks`; a made-up one would be no rule, and the fixtures would tell.
    let Cow::Borrowed(rule) = error.code else { return };
    report.begin(rule);
    let value = error.params.get("value");
    let shown = match value {
        Some(Value::String(text)) => quoted(text),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let text = value.map(ToString::to_string).unwrap_or_default();
    report.field_check(cause(error), path, &shown, text, error.message.as_deref().unwrap_or_default());
}

fn cause(error: &ValidationError) -> Cause {
    match error.params.get(CAUSE).and_then(Value::as_str) {
        Some(name) if name == Cause::NotSupported.name() => Cause::NotSupported,
        _ => Cause::Invalid,
    }
}
