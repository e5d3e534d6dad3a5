//! `spec` in full, as the loop reads it: owned, and with Kubernetes' own types where the resource has them.
//!
//! Rules read an Etcd leniently and borrow it; what is rendered must be whole. A test holds these fields against the
//! CRD's, both ways.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Affinity, ResourceRequirements, TopologySpreadConstraint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// The default of `etcd.snapshotCount`, in transactions.
pub(super) const SNAPSHOT_COUNT: u64 = 10_000;

/// Names and their texts.
pub type Texts = BTreeMap<String, String>;

/// `spec`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spec {
    /// Stands before the Etcd's name in its members' names.
    pub member_name_prefix: Option<String>,
    /// Read by nothing.
    pub selector: Option<LabelSelector>,
    /// Labels of the pods.
    pub labels: Texts,
    /// Annotations of the pods.
    pub annotations: Texts,
    /// How etcd runs.
    pub etcd: EtcdSpec,
    /// Backups: none are taken by this loop, so that their settings are only named.
    pub backup: Map<String, Value>,
    /// Compaction.
    pub shared_config: SharedConfig,
    /// Where pods may run.
    pub scheduling_constraints: SchedulingConstraints,
    /// Number of members; 0: hibernated.
    pub replicas: u32,
    /// Priority class of the pods.
    pub priority_class_name: Option<String>,
    /// Storage class of the claims.
    pub storage_class: Option<String>,
    /// Size of each volume.
    pub storage_capacity: Option<IntOrString>,
    /// Name of the claim template.
    pub volume_claim_template: Option<String>,
    /// Whether containers run as root.
    pub run_as_root: bool,
}

/// `spec.etcd`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EtcdSpec {
    /// Largest database.
    pub quota: Option<IntOrString>,
    /// Transactions between snapshots of the log.
    pub snapshot_count: Option<u64>,
    /// Not acted on.
    pub defragmentation_schedule: Option<String>,
    /// Port for peers.
    pub server_port: Option<u16>,
    /// Port for clients.
    pub client_port: Option<u16>,
    /// Port of the agent's readiness.
    pub wrapper_port: Option<u16>,
    /// Image of the etcd container.
    pub image: Option<String>,
    /// Read by nothing.
    pub auth_secret_ref: Option<SecretRef>,
    /// How much etcd measures.
    pub metrics: Option<String>,
    /// TLS towards clients.
    pub client_url_tls: Option<Tls>,
    /// TLS between members.
    pub peer_url_tls: Option<Tls>,
    /// Further peer URLs of own members.
    #[serde(rename = "additionalAdvertisePeerURLs")]
    pub additional_advertise_peer_urls: Vec<AdvertisedUrls>,
    /// Not acted on.
    pub etcd_defrag_timeout: Option<String>,
    /// Not acted on.
    pub heartbeat_duration: Option<String>,
    /// The Service that clients use.
    pub client_service: ClientService,
    /// How bbolt keeps its free pages.
    pub backend_bbolt_freelist_type: Option<String>,
    /// The existing cluster that is joined.
    pub bootstrap_with_existing_cluster: Option<Bootstrap>,
    /// Whether etcd serves JSON.
    #[serde(rename = "enableGRPCGateway")]
    pub enable_grpc_gateway: bool,
    /// CPU and memory of the etcd container.
    #[serde(deserialize_with = "resources")]
    pub resources: Option<ResourceRequirements>,
}

/// `spec.sharedConfig`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SharedConfig {
    /// `periodic` or `revision`.
    pub auto_compaction_mode: Option<String>,
    /// What is kept.
    pub auto_compaction_retention: Option<String>,
}

/// `spec.schedulingConstraints`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SchedulingConstraints {
    /// Nodes and pods that are sought or avoided.
    pub affinity: Option<Affinity>,
    /// How pods spread.
    pub topology_spread_constraints: Vec<TopologySpreadConstraint>,
}

/// The Secrets of one TLS endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tls {
    /// The authority's certificate.
    #[serde(rename = "tlsCASecretRef")]
    pub ca: CaSecretRef,
    /// Serving certificate and key.
    #[serde(rename = "serverTLSSecretRef")]
    pub server: SecretRef,
    /// Client certificate and key.
    #[serde(rename = "clientTLSSecretRef")]
    pub client: Option<SecretRef>,
    /// Between members only: whether names in certificates are not compared with addresses.
    #[serde(rename = "skipClientSANVerification", skip_serializing_if = "Option::is_none")]
    pub skip_client_san_verification: Option<bool>,
}

/// The Secret of an authority.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CaSecretRef {
    /// Its name.
    pub name: String,
    /// Its namespace: the Etcd's own.
    pub namespace: Option<String>,
    /// Key of the certificate in it.
    pub data_key: Option<String>,
}

/// A Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SecretRef {
    /// Its name.
    pub name: String,
    /// Its namespace: the Etcd's own.
    pub namespace: Option<String>,
}

/// Further peer URLs of one own member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AdvertisedUrls {
    /// The member.
    pub member_name: String,
    /// Its URLs.
    pub urls: Vec<String>,
}

/// `spec.etcd.clientService`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientService {
    /// Its annotations.
    pub annotations: Texts,
    /// Its labels.
    pub labels: Texts,
    /// Which endpoints are preferred.
    pub traffic_distribution: Option<String>,
}

/// `spec.etcd.bootstrapWithExistingCluster`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Bootstrap {
    /// The existing members.
    pub members: Vec<SourceMember>,
    /// Where the existing cluster answers clients.
    pub client_endpoints: Vec<String>,
}

/// A member of the existing cluster: in the spec, and in the record of a join.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SourceMember {
    /// Its name as etcd knows it.
    pub name: String,
    /// Its peer URLs as etcd knows them.
    pub peer_urls: Vec<String>,
}

impl Spec {
    /// The cluster that is to be joined, if one is named.
    pub fn source(&self) -> Option<&Bootstrap> {
        self.etcd.bootstrap_with_existing_cluster.as_ref().filter(|source| !source.members.is_empty())
    }
}

/// A quantity may be a number in an Etcd, which Kubernetes' own type doesn't take.
fn resources<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ResourceRequirements>, D::Error> {
    let mut value = Value::deserialize(deserializer)?;
    for list in ["requests", "limits"] {
        for quantity in
            value.get_mut(list).and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut)
        {
            if quantity.is_number() {
                *quantity = quantity.to_string().into();
            }
        }
    }
    serde_json::from_value(value).map_err(serde::de::Error::custom)
}
