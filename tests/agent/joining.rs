//! Members join an existing cluster, one at a time, and it never becomes two.

use std::path::Path;

use etcd_warden::member::Why;

use super::shop::{Shop, etcd};
use super::source::Traits;
use super::writer::Writer;

async fn three_join_three(old: &Path, new: &Path) {
    let mut shop = Shop::open(3, new).await;
    shop.source(3, old).await;
    let writer = Writer::to_source(&shop, 3);
    for ordinal in 0..3 {
        shop.start(ordinal);
    }
    let mut clusters = Vec::new();
    for ordinal in 0..3 {
        clusters.extend(shop.until_voter(ordinal).await.cluster);
    }
    assert!(clusters.iter().all(|cluster| *cluster == clusters[0]) && clusters.len() == 3, "{clusters:?}");
    let all = ["main-0", "main-1", "main-2", "source-1", "source-2", "source-3"];
    let (voters, learners) = shop.members(&shop.client_url(0));
    assert_eq!((voters, learners), (all.map(str::to_owned).to_vec(), Vec::new()));
    let value = shop.etcdctl(&shop.client_url(2), &["get", "before", "--print-value-only"]);
    assert_eq!(value.trim(), "the join");
    writer.lost_nothing(&shop, &shop.client_url(1));
    (0..3).for_each(|ordinal| shop.lost_no_volume(ordinal));
}

#[tokio::test(flavor = "multi_thread")]
async fn three_targets_join_three_sources_over_3_5() {
    let Some(binary) = etcd("3.5") else { return };
    three_join_three(&binary, &binary).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_targets_join_three_sources_over_3_6() {
    let Some(binary) = etcd("3.6") else { return };
    three_join_three(&binary, &binary).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_targets_join_three_sources_that_are_a_minor_older() {
    let (Some(old), Some(new)) = (etcd("3.5"), etcd("3.6")) else { return };
    three_join_three(&old, &new).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_targets_than_sources_join_one_source() {
    let Some(binary) = etcd("3.7") else { return };
    let mut shop = Shop::open(2, &binary).await;
    shop.source(1, &binary).await;
    let writer = Writer::to_source(&shop, 1);
    shop.start(0);
    shop.start(1);
    shop.until_voter(0).await;
    shop.until_voter(1).await;
    assert_eq!(shop.members(&shop.source_url(1)).0, ["main-0", "main-1", "source-1"]);
    writer.lost_nothing(&shop, &shop.client_url(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn source_unreachable_at_first_start_then_reachable() {
    let Some(binary) = etcd("3.6") else { return };
    let mut shop = Shop::open(1, &binary).await;
    shop.config.source = Some(shop.source_spec(1));
    shop.render();
    shop.start(0);
    let endpoint = shop.source_url(1);
    shop.until_waiting(0, Why::Unreachable, &[&endpoint]).await;
    assert!(!shop.volume(0).join("new.etcd").exists());
    shop.source(1, &binary).await;
    shop.until_voter(0).await;
    assert_eq!(shop.members(&endpoint).0, ["main-0", "source-1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_whose_client_urls_are_private_is_joined() {
    let Some(binary) = etcd("3.6") else { return };
    let mut shop = Shop::open(1, &binary).await;
    shop.odd_source(3, &binary, Traits { private_clients: true }).await;
    // One way in, such as a load balancer, is all that is known of the others.
    shop.config.source.as_mut().unwrap().client_endpoints.truncate(1);
    shop.render();
    shop.start(0);
    shop.until_voter(0).await;
    let said = std::fs::read_to_string(shop.log(0)).unwrap();
    let named = said.lines().find(|line| line.contains("not seen at their client URLs")).unwrap();
    assert!(named.contains("source-2") && named.contains("source-3"), "{named}");
    let (voters, _) = shop.members(&shop.client_url(0));
    assert_eq!(voters, ["main-0", "source-1", "source-2", "source-3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn scaling_out_is_a_join_against_oneself() {
    let Some(binary) = etcd("3.6") else { return };
    let mut shop = Shop::open(1, &binary).await;
    let cluster = shop.form().await;
    shop.config.replicas = 3;
    shop.render();
    for ordinal in 1..3 {
        shop.start(ordinal);
    }
    for ordinal in 1..3 {
        assert_eq!(shop.until_voter(ordinal).await.cluster, Some(cluster));
    }
    assert_eq!(shop.members(&shop.client_url(0)).0, ["main-0", "main-1", "main-2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_targets_join_one_source_at_the_same_time() {
    let Some(binary) = etcd("3.6") else { return };
    let (mut shop, mut spare) = (Shop::open(2, &binary).await, Shop::open(2, &binary).await);
    "spare".clone_into(&mut spare.config.owner.name);
    "uid-2".clone_into(&mut spare.config.owner.uid);
    (shop.more_hosts, spare.more_hosts) = (spare.names(false), shop.names(false));
    shop.source(1, &binary).await;
    // The loop lists the members of other Etcds that it knows to be in the source.
    let members = |shop: &Shop| {
        (0..2)
            .map(|ordinal| (shop.config.member(ordinal), shop.config.peer_urls(ordinal)))
            .collect::<Vec<_>>()
    };
    let (ours, theirs) = (members(&shop), members(&spare));
    spare.config.source = shop.config.source.clone();
    spare.config.source.as_mut().unwrap().members.extend(ours);
    shop.config.source.as_mut().unwrap().members.extend(theirs);
    let writer = Writer::to_source(&shop, 1);
    for target in [&mut shop, &mut spare] {
        target.render();
        target.start(0);
        target.start(1);
    }
    for target in [&shop, &spare] {
        target.until_voter(0).await;
        target.until_voter(1).await;
    }
    let (voters, learners) = shop.members(&shop.source_url(1));
    assert_eq!(voters, ["main-0", "main-1", "source-1", "spare-0", "spare-1"]);
    assert!(learners.is_empty());
    writer.lost_nothing(&shop, &shop.client_url(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_etcds_of_one_name_in_two_namespaces_join_one_source_when_one_has_a_prefix() {
    let Some(binary) = etcd("3.6") else { return };
    let (mut shop, mut other) = (Shop::open(1, &binary).await, Shop::open(1, &binary).await);
    "other".clone_into(&mut other.config.owner.namespace);
    "uid-2".clone_into(&mut other.config.owner.uid);
    (shop.more_hosts, other.more_hosts) = (other.names(false), shop.names(false));
    shop.source(1, &binary).await;
    shop.start(0);
    shop.until_voter(0).await;
    other.config.source = shop.config.source.clone();
    let listed = &mut other.config.source.as_mut().unwrap().members;
    listed.insert(shop.config.member(0), shop.config.peer_urls(0));
    other.render();
    other.start(0);
    other.until_waiting(0, Why::Collision, &["main-0.main-peer.shop.svc", "memberNamePrefix"]).await;
    assert_eq!(shop.members(&shop.source_url(1)).0, ["main-0", "source-1"]);
    other.config.owner.member_name_prefix = Some("other".to_owned());
    other.render();
    other.until_voter(0).await;
    assert_eq!(shop.members(&shop.source_url(1)).0, ["main-0", "other-main-0", "source-1"]);
}
