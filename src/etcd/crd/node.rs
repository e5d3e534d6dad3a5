//! Places in a schema: `spec.etcd.bootstrapWithExistingCluster.members[].name`; `[]` is a list's entry, `{}` a
//! map's value, the empty path the object itself.

use serde_json::Value;

/// A path that leads nowhere in the schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the schema has no field {0:?}")]
pub struct NoSuchField(String);

/// The schema at a path.
pub(super) fn at<'s>(schema: &'s mut Value, path: &str) -> Result<&'s mut Value, NoSuchField> {
    let nowhere = || NoSuchField(path.to_owned());
    steps(path).try_fold(schema, |schema, step| {
        match step {
            Step::Property(name) => {
                schema.get_mut("properties").and_then(|properties| properties.get_mut(name))
            }
            Step::Items => schema.get_mut("items"),
            Step::Values => schema.get_mut("additionalProperties"),
        }
        .ok_or_else(nowhere)
    })
}

/// Sets a keyword at a path.
pub(super) fn set(schema: &mut Value, path: &str, keyword: &str, value: Value) -> Result<(), NoSuchField> {
    let node = at(schema, path)?.as_object_mut().ok_or_else(|| NoSuchField(path.to_owned()))?;
    node.insert(keyword.to_owned(), value);
    Ok(())
}

/// Sets the description at a path.
pub(super) fn describe(schema: &mut Value, path: &str, description: &str) -> Result<(), NoSuchField> {
    set(schema, path, "description", description.into())
}

enum Step<'p> {
    Property(&'p str),
    Items,
    Values,
}

fn steps(path: &str) -> impl Iterator<Item = Step<'_>> {
    path.split('.').filter(|part| !part.is_empty()).flat_map(|part| {
        let name = part.trim_end_matches("[]").trim_end_matches("{}");
        let inner = match part.get(name.len()..) {
            Some("[]") => Some(Step::Items),
            Some("{}") => Some(Step::Values),
            _ => None,
        };
        std::iter::once(Step::Property(name)).chain(inner)
    })
}
