//! The loop's words: to form a cluster, and to leave one.

use super::id::MemberId;
use serde::{Deserialize, Serialize};

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
}
