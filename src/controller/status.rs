//! `status` in full, as the loop writes it. A test holds these fields against the CRD's, both ways.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::spec::SourceMember;

/// `status`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// What is true of the cluster and what isn't.
    pub conditions: Vec<Condition>,
    /// The members that have an id.
    pub members: Vec<Member>,
    /// The record of a completed join.
    pub bootstrap_with_existing_cluster: Option<Snapshot>,
    /// Voters of the cluster that aren't the Etcd's own, by name.
    pub other_voters: Vec<String>,
    /// Generation that was last carried out.
    pub observed_generation: Option<i64>,
    /// Whether the cluster has quorum and is as it is wanted.
    pub ready: Option<bool>,
    /// Number of members as the StatefulSet wants it.
    pub replicas: Option<i32>,
    /// Number of members of the present revision.
    pub current_replicas: Option<i32>,
    /// Number of members that are ready.
    pub ready_replicas: Option<i32>,
    /// Labels of the pods, as `/scale` needs them.
    pub selector: Option<String>,
    /// Deprecated, never written.
    pub label_selector: Option<Value>,
    /// Whether members talk to each other with TLS.
    #[serde(rename = "peerUrlTLSEnabled")]
    pub peer_url_tls_enabled: Option<bool>,
    /// The StatefulSet.
    pub etcd: Option<Value>,
    /// What the loop is at.
    pub last_operation: Option<LastOperation>,
    /// What went wrong last.
    pub last_errors: Vec<LastError>,
    /// What it is going through, in one word.
    pub phase: Option<String>,
    /// How far its join is.
    pub join: Option<String>,
    /// The last attempt at forming a cluster: a word of it may have been given.
    pub forming_attempt: Option<u32>,
}

/// One condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in one word.
    pub reason: String,
    /// Why, for a person.
    pub message: String,
    /// When the status last changed.
    pub last_transition_time: String,
    /// When the condition was last written.
    pub last_update_time: String,
}

/// One member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: Option<String>,
    /// `Leader`, `Member` or `Learner`.
    pub role: Option<String>,
    /// `Ready`, `NotReady` or `Unknown`.
    pub status: String,
    /// Why, in one word.
    pub reason: String,
    /// When its status last changed.
    pub last_transition_time: String,
}

/// What a join was completed with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Snapshot {
    /// When.
    pub joined_at: String,
    /// The source members of that moment.
    pub members: Vec<SourceMember>,
}

/// What went wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LastError {
    /// Which step.
    pub code: String,
    /// How.
    pub description: String,
    /// When it was first seen.
    pub observed_at: String,
}

/// What the loop is at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LastOperation {
    /// `Reconcile` or `Delete`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `Processing`, `Succeeded` or `Error`.
    pub state: String,
    /// For a person.
    pub description: String,
    /// The generation that it is about.
    #[serde(rename = "runID")]
    pub run_id: String,
    /// When it was written.
    pub last_update_time: String,
}

/// Conditions that are good when they are not `True`.
const GOOD_WHEN_FALSE: [&str; 1] = ["ClusterIDMismatch"];

impl Condition {
    /// Whether it is known to be other than it should be.
    pub fn is_bad(&self) -> bool {
        let good = if GOOD_WHEN_FALSE.contains(&self.kind.as_str()) { "False" } else { "True" };
        self.status != good && self.status != "Unknown"
    }
}

impl Status {
    /// The condition of a type, if there is one.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }

    /// Whether a condition is `True`.
    pub fn is_true(&self, kind: &str) -> bool {
        self.condition(kind).is_some_and(|condition| condition.status == "True")
    }
}
