//! How a member runs, and whom it joins: what the loop renders from the Etcd into `<name>-config`.

use serde::{Deserialize, Serialize};

/// A member's configuration: the same for all members of an Etcd.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// The Etcd.
    pub owner: Owner,
    /// Number of members, sources not counted.
    pub replicas: u32,
    /// Where members listen and are reached.
    pub endpoints: Endpoints,
    /// Settings of etcd.
    pub etcd: EtcdSettings,
    /// The existing cluster that is joined; absent where one is formed. Stays until the join is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Whether the Etcd is being deleted: nobody is added to a cluster any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ending: bool,
}

/// The Etcd whose members they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Owner {
    /// Its name: pods are `<name>-<ordinal>`.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its UID: another Etcd of that name is another one.
    pub uid: String,
    /// `spec.memberNamePrefix`: members are `<prefix>-<pod>` with one, and `<pod>` without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member_name_prefix: Option<String>,
}

/// Where members listen and are reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Endpoints {
    /// Scheme of peer URLs.
    pub peer_scheme: Scheme,
    /// Port for peers.
    pub peer_port: u16,
    /// Scheme of client URLs.
    pub client_scheme: Scheme,
    /// Port for clients.
    pub client_port: u16,
    /// Port of the agent's readiness, plain HTTP.
    pub readiness_port: u16,
    /// Further peer URLs, by member name.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub additional_peer_urls: std::collections::BTreeMap<String, Vec<String>>,
    /// Whether peers' certificates are taken without comparing their names with the address that they come from.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip_client_san_verification: bool,
}

/// How a URL is dialled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// In the clear.
    Http,
    /// With TLS, and a client certificate.
    Https,
}

impl Scheme {
    /// As it stands in a URL.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// Settings of etcd, as its configuration file takes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EtcdSettings {
    /// `quota-backend-bytes`.
    pub quota_bytes: u64,
    /// `snapshot-count`.
    pub snapshot_count: u64,
    /// `metrics`: `basic` or `extensive`.
    pub metrics: String,
    /// `enable-grpc-gateway`.
    pub enable_grpc_gateway: bool,
    /// `auto-compaction-mode`.
    pub auto_compaction_mode: String,
    /// `auto-compaction-retention`.
    pub auto_compaction_retention: String,
    /// `backend-bbolt-freelist-type`.
    pub freelist_type: String,
}

/// The existing cluster that is joined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Source {
    /// Its members with their peer URLs, as the spec has them.
    pub members: std::collections::BTreeMap<String, Vec<String>>,
    /// Where it answers clients.
    pub client_endpoints: Vec<String>,
}

/// Files of one TLS endpoint, as they are mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// Directory of the authority's Secret.
    pub ca: &'static str,
    /// Directory of the serving certificate's Secret (`tls.crt`, `tls.key`).
    pub server: &'static str,
    /// Directory of the client certificate's Secret; the serving one where there is none of its own.
    pub client: &'static str,
}

impl TlsFiles {
    /// Of the client endpoint.
    pub const CLIENT: Self =
        Self { ca: "/var/etcd/ssl/ca", server: "/var/etcd/ssl/server", client: "/var/etcd/ssl/client" };
    /// Of the peer endpoint.
    pub const PEER: Self = Self {
        ca: "/var/etcd/ssl/peer/ca",
        server: "/var/etcd/ssl/peer/server",
        client: "/var/etcd/ssl/peer/server",
    };
}

impl Config {
    /// Key in the ConfigMap.
    pub const KEY: &'static str = "member.json";

    /// The ConfigMap's name, of an Etcd.
    pub fn name(etcd: &str) -> String {
        format!("{etcd}-config")
    }

    /// Name of the pod with an ordinal.
    pub fn pod(&self, ordinal: u32) -> String {
        format!("{}-{ordinal}", self.owner.name)
    }

    /// Name of the member with an ordinal, as etcd knows it.
    pub fn member(&self, ordinal: u32) -> String {
        match &self.owner.member_name_prefix {
            Some(prefix) => format!("{prefix}-{}", self.pod(ordinal)),
            None => self.pod(ordinal),
        }
    }

    /// The name under which a pod is reached, as etcd-druid's certificates have it.
    pub fn host(&self, ordinal: u32) -> String {
        let Owner { name, namespace, .. } = &self.owner;
        format!("{}.{name}-peer.{namespace}.svc", self.pod(ordinal))
    }

    /// Every peer URL of a member: its own first, then the additional ones.
    pub fn peer_urls(&self, ordinal: u32) -> Vec<String> {
        let Endpoints { peer_scheme, peer_port, additional_peer_urls, .. } = &self.endpoints;
        let own = format!("{}://{}:{peer_port}", peer_scheme.name(), self.host(ordinal));
        let additional = additional_peer_urls.get(&self.member(ordinal)).into_iter().flatten().cloned();
        std::iter::once(own).chain(additional).collect()
    }

    /// Where a member answers clients.
    pub fn client_url(&self, ordinal: u32) -> String {
        let Endpoints { client_scheme, client_port, .. } = &self.endpoints;
        format!("{}://{}:{client_port}", client_scheme.name(), self.host(ordinal))
    }

    /// etcd's `initial-cluster` of a cluster that is formed: every URL of every member.
    pub fn initial_cluster(&self) -> String {
        let entries = (0..self.replicas).flat_map(|ordinal| {
            let name = self.member(ordinal);
            self.peer_urls(ordinal).into_iter().map(move |url| format!("{name}={url}"))
        });
        entries.collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn config() -> Config {
        Config {
            owner: Owner {
                name: "main".to_owned(),
                namespace: "shop".to_owned(),
                uid: "u".to_owned(),
                member_name_prefix: None,
            },
            replicas: 2,
            endpoints: Endpoints {
                peer_scheme: Scheme::Https,
                peer_port: 2380,
                client_scheme: Scheme::Http,
                client_port: 2379,
                readiness_port: 9095,
                additional_peer_urls: BTreeMap::from([(
                    "main-1".to_owned(),
                    vec!["https://10.0.0.7:2380".to_owned()],
                )]),
                skip_client_san_verification: false,
            },
            etcd: EtcdSettings {
                quota_bytes: 8 << 30,
                snapshot_count: 10_000,
                metrics: "basic".to_owned(),
                enable_grpc_gateway: false,
                auto_compaction_mode: "periodic".to_owned(),
                auto_compaction_retention: "30m".to_owned(),
                freelist_type: "array".to_owned(),
            },
            source: None,
            ending: false,
        }
    }

    #[test]
    fn names_and_urls_are_etcd_druids() {
        let config = config();
        assert_eq!(
            config.initial_cluster(),
            "main-0=https://main-0.main-peer.shop.svc:2380,main-1=https://main-1.main-peer.shop.svc:2380,\
             main-1=https://10.0.0.7:2380"
        );
        assert_eq!(config.client_url(1), "http://main-1.main-peer.shop.svc:2379");
    }

    #[test]
    fn a_prefix_names_members_and_not_pods() {
        let mut config = config();
        config.owner.member_name_prefix = Some("p".to_owned());
        assert_eq!((config.member(0), config.pod(0)), ("p-main-0".to_owned(), "main-0".to_owned()));
        assert!(config.peer_urls(0)[0].starts_with("https://main-0.main-peer"));
    }

    #[test]
    fn a_configuration_is_read_as_it_was_written_and_strictly() {
        let json = serde_json::to_string(&config()).unwrap();
        assert_eq!(serde_json::from_str::<Config>(&json).unwrap(), config());
        let more = json.replacen('{', r#"{"more":1,"#, 1);
        assert!(serde_json::from_str::<Config>(&more).is_err());
    }
}
