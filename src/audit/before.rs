//! What was stored before an update, written down as the places where it differs from the manifest.

use jsonptr::{PointerBuf, Token};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// Most places that are told apart. A manifest that differs in more is another manifest.
const PLACES_MAX: usize = 256;

/// Most bytes of all their paths: field names can be as long as the manifest, and each path repeats those above it.
const PATH_BYTES_MAX: usize = 16 * 1024;

/// A place in the manifest at which something else was stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Before {
    /// Where: a JSON pointer (RFC 6901) into the manifest; empty for the whole of it.
    pub path: PointerBuf,
    /// What was stored there; nothing where nothing was. A stored `null` is a value.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub value: Option<Value>,
}

/// A field that is there, be it `null`: serde takes that for one that isn't.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// The places at which `old` differs from `manifest`. They are never much longer than `old` itself: where they would
/// be many, it is the whole of it.
pub fn before(manifest: &Value, old: Value) -> Vec<Before> {
    let mut found = Differences::default();
    found.compare(&mut PointerBuf::default(), manifest, &old);
    if found.are_too_many() {
        vec![Before { path: PointerBuf::default(), value: Some(old) }]
    } else {
        found.places
    }
}

/// What was stored, from the manifest and the places at which it differed; nothing where they don't belong together.
pub fn restored(mut manifest: Value, before: &[Before]) -> Option<Value> {
    for Before { path, value } in before {
        match value {
            Some(value) => drop(path.assign(&mut manifest, value.clone()).ok()?),
            None => drop(path.delete(&mut manifest)?),
        }
    }
    Some(manifest)
}

#[derive(Default)]
struct Differences {
    places: Vec<Before>,
    path_bytes: usize,
}

impl Differences {
    fn are_too_many(&self) -> bool {
        self.places.len() > PLACES_MAX || self.path_bytes > PATH_BYTES_MAX
    }

    fn compare(&mut self, at: &mut PointerBuf, new: &Value, old: &Value) {
        match (new, old) {
            (Value::Object(new), Value::Object(old)) => self.compare_objects(at, new, old),
            (Value::Array(new), Value::Array(old)) if new.len() == old.len() => {
                for (index, (new, old)) in new.iter().zip(old).enumerate() {
                    self.below(at, Token::from(index), |found, at| found.compare(at, new, old));
                }
            }
            _ if new == old => {}
            _ => self.note(at, Some(old)),
        }
    }

    fn compare_objects(&mut self, at: &mut PointerBuf, new: &Map<String, Value>, old: &Map<String, Value>) {
        for (name, new) in new {
            self.below(at, Token::new(name), |found, at| match old.get(name) {
                Some(old) => found.compare(at, new, old),
                None => found.note(at, None),
            });
        }
        for (name, old) in old.iter().filter(|(name, _)| !new.contains_key(*name)) {
            self.below(at, Token::new(name), |found, at| found.note(at, Some(old)));
        }
    }

    fn below(
        &mut self,
        at: &mut PointerBuf,
        token: Token<'_>,
        look: impl FnOnce(&mut Self, &mut PointerBuf),
    ) {
        if self.are_too_many() {
            return;
        }
        at.push_back(token);
        look(self, at);
        at.pop_back();
    }

    fn note(&mut self, at: &PointerBuf, value: Option<&Value>) {
        self.path_bytes += at.len();
        self.places.push(Before { path: at.clone(), value: value.cloned() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn line(before: &[Before]) -> String {
        serde_json::to_string(before).unwrap()
    }

    #[test]
    fn only_what_differs_is_kept() {
        for (new, old, expected) in [
            (json!({"a": 1}), json!({"a": 1}), r"[]"),
            (
                json!({"a": {"b": 1, "c": 2}}),
                json!({"a": {"b": 3, "c": 2}}),
                r#"[{"path":"/a/b","value":3}]"#,
            ),
            (json!({"a": 1, "b": 2}), json!({"a": 1}), r#"[{"path":"/b"}]"#),
            (json!({"a": 1}), json!({"a": 1, "b": null}), r#"[{"path":"/b","value":null}]"#),
            (json!({"a": [1, 2]}), json!({"a": [1, 3]}), r#"[{"path":"/a/1","value":3}]"#),
            (json!({"a": [1, 2]}), json!({"a": [1]}), r#"[{"path":"/a","value":[1]}]"#),
            (json!({"a/b": {"c~": 1}}), json!({"a/b": {"c~": 2}}), r#"[{"path":"/a~1b/c~0","value":2}]"#),
            (json!(1), json!({}), r#"[{"path":"","value":{}}]"#),
        ] {
            assert_eq!(line(&before(&new, old)), expected, "{new}");
        }
    }

    #[test]
    fn it_is_never_much_longer_than_what_was_stored() {
        let many = |value: i32| json!({"list": vec![value; 100_000]});
        let long_name = "x".repeat(PATH_BYTES_MAX);
        let below_a_long_name =
            |value: i32| json!({long_name.as_str(): {"a": value, "b": value, "c": value}});
        for (new, old) in [(many(1), many(2)), (below_a_long_name(1), below_a_long_name(2))] {
            let places = before(&new, old.clone());
            assert_eq!(places, [Before { path: PointerBuf::default(), value: Some(old.clone()) }]);
            assert_eq!(restored(new, &places), Some(old));
        }
    }

    #[test]
    fn what_does_not_belong_together_restores_nothing() {
        let gone = Before { path: PointerBuf::parse("/a/b").unwrap(), value: None };
        assert_eq!(restored(json!({"a": {}}), &[gone]), None);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..3i32).prop_map(Value::from),
            "[ab/~0]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[ab/~01]{0,2}", inner, 0..4)
                    .prop_map(|map| map.into_iter().collect::<Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_was_stored_comes_back_whole(new in any_json(), old in any_json()) {
            let places = before(&new, old.clone());
            let read: Vec<Before> = serde_json::from_str(&line(&places)).unwrap();
            prop_assert_eq!(restored(new, &read), Some(old));
        }
    }
}
