//! The scalar and collection types of the resource.

use super::slot::{Decode, Json, Slot, Wrong};
use serde::Serialize;
use serde::de::{MapAccess, SeqAccess};
use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry::{Occupied, Vacant};

/// A string, borrowed from the review wherever it holds no escapes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Text<'a>(pub Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de> Decode<'de> for Text<'de> {
    const EXPECTED: &'static str = "a string";

    fn scalar(json: Json<'de>) -> Slot<Self> {
        match json {
            Json::Text(text) => Slot::Set(Self(text)),
            other => Slot::Wrong(Wrong::new(Self::EXPECTED, &other)),
        }
    }
}

impl Slot<Text<'_>> {
    /// The string, where there is one.
    pub fn text(&self) -> Option<&str> {
        self.get().map(|text| &**text)
    }
}

/// An integer of the format `int32`. `3.0` is one.
pub type Int32 = Int<32>;
/// An integer of the format `int64`. `3.0` is one.
pub type Int64 = Int<64>;

/// An integer that fits `BITS` bits with a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Int<const BITS: u32>(pub i64);

impl<const BITS: u32> Int<BITS> {
    /// Zero.
    pub const ZERO: Self = Self(0);

    fn fits(value: i64) -> bool {
        BITS >= i64::BITS || i32::try_from(value).is_ok()
    }
}

impl<'de, const BITS: u32> Decode<'de> for Int<BITS> {
    const EXPECTED: &'static str =
        if BITS == 32 { "a whole number that fits 32 bits" } else { "a whole number that fits 64 bits" };

    fn scalar(json: Json<'de>) -> Slot<Self> {
        let whole = match json {
            Json::Integer(value) => Some(value),
            Json::Number(value) => whole(value),
            _ => None,
        };
        match whole {
            Some(value) if Self::fits(value) => Slot::Set(Self(value)),
            _ => Slot::Wrong(Wrong::new(Self::EXPECTED, &json)),
        }
    }
}

impl<const BITS: u32> Slot<Int<BITS>> {
    /// The number, where there is one.
    pub fn number(&self) -> Option<i64> {
        self.get().map(|value| value.0)
    }
}

/// The integer that a floating-point number is, if it is one and 64 bits hold it.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // the bounds are checked first
fn whole(value: f64) -> Option<i64> {
    (value.fract() == 0.0 && value >= i64::MIN as f64 && value < i64::MAX as f64).then_some(value as i64)
}

impl<'de> Decode<'de> for bool {
    const EXPECTED: &'static str = "true or false";

    fn scalar(json: Json<'de>) -> Slot<Self> {
        match json {
            Json::Bool(value) => Slot::Set(value),
            other => Slot::Wrong(Wrong::new(Self::EXPECTED, &other)),
        }
    }
}

/// A quantity such as `8Gi`, or a whole number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum IntOrText<'a> {
    /// A whole number.
    Int(i64),
    /// A string.
    Text(Text<'a>),
}

impl IntOrText<'_> {
    /// The value as it would be written in a string.
    pub fn as_text(&self) -> Cow<'_, str> {
        match self {
            Self::Int(value) => Cow::Owned(value.to_string()),
            Self::Text(text) => Cow::Borrowed(text),
        }
    }
}

impl<'de> Decode<'de> for IntOrText<'de> {
    const EXPECTED: &'static str = "a quantity: a string such as \"8Gi\", or a whole number";

    fn scalar(json: Json<'de>) -> Slot<Self> {
        match json {
            Json::Text(text) => Slot::Set(Self::Text(Text(text))),
            Json::Integer(value) => Slot::Set(Self::Int(value)),
            Json::Number(number) => match whole(number) {
                Some(value) => Slot::Set(Self::Int(value)),
                None => Slot::Wrong(Wrong::new(Self::EXPECTED, &json)),
            },
            other => Slot::Wrong(Wrong::new(Self::EXPECTED, &other)),
        }
    }
}

/// A map of strings, in the order of the manifest; a key that stands twice counts with its last value, as it
/// does for the API server.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct StringMap<'a>(pub Vec<(Cow<'a, str>, Slot<Text<'a>>)>);

impl StringMap<'_> {
    /// The value at a key.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == key).and_then(|(_, value)| value.text())
    }
}

impl<'de> Decode<'de> for StringMap<'de> {
    const EXPECTED: &'static str = "an object of strings";

    fn object<A: MapAccess<'de>>(mut object: A) -> Result<Slot<Self>, A::Error> {
        let mut entries: Vec<(Cow<'de, str>, Slot<Text<'de>>)> = Vec::new();
        let mut places: HashMap<Cow<'de, str>, usize> = HashMap::new();
        while let Some(Key(key)) = object.next_key()? {
            let value = object.next_value()?;
            match places.entry(key.clone()) {
                Occupied(place) => {
                    if let Some(entry) = entries.get_mut(*place.get()) {
                        entry.1 = value;
                    }
                }
                Vacant(place) => {
                    place.insert(entries.len());
                    entries.push((key, value));
                }
            }
        }
        Ok(Slot::Set(Self(entries)))
    }
}

/// A key of a JSON object, borrowed where it holds no escapes.
pub(crate) struct Key<'a>(pub(crate) Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for Key<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> serde::de::Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;
            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(key)))
            }
            fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(key.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

/// A list of anything; `null` in it is of the wrong type.
impl<'de, T: Decode<'de>> Decode<'de> for Vec<Slot<T>> {
    const EXPECTED: &'static str = "a list";

    fn list<A: SeqAccess<'de>>(mut list: A) -> Result<Slot<Self>, A::Error> {
        let mut items = Self::with_capacity(list.size_hint().unwrap_or(0));
        while let Some(item) = list.next_element::<Slot<T>>()? {
            items.push(match item {
                Slot::Absent => Slot::Wrong(Wrong::new(T::EXPECTED, &Json::Null)),
                read => read,
            });
        }
        Ok(Slot::Set(items))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<'a, T: Decode<'a>>(json: &'a str) -> Slot<T> {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn integers_follow_the_format() {
        for (json, int32, int64) in [
            ("3", Some(3), Some(3)),
            ("3.0", Some(3), Some(3)),
            ("-1", Some(-1), Some(-1)),
            ("1e3", Some(1000), Some(1000)),
            ("3.5", None, None),
            ("2147483647", Some(2_147_483_647), Some(2_147_483_647)),
            ("2147483648", None, Some(2_147_483_648)),
            ("9223372036854775807", None, Some(i64::MAX)),
            ("9223372036854775808", None, None),
            ("99999999999999999999999999", None, None),
            ("\"3\"", None, None),
            ("true", None, None),
            ("[3]", None, None),
            ("null", None, None),
        ] {
            assert_eq!(read::<Int32>(json).number(), int32, "{json} as int32");
            assert_eq!(read::<Int64>(json).number(), int64, "{json} as int64");
        }
    }

    #[test]
    fn null_is_absent_but_wrong_in_a_list() {
        assert!(read::<Text<'_>>("null").is_absent());
        let list = read::<Vec<Slot<Text<'_>>>>(r#"["a", null]"#);
        let items = list.get().unwrap();
        assert_eq!(items[0].text(), Some("a"));
        assert_eq!(items[1].wrong().unwrap().found, "null");
    }

    #[test]
    fn the_last_of_two_equal_keys_counts() {
        let map = read::<StringMap<'_>>(r#"{"a": "1", "b": "2", "a": "3"}"#);
        let map = map.get().unwrap();
        assert_eq!((map.value("a"), map.0.len()), (Some("3"), 2));
    }

    #[test]
    fn a_string_is_borrowed_unless_it_holds_escapes() {
        assert!(matches!(read::<Text<'_>>(r#""plain""#).get().unwrap().0, Cow::Borrowed("plain")));
        assert_eq!(read::<Text<'_>>(r#""a\u0000b""#).text(), Some("a\0b"));
    }
}
