//! Facts for tests: `main-0` of three, in namespace `shop`, with an empty volume and nobody to be seen.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::member::{ClusterId, Config, Endpoints, EtcdSettings, MemberId, Owner, Scheme, Source, Why};

use super::facts::{Data, Facts, Live, Member, Noted, Told, Unseen};
use super::record::{Life, Record};

/// The cluster in tests.
pub(crate) const CLUSTER: ClusterId = ClusterId(0xc1);

/// A configuration of `main`, with a source where one is named.
pub(crate) fn config(replicas: u32, source: &[(&str, &str)]) -> Config {
    let members: BTreeMap<_, _> =
        source.iter().map(|(name, url)| ((*name).to_owned(), vec![(*url).to_owned()])).collect();
    Config {
        owner: Owner {
            name: "main".to_owned(),
            namespace: "shop".to_owned(),
            uid: "uid-1".to_owned(),
            member_name_prefix: None,
        },
        replicas,
        endpoints: Endpoints {
            peer_scheme: Scheme::Http,
            peer_port: 2380,
            client_scheme: Scheme::Http,
            client_port: 2379,
            readiness_port: 9095,
            additional_peer_urls: BTreeMap::new(),
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
        source: (!members.is_empty())
            .then(|| Source { members, client_endpoints: vec!["http://source-1:2379".to_owned()] }),
        ending: false,
    }
}

/// `main-0` before anything.
pub(crate) fn facts() -> Facts {
    Facts {
        config: config(3, &[]),
        ordinal: 0,
        data: Data::None,
        record: Noted::None,
        cluster: Err(Unseen {
            why: Why::Unreachable,
            message: "http://main-client:2379: refused".to_owned(),
        }),
        told: Ok(Told::default()),
    }
}

/// A record of this volume.
pub(crate) fn record(life: Life) -> Record {
    Record {
        etcd: "uid-1".to_owned(),
        pod: "main-0".to_owned(),
        starts: 3,
        life,
        release: None,
        config: config(3, &[]),
    }
}

/// A live cluster of these members.
pub(crate) fn live(members: Vec<Member>) -> Live {
    Live { cluster: CLUSTER, members, alarms: Vec::new() }
}

/// A voter that has been well for a minute.
pub(crate) fn voter(id: u64, name: &str, peer_urls: &[&str]) -> Member {
    Member {
        id: MemberId(id),
        name: name.to_owned(),
        peer_urls: peer_urls.iter().map(|url| (*url).to_owned()).collect(),
        learner: false,
        well_for: Some(Duration::from_mins(1)),
        unwell: None,
        release: "3.6.16".parse().ok(),
    }
}

/// A voter of the source.
pub(crate) fn others(number: u64) -> Member {
    let url = format!("http://source-{number}:2380");
    voter(0x50 + number, &format!("source-{number}"), &[&url])
}
