//! A place in a JSON object: absent, of the wrong type, or set.

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// What stood at a field. `null` is the same as absent, as it is for the API server.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Slot<T> {
    /// Nothing, or `null`.
    #[default]
    Absent,
    /// A value of another JSON type than the field has.
    Wrong(Box<Wrong>),
    /// A value.
    Set(T),
}

impl<T> Slot<T> {
    /// The value, where there is one of the right type.
    pub fn get(&self) -> Option<&T> {
        match self {
            Self::Set(value) => Some(value),
            Self::Absent | Self::Wrong(_) => None,
        }
    }

    /// The value, to be changed in place.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        match self {
            Self::Set(value) => Some(value),
            Self::Absent | Self::Wrong(_) => None,
        }
    }

    /// Whether nothing stood there.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    /// Whether a value of the wrong JSON type stood there.
    pub fn is_wrong(&self) -> bool {
        matches!(self, Self::Wrong(_))
    }

    /// Whether a value of the right type stood there.
    pub fn is_set(&self) -> bool {
        matches!(self, Self::Set(_))
    }

    /// What stood there instead of a value of the right type.
    pub fn wrong(&self) -> Option<&Wrong> {
        match self {
            Self::Wrong(wrong) => Some(wrong),
            Self::Absent | Self::Set(_) => None,
        }
    }
}

/// A value of the wrong JSON type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// What the field holds, with its article: "a list of members".
    pub expected: &'static str,
    /// What stood there: "a string".
    pub found: &'static str,
    /// The value as JSON; composite values as `{…}` and `[…]`.
    pub shown: String,
}

impl Wrong {
    /// A value where `expected` should stand.
    pub fn new(expected: &'static str, json: &Json<'_>) -> Box<Self> {
        Box::new(Self { expected, found: json.kind(), shown: json.shown() })
    }
}

/// A scalar, or the outline of a composite value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json<'a> {
    /// `null`, where it isn't the same as absent: in a list.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number that fits 64 bits with a sign.
    Integer(i64),
    /// Any other number, as exactly as 64 bits of floating point hold it.
    Number(f64),
    /// A string.
    Text(Cow<'a, str>),
    /// A list.
    List,
    /// An object.
    Object,
}

impl Json<'_> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Integer(_) | Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::List => "a list",
            Self::Object => "an object",
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Number(value) => value.to_string(),
            Self::Text(text) => format!("\"{text}\""),
            Self::List => "[…]".to_owned(),
            Self::Object => "{…}".to_owned(),
        }
    }
}

/// A type that can be read from one JSON type and answers with [`Slot::Wrong`] to every other.
pub trait Decode<'de>: Sized {
    /// What the type is, with its article, for a person: "a string".
    const EXPECTED: &'static str;

    /// Reads a scalar.
    fn scalar(json: Json<'de>) -> Slot<Self> {
        Slot::Wrong(Wrong::new(Self::EXPECTED, &json))
    }

    /// Reads a list.
    fn list<A: SeqAccess<'de>>(mut list: A) -> Result<Slot<Self>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::scalar(Json::List))
    }

    /// Reads an object.
    fn object<A: MapAccess<'de>>(mut object: A) -> Result<Slot<Self>, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::scalar(Json::Object))
    }
}

impl<'de, T: Decode<'de>> Deserialize<'de> for Slot<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SlotVisitor(PhantomData))
    }
}

struct SlotVisitor<T>(PhantomData<T>);

impl<'de, T: Decode<'de>> Visitor<'de> for SlotVisitor<T> {
    type Value = Slot<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(T::EXPECTED)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Slot::Absent)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(T::scalar(Json::Bool(value)))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok(T::scalar(Json::Integer(value)))
    }

    #[allow(clippy::cast_precision_loss)] // beyond 64 bits with a sign no field holds it anyway
    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        Ok(T::scalar(i64::try_from(value).map_or_else(|_| Json::Number(value as f64), Json::Integer)))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        Ok(T::scalar(Json::Number(value)))
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(T::scalar(Json::Text(Cow::Borrowed(value))))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(T::scalar(Json::Text(Cow::Owned(value.to_owned()))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        T::list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Self::Value, A::Error> {
        T::object(object)
    }
}

/// For the parameters of a [`validator::ValidationError`], which is where ratcheting finds the value again.
impl<T: Serialize> Serialize for Slot<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Absent => serializer.serialize_unit(),
            Self::Wrong(wrong) => serializer.serialize_str(&wrong.shown),
            Self::Set(value) => value.serialize(serializer),
        }
    }
}

/// A missing or unreadable struct has no fields that could be wrong.
impl<T: validator::Validate> validator::Validate for Slot<T> {
    fn validate(&self) -> Result<(), validator::ValidationErrors> {
        self.get().map_or(Ok(()), T::validate)
    }
}
