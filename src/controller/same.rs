//! Whether an object that stands is as it should be: then it isn't written.
//!
//! The API server adds fields and defaults, and others may add theirs: what counts is that all of what we apply stands
//! there. That nothing stands there any more which we applied once is told by a hash of what was applied last.

use serde_json::Value;

use super::render::Rendered;
use crate::etcd::checks::Quantity;

/// Annotation with the hash of what was applied last.
pub(super) const APPLIED: &str = "etcd-warden.dev/applied";

/// Lists that mean what they list and nothing more: something that was added takes effect.
const WHOLE: &[&str] = &["/rules", "/subjects"];

/// An object with the hash of itself.
pub(super) fn marked(rendered: &Rendered) -> Value {
    let mut object = rendered.object.clone();
    let hash = super::render::hash(&object);
    if let Some(annotations) = object.pointer_mut("/metadata/annotations") {
        annotations[APPLIED] = hash.into();
    }
    object
}

/// The first place where an object isn't as it should be.
pub(super) fn difference(wanted: &Value, stands: &Value) -> Option<String> {
    differs(wanted, stands, "")
}

fn differs(wanted: &Value, stands: &Value, path: &str) -> Option<String> {
    match (wanted, stands) {
        (Value::Object(wanted), _) => wanted.iter().find_map(|(key, value)| {
            differs(value, stands.get(key).unwrap_or(&Value::Null), &format!("{path}/{key}"))
        }),
        (Value::Array(wanted), Value::Array(stands)) => list_differs(wanted, stands, path),
        // An empty list is dropped.
        (Value::Array(wanted), Value::Null) if wanted.is_empty() => None,
        (Value::String(wanted), Value::String(stands)) if same_quantity(wanted, stands) => None,
        _ => (wanted != stands).then(|| path.to_owned()),
    }
}

/// Objects in a list are found wherever they stand; scalars are compared in order.
fn list_differs(wanted: &[Value], stands: &[Value], path: &str) -> Option<String> {
    let objects = wanted.iter().all(Value::is_object) && !wanted.is_empty();
    if !objects || WHOLE.contains(&path) {
        let same = wanted.len() == stands.len()
            && wanted.iter().zip(stands).all(|(wanted, stands)| differs(wanted, stands, path).is_none());
        return (!same).then(|| path.to_owned());
    }
    let missing =
        wanted.iter().position(|wanted| stands.iter().all(|stands| differs(wanted, stands, path).is_some()));
    missing.map(|index| format!("{path}/{index}"))
}

/// Whether two texts are one, or the same quantity: the API server writes 1000m as 1.
pub(super) fn same_quantity(one: &str, other: &str) -> bool {
    one == other || Quantity::read(one).is_some_and(|one| Some(one) == Quantity::read(other))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_others_add_makes_no_difference() {
        let wanted = json!({"a": {"b": 1}, "list": [{"name": "x", "n": "1Gi"}], "empty": [], "none": {}, "words": ["a", "b"]});
        let stands = json!({
            "a": {"b": 1, "c": 2}, "list": [{"name": "injected"}, {"name": "x", "n": "1024Mi", "m": 1}], "words": ["a", "b"], "z": 1
        });
        assert_eq!(difference(&wanted, &stands), None);
    }

    #[test]
    fn what_differs_is_named() {
        for (wanted, stands, place) in [
            (json!({"a": 1}), json!({}), "/a"),
            (json!({"a": {"b": 1}}), json!({"a": {"b": 2}}), "/a/b"),
            (json!({"a": ["x"]}), json!({"a": ["x", "y"]}), "/a"),
            (json!({"a": [{"n": 1}, {"n": 2}]}), json!({"a": [{"n": 1}]}), "/a/1"),
            (json!({"rules": [{"n": 1}]}), json!({"rules": [{"n": 1}, {"n": 2}]}), "/rules"),
            (json!({"a": "1Gi"}), json!({"a": "2Gi"}), "/a"),
            (json!({"a": [{"n": 1}]}), json!({}), "/a"),
        ] {
            assert_eq!(difference(&wanted, &stands).as_deref(), Some(place), "{wanted} {stands}");
        }
    }

    #[test]
    fn what_was_applied_once_and_is_not_wanted_any_more_shows_in_the_hash() {
        let rendered = |object| Rendered { kind: super::super::Kind::Role, name: String::new(), object };
        let before = marked(&rendered(json!({"metadata": {"annotations": {}}, "a": 1, "b": 1})));
        let after = marked(&rendered(json!({"metadata": {"annotations": {}}, "a": 1})));
        assert_eq!(
            difference(&after, &before).as_deref(),
            Some(&*format!("/metadata/annotations/{APPLIED}"))
        );
    }
}
