//! etcd's configuration file: what the configuration says, with the keys that the binary knows.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::member::{Config, Scheme};

use super::facts::Member;
use super::tls::Paths;
use super::version::Release;
use crate::member::MemberId;

/// Port of etcd's metrics and health, plain HTTP.
pub const METRICS_PORT: u16 = 2381;

/// How etcd begins where it has no log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begin {
    /// With a log: nothing else counts.
    Again,
    /// A new cluster.
    New {
        /// Its token.
        token: String,
        /// Its members.
        initial_cluster: String,
    },
    /// A member of an existing one.
    Existing {
        /// Its members, as the live list has them.
        initial_cluster: String,
    },
}

/// What goes into the file.
#[derive(Debug)]
pub struct Settings<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// This member.
    pub ordinal: u32,
    /// The binary.
    pub release: Release,
    /// etcd's data directory.
    pub data: &'a Path,
    /// Address that is listened on: `[::]`, or `0.0.0.0` without IPv6.
    pub listen: &'a str,
    /// Files of the client endpoint, and of the peers'.
    pub tls: (&'a Paths, &'a Paths),
    /// How it begins.
    pub begin: &'a Begin,
}

/// A setting that the binary doesn't know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("etcd {release} doesn't know {key}: use an image of {since}, or don't set it")]
pub struct Unknown {
    key: &'static str,
    release: Release,
    since: &'static str,
}

impl Settings<'_> {
    /// The file. JSON is YAML.
    pub fn file(&self) -> Result<Value, Unknown> {
        let mut file = Map::new();
        let mut set = |key: &str, value: Value| file.insert(key.to_owned(), value);
        let Config { endpoints, etcd, .. } = self.config;
        let listen = |scheme: Scheme, port: u16| format!("{}://{}:{port}", scheme.name(), self.listen);
        set("name", json!(self.config.member(self.ordinal)));
        set("data-dir", json!(self.data));
        set("listen-peer-urls", json!(listen(endpoints.peer_scheme, endpoints.peer_port)));
        set("listen-client-urls", json!(listen(endpoints.client_scheme, endpoints.client_port)));
        set("listen-metrics-urls", json!(listen(Scheme::Http, METRICS_PORT)));
        set("initial-advertise-peer-urls", json!(self.config.peer_urls(self.ordinal).join(",")));
        set("advertise-client-urls", json!(self.config.client_url(self.ordinal)));
        set("strict-reconfig-check", json!(true));
        set("quota-backend-bytes", json!(etcd.quota_bytes));
        set("snapshot-count", json!(etcd.snapshot_count));
        set("metrics", json!(etcd.metrics));
        set("enable-grpc-gateway", json!(etcd.enable_grpc_gateway));
        set("auto-compaction-mode", json!(etcd.auto_compaction_mode));
        set("auto-compaction-retention", json!(etcd.auto_compaction_retention));
        set("backend-bbolt-freelist-type", json!(etcd.freelist_type));
        for (key, value) in self.beginning() {
            set(key, json!(value));
        }
        let (client, peer) = self.tls;
        if endpoints.client_scheme == Scheme::Https {
            set("client-transport-security", transport(client, Map::new()));
        }
        if endpoints.peer_scheme == Scheme::Https {
            set("peer-transport-security", transport(peer, self.peer_extras()?));
        }
        Ok(Value::Object(file))
    }

    fn beginning(&self) -> Vec<(&'static str, String)> {
        // etcd wants its name in it even where a log makes it meaningless.
        let own = || self.config.initial_cluster();
        let (state, initial_cluster) = match self.begin {
            Begin::Again => ("existing", own()),
            Begin::New { initial_cluster, .. } => ("new", initial_cluster.clone()),
            Begin::Existing { initial_cluster } => ("existing", initial_cluster.clone()),
        };
        let mut keys =
            vec![("initial-cluster", initial_cluster), ("initial-cluster-state", state.to_owned())];
        if let Begin::New { token, .. } = self.begin {
            keys.push(("initial-cluster-token", token.clone()));
        }
        keys
    }

    fn peer_extras(&self) -> Result<Map<String, Value>, Unknown> {
        if !self.config.endpoints.skip_client_san_verification {
            return Ok(Map::new());
        }
        if !self.release.is_since(6) {
            let key = "skip-client-san-verification";
            return Err(Unknown { key, release: self.release, since: "3.6 or newer" });
        }
        Ok(Map::from_iter([("skip-client-san-verification".to_owned(), json!(true))]))
    }
}

fn transport(paths: &Paths, mut section: Map<String, Value>) -> Value {
    section.insert("cert-file".to_owned(), json!(paths.certificate));
    section.insert("key-file".to_owned(), json!(paths.key));
    section.insert("client-cert-auth".to_owned(), json!(true));
    section.insert("trusted-ca-file".to_owned(), json!(paths.ca));
    section.insert("auto-tls".to_owned(), json!(false));
    Value::Object(section)
}

/// `initial-cluster` of a joiner: every URL of every member of the live list, verbatim: etcd ends on anything else.
/// Names of others aren't checked, but two members of one name would count as one.
pub fn initial_cluster(own: (MemberId, &str), members: &[Member]) -> String {
    let (id, name) = own;
    let mut taken = std::collections::BTreeSet::from([name.to_owned()]);
    let mut text = String::new();
    for member in members {
        let title = if member.id == id {
            name.to_owned()
        } else if !member.name.is_empty() && taken.insert(member.name.clone()) {
            member.name.clone()
        } else {
            format!("member-{}", member.id)
        };
        for url in &member.peer_urls {
            let separator = if text.is_empty() { "" } else { "," };
            // Writing to a string can't fail.
            let _ = write!(text, "{separator}{title}={url}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::{config, others, voter};
    use crate::agent::tls::Mounted;
    use crate::member::TlsFiles;

    fn file(config: &Config, (minor, patch): (u64, u64), begin: &Begin) -> Result<Value, Unknown> {
        let mounted = Mounted::below(Path::new("/"));
        let (client, peer) = (mounted.paths(&TlsFiles::CLIENT), mounted.paths(&TlsFiles::PEER));
        let settings = Settings {
            config,
            ordinal: 1,
            release: Release::new(3, minor, patch),
            data: Path::new("/var/etcd/data/new.etcd"),
            listen: "[::]",
            tls: (&client, &peer),
            begin,
        };
        settings.file()
    }

    #[test]
    fn a_new_member_has_the_words_token_and_list() {
        let begin = Begin::New { token: "uid-1/1".to_owned(), initial_cluster: "a=http://a:2380".to_owned() };
        let file = file(&config(3, &[]), (6, 16), &begin).unwrap();
        assert_eq!(file["initial-cluster-state"], "new");
        assert_eq!(file["initial-cluster-token"], "uid-1/1");
        assert_eq!(file["initial-cluster"], "a=http://a:2380");
        assert_eq!(file["listen-metrics-urls"], "http://[::]:2381");
        assert_eq!(file["initial-advertise-peer-urls"], "http://main-1.main-peer.shop.svc:2380");
        assert_eq!(file["strict-reconfig-check"], true);
        assert!(file.get("peer-transport-security").is_none());
    }

    #[test]
    fn an_existing_member_is_never_new() {
        for begin in [Begin::Again, Begin::Existing { initial_cluster: "a=http://a:2380".to_owned() }] {
            let file = file(&config(3, &[]), (6, 16), &begin).unwrap();
            assert_eq!(file["initial-cluster-state"], "existing");
            assert!(file.get("initial-cluster-token").is_none());
        }
    }

    #[test]
    fn tls_has_the_mounted_files_and_demands_certificates() {
        let mut config = config(3, &[]);
        config.endpoints.peer_scheme = Scheme::Https;
        config.endpoints.skip_client_san_verification = true;
        let begun = file(&config, (6, 16), &Begin::Again).unwrap();
        let peer = &begun["peer-transport-security"];
        assert_eq!(peer["trusted-ca-file"], "/var/etcd/ssl/peer/ca/ca.crt");
        assert_eq!(
            (&peer["client-cert-auth"], &peer["skip-client-san-verification"]),
            (&json!(true), &json!(true))
        );
        let error = file(&config, (5, 33), &Begin::Again).unwrap_err().to_string();
        assert!(error.contains("3.5.33") && error.contains("3.6"), "{error}");
    }

    #[test]
    fn a_joiner_gets_every_url_of_every_member_and_no_name_twice() {
        let own = voter(7, "", &["http://main-1:2380"]);
        let twice = voter(8, "source-1", &["http://b:2380", "http://c:2380"]);
        let nameless = voter(0xab, "", &["http://d:2380"]);
        let text = initial_cluster((own.id, "main-1"), &[others(1), own.clone(), twice, nameless]);
        assert_eq!(
            text,
            "source-1=http://source-1:2380,main-1=http://main-1:2380,member-8=http://b:2380,\
             member-8=http://c:2380,member-ab=http://d:2380"
        );
    }
}
