//! JSON Patch (RFC 6902), as far as mutation needs it: add, replace and remove.

use jsonptr::{Pointer, PointerBuf, Token};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One change of a JSON text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum Operation {
    /// Sets a member of an object, or inserts an entry into a list.
    Add {
        /// Where.
        path: PointerBuf,
        /// What.
        value: Value,
    },
    /// Sets what is there to another value.
    Replace {
        /// Where.
        path: PointerBuf,
        /// What.
        value: Value,
    },
    /// Takes away what is there.
    Remove {
        /// Where.
        path: PointerBuf,
    },
}

/// Why an operation can't be applied.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("nothing stands at {path} that could be changed")]
pub struct NotThere {
    /// The place.
    pub path: PointerBuf,
}

impl Operation {
    /// Changes a JSON value, or leaves it as it is and says why.
    pub fn apply(&self, document: &mut Value) -> Result<(), NotThere> {
        let done = match self {
            Self::Add { path, value } => add(document, path, value),
            Self::Replace { path, value } => {
                path.resolve_mut(document).ok().map(|place| *place = value.clone())
            }
            Self::Remove { path } => path.delete(document).map(drop),
        };
        done.ok_or_else(|| NotThere { path: self.path().clone() })
    }

    /// Where the operation changes something.
    pub fn path(&self) -> &PointerBuf {
        match self {
            Self::Add { path, .. } | Self::Replace { path, .. } | Self::Remove { path } => path,
        }
    }
}

fn add(document: &mut Value, path: &Pointer, value: &Value) -> Option<()> {
    let Some((parent, last)) = path.split_back() else {
        *document = value.clone();
        return Some(());
    };
    match parent.resolve_mut(document).ok()? {
        Value::Object(map) => {
            map.insert(last.decoded().into_owned(), value.clone());
            Some(())
        }
        Value::Array(entries) => {
            let at = index(&last, entries.len())?;
            entries.insert(at, value.clone());
            Some(())
        }
        _ => None,
    }
}

/// Where an entry is inserted: `-` is behind the last.
fn index(token: &Token<'_>, length: usize) -> Option<usize> {
    token.to_index().ok()?.for_len_incl(length).ok()
}

/// A pointer from field names and list indices, escaped as it must be.
pub(super) fn pointer<'t>(tokens: impl IntoIterator<Item = Token<'t>>) -> PointerBuf {
    PointerBuf::from_tokens(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(path: &str) -> PointerBuf {
        PointerBuf::parse(path).unwrap()
    }

    #[test]
    fn the_three_operations() {
        let mut document = json!({"a": {"b/c": [1, 2, 3]}});
        let operations = [
            Operation::Replace { path: at("/a/b~1c/1"), value: json!("two") },
            Operation::Remove { path: at("/a/b~1c/0") },
            Operation::Add { path: at("/a/b~1c/-"), value: json!(4) },
            Operation::Add { path: at("/a/b~1c/0"), value: json!(0) },
            Operation::Add { path: at("/a/d"), value: json!(null) },
        ];
        for operation in &operations {
            operation.apply(&mut document).unwrap();
        }
        assert_eq!(document, json!({"a": {"b/c": [0, "two", 3, 4], "d": null}}));
    }

    #[test]
    fn what_is_not_there_is_not_changed() {
        for operation in [
            Operation::Replace { path: at("/x"), value: json!(1) },
            Operation::Remove { path: at("/list/3") },
            Operation::Add { path: at("/list/4"), value: json!(1) },
            Operation::Add { path: at("/x/y"), value: json!(1) },
        ] {
            let mut document = json!({"list": [1, 2, 3]});
            assert!(operation.apply(&mut document).is_err(), "{operation:?}");
            assert_eq!(document, json!({"list": [1, 2, 3]}));
        }
    }

    #[test]
    fn as_it_travels() {
        let operation = Operation::Replace { path: at("/a/0"), value: json!("x") };
        assert_eq!(
            serde_json::to_string(&operation).unwrap(),
            r#"{"op":"replace","path":"/a/0","value":"x"}"#
        );
    }
}
