//! What the schema says of a field beyond its type: one table.

use super::node::{self, NoSuchField};
use super::{In, Strength};
use crate::etcd::checks::words;
use serde_json::{Value, json};

/// One thing that the schema says of one field.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// Where: a path such as `spec.etcd.bootstrapWithExistingCluster.members[].name`.
    pub path: &'static str,
    /// In which CRDs.
    pub stands: In,
    /// The rule of the catalogue that says the same, if one does.
    pub rule: Option<&'static str>,
    /// What.
    pub keyword: Keyword,
}

/// Keywords of a Kubernetes schema.
#[derive(Clone, Copy, Debug)]
pub enum Keyword {
    /// Properties that must be there.
    Required(&'static [&'static str]),
    /// The words that a string may be.
    Words(&'static [&'static str]),
    /// Fewest entries of a list: one.
    NotEmpty,
    /// Most entries of a list.
    Entries(u64),
    /// Most characters of a string: CEL's cost is bounded by it.
    Characters(u64),
    /// Most entries of a map: CEL's cost is bounded by it.
    Keys(u64),
    /// Smallest number.
    Minimum(i64),
    /// What is filled in where nothing stands, as JSON.
    Default(&'static str),
    /// A list without order, each entry once.
    Set,
    /// A list whose entries are told apart by these fields.
    MapOf(&'static [&'static str]),
    /// An object that is applied as a whole.
    Atomic,
    /// A list that is applied as a whole.
    AtomicList,
}

impl Keyword {
    fn keywords(self) -> Vec<(&'static str, Value)> {
        match self {
            Self::Required(names) => vec![("required", names.into())],
            Self::Words(words) => vec![("enum", words.into())],
            Self::NotEmpty => vec![("minItems", 1.into())],
            Self::Entries(most) => vec![("maxItems", most.into())],
            Self::Characters(most) => vec![("maxLength", most.into())],
            Self::Keys(most) => vec![("maxProperties", most.into())],
            Self::Minimum(least) => vec![("minimum", least.into())],
            Self::Default(json) => vec![("default", serde_json::from_str(json).unwrap_or(Value::Null))],
            Self::Set => vec![("x-kubernetes-list-type", json!("set"))],
            Self::MapOf(keys) => {
                vec![("x-kubernetes-list-type", json!("map")), ("x-kubernetes-list-map-keys", keys.into())]
            }
            Self::Atomic => vec![("x-kubernetes-map-type", json!("atomic"))],
            Self::AtomicList => vec![("x-kubernetes-list-type", json!("atomic"))],
        }
    }
}

pub(super) fn apply(schema: &mut Value, strength: Strength) -> Result<(), NoSuchField> {
    for bound in BOUNDS.iter().filter(|bound| bound.stands.holds(strength)) {
        for (keyword, value) in bound.keyword.keywords() {
            node::set(schema, bound.path, keyword, value)?;
        }
    }
    Ok(())
}

/// Says the same as a rule, in the full CRD.
const fn rule(path: &'static str, rule: &'static str, keyword: Keyword) -> Bound {
    Bound { path, stands: In::Full, rule: Some(rule), keyword }
}

/// Stands in both CRDs, and says what no rule does.
const fn always(path: &'static str, keyword: Keyword) -> Bound {
    Bound { path, stands: In::Both, rule: None, keyword }
}

/// Bounds CEL's cost in the full CRD.
const fn full(path: &'static str, keyword: Keyword) -> Bound {
    Bound { path, stands: In::Full, rule: None, keyword }
}

/// Stands in the structural CRD only.
const fn structural(path: &'static str, keyword: Keyword) -> Bound {
    Bound { path, stands: In::Structural, rule: None, keyword }
}

/// Stands in both CRDs, since CEL's cost must be bounded there too, and says what a rule says.
const fn most(path: &'static str, rule: &'static str, keyword: Keyword) -> Bound {
    Bound { path, stands: In::Both, rule: Some(rule), keyword }
}

use Keyword::{
    Atomic, AtomicList, Characters, Default, Entries, Keys, MapOf, Minimum, NotEmpty, Required, Set, Words,
};

/// Longest URL.
const URL: Keyword = Characters(2048);
/// Longest name of a member in etcd-druid's CRD.
const NAME: Keyword = Characters(253);
/// Longer than any duration or schedule that means something.
const PERIOD: Keyword = Characters(256);
/// More labels than an object has.
const LABELS: Keyword = Keys(256);
const LABEL_VALUE: Keyword = Characters(63);
/// Longer than any reference to an image.
const IMAGE: Keyword = Characters(1024);
const TLS: Keyword = Required(&["tlsCASecretRef", "serverTLSSecretRef"]);

/// Every bound, in the order of the resource.
pub const BOUNDS: &[Bound] = &[
    rule("spec", "required", Required(&["etcd", "backup", "labels", "replicas"])),
    rule("spec.replicas", "replicas-range", Minimum(0)),
    full("spec.memberNamePrefix", Characters(63)),
    full("spec.labels", LABELS),
    rule("spec.labels{}", "labels", LABEL_VALUE),
    full("spec.annotations", LABELS),
    always("spec.storageCapacity", Default("\"16Gi\"")),
    always("spec.runAsRoot", Default("false")),
    rule("spec.sharedConfig.autoCompactionMode", "enums", Words(words::AUTO_COMPACTION_MODE)),
    full("spec.sharedConfig.autoCompactionRetention", PERIOD),
    always("spec.etcd.quota", Default("\"8Gi\"")),
    always("spec.etcd.snapshotCount", Default("10000")),
    always("spec.etcd.enableGRPCGateway", Default("false")),
    full("spec.etcd.defragmentationSchedule", PERIOD),
    full("spec.etcd.etcdDefragTimeout", PERIOD),
    always("spec.etcd.etcdDefragTimeout", Default("\"15m\"")),
    full("spec.etcd.heartbeatDuration", PERIOD),
    always("spec.etcd.heartbeatDuration", Default("\"10s\"")),
    always("spec.etcd.image", IMAGE),
    rule("spec.etcd.metrics", "enums", Words(words::METRICS)),
    always("spec.etcd.metrics", Default("\"basic\"")),
    rule("spec.etcd.backendBboltFreelistType", "enums", Words(words::FREELIST_TYPE)),
    always("spec.etcd.backendBboltFreelistType", Default("\"array\"")),
    rule("spec.etcd.clientService.trafficDistribution", "enums", Words(words::TRAFFIC_DISTRIBUTION)),
    full("spec.etcd.clientService.labels", LABELS),
    rule("spec.etcd.clientService.labels{}", "labels", LABEL_VALUE),
    full("spec.etcd.clientService.annotations", LABELS),
    always("spec.etcd.authSecretRef", Atomic),
    always("spec.etcd.resources.claims", MapOf(&["name"])),
    rule("spec.etcd.clientUrlTls", "tls-secret-refs", TLS),
    always("spec.etcd.clientUrlTls.tlsCASecretRef", Atomic),
    always("spec.etcd.clientUrlTls.serverTLSSecretRef", Atomic),
    always("spec.etcd.clientUrlTls.clientTLSSecretRef", Atomic),
    rule("spec.etcd.peerUrlTls", "tls-secret-refs", TLS),
    always("spec.etcd.peerUrlTls.tlsCASecretRef", Atomic),
    always("spec.etcd.peerUrlTls.serverTLSSecretRef", Atomic),
    always("spec.etcd.peerUrlTls.clientTLSSecretRef", Atomic),
    most("spec.etcd.additionalAdvertisePeerURLs", "advertise-peer-urls", Entries(10)),
    rule("spec.etcd.additionalAdvertisePeerURLs[]", "advertise-peer-urls", Required(&["memberName", "urls"])),
    rule("spec.etcd.additionalAdvertisePeerURLs", "advertise-peer-urls", MapOf(&["memberName"])),
    always("spec.etcd.additionalAdvertisePeerURLs[].memberName", NAME),
    most("spec.etcd.additionalAdvertisePeerURLs[].urls", "advertise-peer-urls", Entries(5)),
    rule("spec.etcd.additionalAdvertisePeerURLs[].urls", "advertise-peer-urls", NotEmpty),
    always("spec.etcd.additionalAdvertisePeerURLs[].urls", Set),
    most("spec.etcd.additionalAdvertisePeerURLs[].urls[]", "advertise-peer-urls", URL),
    rule(
        "spec.etcd.bootstrapWithExistingCluster",
        "bootstrap-members",
        Required(&["members", "clientEndpoints"]),
    ),
    most("spec.etcd.bootstrapWithExistingCluster.members", "bootstrap-members", Entries(10)),
    rule("spec.etcd.bootstrapWithExistingCluster.members", "bootstrap-members", NotEmpty),
    // Told apart by name, what is unchanged about one member is forgiven where another changes. Beside the webhook
    // it stays as in etcd-druid: a schema says "Duplicate value" and nothing else.
    rule("spec.etcd.bootstrapWithExistingCluster.members", "bootstrap-member-name-unique", MapOf(&["name"])),
    structural("spec.etcd.bootstrapWithExistingCluster.members", AtomicList),
    rule(
        "spec.etcd.bootstrapWithExistingCluster.members[]",
        "bootstrap-member-name",
        Required(&["name", "peerUrls"]),
    ),
    always("spec.etcd.bootstrapWithExistingCluster.members[].name", NAME),
    most("spec.etcd.bootstrapWithExistingCluster.members[].peerUrls", "bootstrap-peer-urls", Entries(5)),
    rule("spec.etcd.bootstrapWithExistingCluster.members[].peerUrls", "bootstrap-peer-urls", NotEmpty),
    always("spec.etcd.bootstrapWithExistingCluster.members[].peerUrls", Set),
    most("spec.etcd.bootstrapWithExistingCluster.members[].peerUrls[]", "bootstrap-peer-url-syntax", URL),
    most("spec.etcd.bootstrapWithExistingCluster.clientEndpoints", "bootstrap-client-endpoints", Entries(10)),
    rule("spec.etcd.bootstrapWithExistingCluster.clientEndpoints", "bootstrap-client-endpoints", NotEmpty),
    always("spec.etcd.bootstrapWithExistingCluster.clientEndpoints", Set),
    most("spec.etcd.bootstrapWithExistingCluster.clientEndpoints[]", "bootstrap-client-endpoint-syntax", URL),
    rule("spec.backup.tls", "tls-secret-refs", TLS),
    always("spec.backup.tls.tlsCASecretRef", Atomic),
    always("spec.backup.tls.serverTLSSecretRef", Atomic),
    always("spec.backup.tls.clientTLSSecretRef", Atomic),
    always("spec.backup.resources.claims", MapOf(&["name"])),
    rule("spec.backup.store", "backup-store", Required(&["prefix"])),
    full("spec.backup.store.container", Characters(63)),
    full("spec.backup.store.endpointOverride", URL),
    always("spec.backup.store.secretRef", Atomic),
    always("spec.backup.snapshotCompaction.resources.claims", MapOf(&["name"])),
    full("spec.backup.fullSnapshotSchedule", PERIOD),
    rule("spec.backup.garbageCollectionPolicy", "enums", Words(words::GARBAGE_COLLECTION_POLICY)),
    always("spec.backup.garbageCollectionPolicy", Default("\"LimitBased\"")),
    always("spec.backup.maxBackupsLimitBasedGC", Default("7")),
    full("spec.backup.garbageCollectionPeriod", PERIOD),
    full("spec.backup.deltaSnapshotPeriod", PERIOD),
    full("spec.backup.deltaSnapshotRetentionPeriod", PERIOD),
    always("spec.backup.deltaSnapshotMemoryLimit", Default("\"100Mi\"")),
    full("spec.backup.etcdSnapshotTimeout", PERIOD),
    always("spec.backup.etcdSnapshotTimeout", Default("\"15m\"")),
    always("spec.backup.compression.enabled", Default("true")),
    rule("spec.backup.compression.policy", "enums", Words(words::COMPRESSION_POLICY)),
    always("spec.backup.compression.policy", Default("\"gzip\"")),
    full("spec.backup.leaderElection.reelectionPeriod", PERIOD),
    always("spec.backup.leaderElection.reelectionPeriod", Default("\"5s\"")),
    full("spec.backup.leaderElection.etcdConnectionTimeout", PERIOD),
    always("spec.backup.leaderElection.etcdConnectionTimeout", Default("\"5s\"")),
    always(
        "status.conditions[]",
        Required(&["type", "status", "reason", "message", "lastTransitionTime", "lastUpdateTime"]),
    ),
    always("status.members[]", Required(&["name", "status", "reason", "lastTransitionTime"])),
    always("status.bootstrapWithExistingCluster", Required(&["joinedAt", "members"])),
    always("status.bootstrapWithExistingCluster.members", AtomicList),
    always("status.bootstrapWithExistingCluster.members[]", Required(&["name", "peerUrls"])),
    always("status.bootstrapWithExistingCluster.members[].peerUrls", AtomicList),
    always("status.etcd", Required(&["kind", "name"])),
    always("status.lastErrors[]", Required(&["code", "description", "observedAt"])),
    always("status.lastOperation", Required(&["type", "state", "description", "runID", "lastUpdateTime"])),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_json_of_their_fields_type() {
        let mut schema = super::super::schema(Strength::Full, false).unwrap();
        for bound in BOUNDS {
            let Default(json) = bound.keyword else { continue };
            let value: Value = serde_json::from_str(json).unwrap();
            let kind = match (&value, node::at(&mut schema, bound.path).unwrap()) {
                (_, node) if node.get("x-kubernetes-int-or-string").is_some() => continue,
                (_, node) => node["type"].clone(),
            };
            let fits = match kind.as_str() {
                Some("string") => value.is_string(),
                Some("integer") => value.is_i64(),
                Some("boolean") => value.is_boolean(),
                _ => false,
            };
            assert!(fits, "{}: {value} is no {kind}", bound.path);
        }
    }
}
