//! Ids of members and clusters: 64 bits, written in hexadecimal as etcd and etcdctl write them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What is no id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no id: 1 to 16 hexadecimal digits")]
pub struct NoId(String);

macro_rules! id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "{:x}", self.0)
            }
        }

        impl FromStr for $name {
            type Err = NoId;

            fn from_str(text: &str) -> Result<Self, NoId> {
                // The parser takes a sign.
                let plain = text.bytes().all(|byte| byte.is_ascii_hexdigit());
                let id = plain.then(|| u64::from_str_radix(text, 16).ok()).flatten();
                id.map(Self).ok_or_else(|| NoId(text.to_owned()))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id! {
    /// Id of a member. A member that comes back after it was removed has another one.
    MemberId
}

id! {
    /// Id of a cluster. It never changes.
    ClusterId
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_written_as_etcdctl_writes_them() {
        for (text, id) in
            [("9a44a9ddaae30810", 0x9a44_a9dd_aae3_0810), ("1", 1), ("ffffffffffffffff", u64::MAX)]
        {
            assert_eq!(text.parse::<MemberId>().unwrap(), MemberId(id));
            assert_eq!(MemberId(id).to_string(), text);
        }
        for text in ["", "g", "+1", "-1", "0x1", "10000000000000000", " 1"] {
            assert!(text.parse::<ClusterId>().is_err(), "{text}");
        }
    }
}
