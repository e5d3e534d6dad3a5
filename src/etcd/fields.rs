//! How a struct of the resource is declared: once, with the JSON name of every field.
//!
//! The declaration makes the struct, its reading from JSON, the walk that finds values of the wrong type, and
//! the table that turns Rust field names into JSON names.

use super::scalar::{Int, IntOrText, StringMap, Text};
use super::slot::{Slot, Wrong};
use std::fmt;

/// Where a value stands, as a Kubernetes field path; built on the stack, printed only when needed.
#[derive(Clone, Copy, Debug)]
pub enum Path<'p> {
    /// The object itself.
    Root,
    /// A field of an object.
    Field(&'p Self, &'static str),
    /// An entry of a list.
    Index(&'p Self, usize),
    /// An entry of a map.
    Entry(&'p Self, &'p str),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Self::Root, name) => formatter.write_str(name),
            Self::Field(parent, name) => write!(formatter, "{parent}.{name}"),
            Self::Index(parent, index) => write!(formatter, "{parent}[{index}]"),
            Self::Entry(parent, key) => write!(formatter, "{parent}[{key}]"),
        }
    }
}

/// Receives every value of the wrong JSON type, with its place.
pub(crate) type Visit<'v> = dyn FnMut(&Path<'_>, &Wrong) + 'v;

/// A value that may hold values of the wrong JSON type.
pub(crate) trait Walk {
    /// Calls `visit` for each value of the wrong type in here, in the order of declaration.
    fn walk(&self, _path: &Path<'_>, _visit: &mut Visit<'_>) {}
}

impl Walk for Text<'_> {}
impl Walk for IntOrText<'_> {}
impl Walk for bool {}
impl<const BITS: u32> Walk for Int<BITS> {}

impl<T: Walk> Walk for Slot<T> {
    fn walk(&self, path: &Path<'_>, visit: &mut Visit<'_>) {
        match self {
            Self::Absent => {}
            Self::Wrong(wrong) => visit(path, wrong),
            Self::Set(value) => value.walk(path, visit),
        }
    }
}

impl<T: Walk> Walk for Vec<Slot<T>> {
    fn walk(&self, path: &Path<'_>, visit: &mut Visit<'_>) {
        for (index, item) in self.iter().enumerate() {
            item.walk(&Path::Index(path, index), visit);
        }
    }
}

impl Walk for StringMap<'_> {
    fn walk(&self, path: &Path<'_>, visit: &mut Visit<'_>) {
        for (key, value) in &self.0 {
            value.walk(&Path::Entry(path, key), visit);
        }
    }
}

/// Declares a struct that is read from JSON. `impl 'a;` names the lifetime of the JSON text; the literal behind the
/// name says what the struct is, for whoever wrote another type in its place.
macro_rules! read {
    (
        impl $de:lifetime;
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $(<$lt:lifetime>)? = $expected:literal {
            $( $(#[$field_meta:meta])* $key:literal => $field:ident: $type:ty, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, validator::Validate)]
        // `kubectl explain` shows a field's documentation as it stands, and knows no Markdown.
        #[allow(clippy::doc_markdown, rustdoc::bare_urls, rustdoc::invalid_html_tags)]
        $vis struct $name $(<$lt>)? {
            $( $(#[$field_meta])* $vis $field: $crate::etcd::Slot<$type>, )*
        }

        impl $(<$lt>)? $name $(<$lt>)? {
            /// Rust name and JSON name of every field.
            #[allow(dead_code)] // the envelope of a review has no use for it
            $vis const FIELDS: &'static [(&'static str, &'static str)] = &[ $( (stringify!($field), $key), )* ];
        }

        impl<$de> $crate::etcd::Decode<$de> for $name $(<$lt>)? {
            const EXPECTED: &'static str = $expected;

            fn object<A: serde::de::MapAccess<$de>>(
                mut object: A,
            ) -> Result<$crate::etcd::Slot<Self>, A::Error> {
                let mut read = Self::default();
                while let Some($crate::etcd::scalar::Key(key)) = object.next_key()? {
                    match &*key {
                        $( $key => read.$field = object.next_value()?, )*
                        _ => {
                            object.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok($crate::etcd::Slot::Set(read))
            }
        }

        impl $(<$lt>)? $crate::etcd::fields::Walk for $name $(<$lt>)? {
            fn walk(&self, path: &$crate::etcd::fields::Path<'_>, visit: &mut $crate::etcd::fields::Visit<'_>) {
                $( self.$field.walk(&$crate::etcd::fields::Path::Field(path, $key), visit); )*
            }
        }
    };
}
pub(crate) use read;

/// Declares a struct of the resource: one that is read, and described in the CRD. A field's documentation is what
/// `kubectl explain` says of it. A type behind `as` describes a field in the place of its own; what is `unread`
/// stands in the CRD only.
macro_rules! resource {
    (
        impl $de:lifetime;
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $(<$lt:lifetime>)? = $expected:literal {
            $(
                $(#[doc = $doc:literal])+
                $(#[validate $check:tt])?
                $key:literal => $field:ident: $type:ty $(as $described:ty)?,
            )*
        }
        unread {
            $( $(#[doc = $unread_doc:literal])+ $unread_key:literal: $unread_type:ty, )*
        }
    ) => {
        $crate::etcd::fields::read! {
            impl $de;
            $(#[$meta])*
            $vis struct $name $(<$lt>)? = $expected {
                $( $(#[doc = $doc])+ $(#[validate $check])? $key => $field: $type, )*
            }
        }

        impl $(<$lt>)? $crate::etcd::schema::Schema for $name $(<$lt>)? {
            fn schema() -> serde_json::Value {
                $crate::etcd::schema::object(vec![
                    $( $crate::etcd::schema::property::<$crate::etcd::fields::described!($type $(, $described)?)>($key, &[$($doc),+]), )*
                    $( $crate::etcd::schema::property::<$unread_type>($unread_key, &[$($unread_doc),+]), )*
                ])
            }
        }
    };
}
pub(crate) use resource;

/// The last of one or two types.
macro_rules! described {
    ($type:ty) => {
        $type
    };
    ($type:ty, $described:ty) => {
        $described
    };
}
pub(crate) use described;

/// Declares what is described in the CRD and read by nothing.
macro_rules! unread {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $( $(#[doc = $doc:literal])+ $key:literal: $type:ty, )*
        }
    ) => {
        $(#[$meta])*
        $vis enum $name {}

        impl $crate::etcd::schema::Schema for $name {
            fn schema() -> serde_json::Value {
                $crate::etcd::schema::object(vec![
                    $( $crate::etcd::schema::property::<$type>($key, &[$($doc),+]), )*
                ])
            }
        }
    };
}
pub(crate) use unread;
