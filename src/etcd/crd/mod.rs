//! The CRD of the resource, made from the types and two tables: [`BOUNDS`] (what the schema says of a field beyond
//! its type) and [`cel`] (what CEL says of fields together, and of changes).

mod bounds;
pub mod cel;
mod columns;
mod defaults;
mod node;

use super::object::Etcd;
use super::schema::Schema;
use super::{GROUP, KIND, RESOURCE, VERSION};
use node::NoSuchField;
use serde_json::{Value, json};

pub use bounds::{BOUNDS, Bound, Keyword};
pub use defaults::fill_in;

/// How much of the catalogue the CRD enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// Types, defaults, and the rules about changes: beside the webhook, which says everything else in one answer.
    Structural,
    /// Everything that schema and CEL can say: without the webhook.
    Full,
}

/// In which CRDs an entry of the tables stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum In {
    /// In both.
    Both,
    /// In the full one only.
    Full,
    /// In the structural one only.
    Structural,
}

impl In {
    fn holds(self, strength: Strength) -> bool {
        match self {
            Self::Both => true,
            Self::Full => strength == Strength::Full,
            Self::Structural => strength == Strength::Structural,
        }
    }
}

/// The CRD, as `apiextensions.k8s.io/v1` takes it. Without CEL for an API server that has none (before 1.29), or
/// lacks functions that are used here (before 1.31). The error is a path in a table that leads nowhere.
pub fn definition(strength: Strength, with_cel: bool) -> Result<Value, NoSuchField> {
    Ok(json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{RESOURCE}.{GROUP}")},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": KIND,
                "listKind": format!("{KIND}List"),
                "plural": RESOURCE,
                "singular": "etcd",
                "shortNames": ["ec"],
                // Not `all`: `kubectl delete all --all` would take every cluster's data along.
                "categories": ["etcd-warden"],
            },
            "scope": "Namespaced",
            "versions": [{
                "name": VERSION,
                "served": true,
                "storage": true,
                "additionalPrinterColumns": columns::columns(),
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.replicas",
                        "statusReplicasPath": ".status.replicas",
                        "labelSelectorPath": ".status.selector",
                    },
                },
                "schema": {"openAPIV3Schema": schema(strength, with_cel)?},
            }],
        },
    }))
}

/// Rule that the types themselves enforce.
pub const TYPE_RULE: &str = "type";

/// What of the full CRD enforces a rule, wholly or in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enforcement {
    /// The schema: its answers bear no rule's id.
    pub schema: bool,
    /// CEL: its answers end with the rule's id.
    pub cel: bool,
    /// CEL in the structural CRD too.
    pub structural: bool,
}

impl Enforcement {
    /// Of a rule of the catalogue, by its id.
    pub fn of(rule: &str) -> Self {
        let validations = cel::validations();
        let mut of_rule = validations.iter().filter(|validation| validation.rule == rule).peekable();
        Self {
            schema: rule == TYPE_RULE || BOUNDS.iter().any(|bound| bound.rule == Some(rule)),
            cel: of_rule.peek().is_some(),
            structural: of_rule.any(|validation| validation.stands == In::Both),
        }
    }
}

/// The schema of the object.
pub fn schema(strength: Strength, with_cel: bool) -> Result<Value, NoSuchField> {
    let mut schema = Etcd::schema();
    *node::at(&mut schema, "metadata")? = json!({"type": "object"});
    node::describe(
        &mut schema,
        "",
        "One etcd cluster: its members, how they are reached, and their backups.",
    )?;
    bounds::apply(&mut schema, strength)?;
    if with_cel {
        cel::apply(&mut schema, strength)?;
    }
    Ok(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_of_the_tables_leads_somewhere() {
        for strength in [Strength::Full, Strength::Structural] {
            definition(strength, true).unwrap();
        }
    }

    #[test]
    fn every_field_is_described() {
        fn undescribed(path: &str, schema: &Value, found: &mut Vec<String>) {
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                let path = format!("{path}.{name}");
                if property["description"].as_str().is_none_or(|text| text.len() < 8) && path != ".metadata" {
                    found.push(path.clone());
                }
                undescribed(&path, property, found);
            }
            for part in ["items", "additionalProperties"].iter().filter_map(|part| schema.get(part)) {
                undescribed(&format!("{path}[]"), part, found);
            }
        }
        let mut found = Vec::new();
        undescribed("", &schema(Strength::Full, true).unwrap(), &mut found);
        assert_eq!(found, Vec::<String>::new());
    }
}
