//! What is known around an Etcd, as far as its objects depend on it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::member::{Config, Starts};

use super::tls::PeerSecrets;

/// What is known around an Etcd.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Members of a combined cluster that are not this Etcd's.
    pub sources: usize,
    /// Whether one of its members has a vote.
    pub has_voter: bool,
    /// Whether the join is complete: then nothing of its source is rendered any more.
    pub is_joined: bool,
    /// What members are registered with; absent while there are none.
    pub frozen: Option<Frozen>,
    /// Size of the volumes in the claim template that stands: it can't be changed.
    pub storage: Option<String>,
    /// The image that stays although another is wanted, where one does.
    pub image: Option<String>,
    /// Endpoints of the source in the pods that stand, once the join is complete: edits have no effect then.
    pub source_endpoints: Option<Vec<String>>,
    /// Members of other Etcds that join the same cluster, with their peer URLs.
    pub beside: BTreeMap<String, Vec<String>>,
    /// The highest number of starts that was seen of each member.
    pub starts: Starts,
}

/// What stays as it is once members are registered: a change would move their peer URLs under a running cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frozen {
    /// The configuration that was rendered last.
    pub config: Config,
    /// The Secrets of peer TLS in the pods that stand.
    pub(super) peer_secrets: Option<PeerSecrets>,
}

impl Frozen {
    /// From the objects that stand; nothing where they can't be read.
    pub fn of(config_map: &Value, stateful_set: Option<&Value>) -> Option<Self> {
        let text = config_map.get("data")?.get(Config::KEY)?.as_str()?;
        let config = serde_json::from_str(text).ok()?;
        Some(Self { config, peer_secrets: stateful_set.and_then(PeerSecrets::of) })
    }
}

/// Size of the volumes, in a StatefulSet.
pub(in crate::controller) fn storage(stateful_set: &Value) -> Option<String> {
    stateful_set
        .pointer("/spec/volumeClaimTemplates/0/spec/resources/requests/storage")?
        .as_str()
        .map(str::to_owned)
}

/// Name of the container of etcd.
pub(in crate::controller) const CONTAINER: &str = "etcd";

/// Flag with the endpoints of own and joined cluster.
pub(super) const SERVICE_ENDPOINTS: &str = "--service-endpoints";

/// The image of etcd in a StatefulSet.
pub(in crate::controller) fn image(stateful_set: &Value) -> Option<&str> {
    container(stateful_set)?.get("image")?.as_str()
}

fn container(stateful_set: &Value) -> Option<&Value> {
    let containers = stateful_set.pointer("/spec/template/spec/containers")?.as_array()?;
    containers.iter().find(|container| container["name"] == CONTAINER)
}

/// The endpoints of the source that the pods of a StatefulSet are started with.
pub(in crate::controller) fn source_endpoints(stateful_set: &Value) -> Option<Vec<String>> {
    let container = container(stateful_set)?;
    let command: Vec<&str> = container["command"].as_array()?.iter().filter_map(Value::as_str).collect();
    let at = command.iter().position(|word| *word == SERVICE_ENDPOINTS)?;
    Some(command.get(at + 1)?.split(',').skip(1).map(str::to_owned).collect())
}
