//! The loop's words: to form a cluster, and to leave one.

use std::collections::BTreeMap;

use aws_lc_rs::digest;
use serde::{Deserialize, Serialize};

use super::id::{ClusterId, MemberId};

/// The word to form a cluster: given once an attempt, to all pods, and used once by each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Form {
    /// The attempt: the Etcd's UID and a number that rises. Also etcd's `initial-cluster-token`, so that two attempts
    /// can never become one cluster.
    pub token: String,
    /// etcd's `initial-cluster`, complete: `name=url,…`.
    pub initial_cluster: String,
}

impl Form {
    /// The token of an attempt.
    pub fn token(uid: &str, attempt: u32) -> String {
        format!("{uid}/{attempt}")
    }

    /// The id that etcd gives to the cluster which this word forms; nothing where the word can't be read.
    pub fn cluster(&self) -> Option<ClusterId> {
        let mut ids = self.members()?.into_values().collect::<Vec<_>>();
        ids.sort_unstable();
        let bytes: Vec<u8> = ids.into_iter().flat_map(|MemberId(id)| id.to_be_bytes()).collect();
        hashed(&bytes).map(ClusterId)
    }

    /// The id that etcd gives to a member of that cluster; nothing where it is none.
    pub fn member(&self, name: &str) -> Option<MemberId> {
        self.members()?.get(name).copied()
    }

    /// As etcd computes them (`computeMemberID`, of 3.4 to 3.7): of a member's URLs, sorted, and the token.
    fn members(&self) -> Option<BTreeMap<&str, MemberId>> {
        let mut urls: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for entry in self.initial_cluster.split(',') {
            let (name, url) = entry.split_once('=')?;
            urls.entry(name).or_default().push(url);
        }
        let id = |mut urls: Vec<&str>| {
            urls.sort_unstable();
            hashed((urls.concat() + &self.token).as_bytes()).map(MemberId)
        };
        urls.into_iter().map(|(name, urls)| Some((name, id(urls)?))).collect()
    }
}

/// The first eight bytes of the SHA-1.
fn hashed(bytes: &[u8]) -> Option<u64> {
    let hash = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, bytes);
    hash.as_ref().first_chunk().copied().map(u64::from_be_bytes)
}

/// The word to leave the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Leave {
    /// The member that is to remove itself: a word for another life of this pod isn't followed.
    pub member: MemberId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_parsed_strictly() {
        let form = Form { token: Form::token("u", 2), initial_cluster: "a=http://a:2380".to_owned() };
        let json = serde_json::to_string(&form).unwrap();
        assert_eq!(json, r#"{"token":"u/2","initialCluster":"a=http://a:2380"}"#);
        assert_eq!(serde_json::from_str::<Form>(&json).unwrap(), form);
        assert!(serde_json::from_str::<Form>(r#"{"token":"u/2","initialCluster":"","more":1}"#).is_err());
        assert!(serde_json::from_str::<Leave>(r#"{"member":"zz"}"#).is_err());
    }
    /// What etcd logs as its own where it is started without any flag.
    #[test]
    fn ids_are_those_that_etcd_gives() {
        let word = |initial_cluster: &str| Form {
            token: "etcd-cluster".to_owned(),
            initial_cluster: initial_cluster.to_owned(),
        };
        let default = word("default=http://localhost:2380");
        assert_eq!(default.member("default"), Some(MemberId(0x8e9e_05c5_2164_694d)));
        assert_eq!(default.cluster(), Some(ClusterId(0xcdf8_1819_4e3a_8c32)));
        assert_eq!(default.member("another"), None);
        let turned =
            [word("a=http://a:1,a=http://b:1,b=http://c:1"), word("b=http://c:1,a=http://b:1,a=http://a:1")];
        assert_eq!(turned[0].cluster(), turned[1].cluster());
        assert_eq!(turned[0].member("a"), turned[1].member("a"));
        assert_eq!((word("").cluster(), word("a").member("a")), (None, None));
    }
}
