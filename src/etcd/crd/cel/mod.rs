//! What CEL says: fields together, and changes.
//!
//! A rule stands at the deepest node from which it can see what it needs: what stands at the root is evaluated at
//! every write, also at one that touches labels only, and a rule about the object that fails there is never
//! forgiven by the API server's own ratcheting. So a rule about the object that needs the root or `spec.etcd`
//! (the name, the TLS settings) sees the old object too (`optionalOldSelf`) and forgives what was there before.
//! CEL sees neither annotations, finalizers, the namespace nor a deletion timestamp.
//!
//! Functions that are used: regular expressions, `quantity`, `isIP` and `ip`, `sets`: Kubernetes 1.31.

mod changes;
mod fragments;
mod names;
mod own;
mod status;
mod urls;
mod values;

use super::node::{self, NoSuchField};
use super::{In, Strength};
use serde_json::{Map, Value, json};

/// One validation rule of the CRD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validation {
    /// The rule of the catalogue that it enforces, wholly or in part.
    pub rule: &'static str,
    /// Node at which it stands: see [`super::Bound::path`].
    pub path: &'static str,
    /// In which CRDs.
    pub stands: In,
    /// Field below the node that the answer names.
    pub field: Option<&'static str>,
    /// What the answer calls the fault.
    pub reason: Reason,
    /// The expression, which is true of what is right.
    pub expression: String,
    /// What the answer says: a CEL expression of type string, without the rule's id.
    pub message: String,
    /// Whether the expression runs at a creation too and sees `oldSelf` as an optional value.
    pub old_is_optional: bool,
}

/// The reasons that Kubernetes knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Wrong by itself.
    Invalid,
    /// Not there.
    Required,
    /// There twice.
    Duplicate,
    /// Not to be changed.
    Forbidden,
}

impl Reason {
    const fn name(self) -> &'static str {
        match self {
            Self::Invalid => "FieldValueInvalid",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Forbidden => "FieldValueForbidden",
        }
    }
}

impl Validation {
    fn new(
        rule: &'static str,
        path: &'static str,
        expression: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            rule,
            path,
            stands: In::Full,
            field: None,
            reason: Reason::Invalid,
            expression: expression.into(),
            message: message.into(),
            old_is_optional: false,
        }
    }

    /// A rule about a change: in both CRDs, and Forbidden.
    fn change(
        rule: &'static str,
        path: &'static str,
        expression: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self { stands: In::Both, reason: Reason::Forbidden, ..Self::new(rule, path, expression, message) }
    }

    fn at(self, field: &'static str) -> Self {
        Self { field: Some(field), ..self }
    }

    fn because(self, reason: Reason) -> Self {
        Self { reason, ..self }
    }

    fn seeing_the_old(self) -> Self {
        Self { old_is_optional: true, ..self }
    }

    fn json(&self) -> Value {
        let mut json = Map::new();
        let mut say = |key: &str, value: Value| json.insert(key.to_owned(), value);
        say("rule", self.expression.clone().into());
        // Where the expression below can't be evaluated.
        say("message", format!("breaks the rule [{}]", self.rule).into());
        say("messageExpression", format!("{} + ' [{}]'", self.message, self.rule).into());
        say("reason", self.reason.name().into());
        if let Some(field) = self.field {
            say("fieldPath", field.into());
        }
        if self.old_is_optional {
            say("optionalOldSelf", true.into());
        }
        Value::Object(json)
    }
}

/// Every validation.
pub fn validations() -> Vec<Validation> {
    [
        changes::validations(),
        names::validations(),
        own::validations(),
        urls::validations(),
        values::validations(),
        status::validations(),
    ]
    .concat()
}

pub(super) fn apply(schema: &mut Value, strength: Strength) -> Result<(), NoSuchField> {
    for validation in validations().iter().filter(|validation| validation.stands.holds(strength)) {
        let node = node::at(schema, validation.path)?;
        match node.get_mut("x-kubernetes-validations").and_then(Value::as_array_mut) {
            Some(list) => list.push(validation.json()),
            None => {
                node::set(schema, validation.path, "x-kubernetes-validations", json!([validation.json()]))?;
            }
        }
    }
    Ok(())
}

/// A CEL string literal.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_is_escaped() {
        assert_eq!(literal(r"can't \d"), r"'can\'t \\d'");
    }
}
