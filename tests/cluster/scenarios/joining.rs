//! Clusters that are joined while they serve.

use std::time::Duration;

use serde_json::{Value, json};

use super::forming::version;
use crate::harness::certificates::{secrets, with_tls};
use crate::harness::{
    Etcd, IMAGE_3_5, IMAGE_3_6, IMAGE_3_7, Installed, Source, Writer, eventually, joining, spec,
};
use crate::support::pem::Authority;

const SOON: Duration = Duration::from_mins(2);

#[test]
fn three_join_three_that_nobody_manages_and_leave_them_as_they_were_over_3_5() {
    three_join_three_and_leave_them_as_they_were(IMAGE_3_5);
}

#[test]
fn three_join_three_that_nobody_manages_and_leave_them_as_they_were_over_3_6() {
    three_join_three_and_leave_them_as_they_were(IMAGE_3_6);
}

fn three_join_three_and_leave_them_as_they_were(image: &str) {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    let source = Source::start(&shop, "src", 3, image);
    source.until_ready();
    let (cluster, before) = source.members();
    let objects = source.objects();
    let writer = Writer::start(&shop, "http://src:2379", None);
    source.etcdctl(0, &["put", "color", "blue"]);

    let c2 = Etcd::create(&shop, "c2", &joining(3, image, &source.bootstrap()));
    let waits = c2.until("BootstrappedWithExistingCluster", "False", "c2-1: waits for");
    assert!(waits.starts_with("0/3 joined"), "{waits}");
    assert!(waits.contains("src-client") && waits.contains("[Unreachable]"), "{waits}");
    assert_eq!(source.voters().len(), 3, "nobody joins before the source answers");
    source.publish();

    c2.until("BootstrappedWithExistingCluster", "True", "joined the existing cluster");
    c2.until_ready();
    let all = ["c2-0", "c2-1", "c2-2", "src-0", "src-1", "src-2"];
    assert_eq!(c2.voters(1), all);
    assert_eq!((c2.members(2), source.voters()), (source.members(), all.map(str::to_owned).to_vec()));
    assert_eq!(c2.members(2).0, cluster);
    let (_, minor) = image.rsplit_once(':').unwrap();
    assert!(version(&c2, 0).starts_with(&format!("{minor}.")), "{}", version(&c2, 0));
    assert_eq!(c2.get(0, "color"), "blue");
    let snapshot = &c2.object()["status"]["bootstrapWithExistingCluster"];
    assert_eq!(snapshot["members"], source.bootstrap()["members"]);

    c2.delete();
    c2.until_gone();
    assert_eq!(source.members(), (cluster, before), "the source has its own members, and no other");
    assert_eq!(source.objects(), objects, "nobody has written at the source");
    let read = |arguments: &[&str]| Ok(source.etcdctl(2, arguments));
    let (written, refused) = writer.nothing_is_lost(read);
    assert!(written > 20, "{written} writes; refused: {refused}");
}

/// Three empty volumes and one empty name: whoever counted on a majority of its own would form a cluster here.
#[test]
fn more_targets_than_sources_wait_for_a_source_that_comes_later_and_never_form_a_cluster_of_their_own() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    let source = Source::start(&shop, "src", 1, IMAGE_3_7);
    let c2 = Etcd::create(&shop, "c2", &joining(3, IMAGE_3_7, &source.bootstrap()));
    source.until_ready();
    let (cluster, _) = source.members();
    let writer = Writer::start(&shop, "http://src:2379", None);
    c2.until_held_up(&["0/3 joined", "c2-0: waits for", "c2-1: waits for", "c2-2: waits for", "src-client"]);
    for pod in ["c2-0", "c2-1", "c2-2"] {
        assert_eq!(shop.exec(pod, &["ls", "/var/etcd/data"]).ok(), "", "the volume of {pod} is empty");
    }
    let members = c2.object()["status"]["members"].clone();
    assert!(members.as_array().is_none_or(Vec::is_empty), "{members}");
    shop.kubectl(&["get", "configmap", "c2-cluster"]).refused();
    source.publish();

    c2.until_joined();
    assert_eq!(c2.voters(0), ["c2-0", "c2-1", "c2-2", "src-0"]);
    for ordinal in 0..3 {
        assert_eq!(c2.members(ordinal), source.members());
        let log = shop.kubectl(&["logs", &format!("c2-{ordinal}"), "--container=etcd"]).ok();
        let began_as = |state: &str| log.contains(&format!("\"initial-cluster-state\":\"{state}\""));
        assert!(began_as("existing") && !began_as("new"), "{log}");
    }
    assert_eq!(c2.members(1).0, cluster);
    let (written, refused) = writer.nothing_is_lost_by(&c2, 2);
    assert!(written > 10, "{written} writes; refused: {refused}");
}

#[test]
fn over_tls_a_newer_minor_joins_an_etcd_of_another_namespace() {
    let Some(installed) = Installed::looping() else { return };
    let (old, new) = (installed.namespace(), installed.namespace());
    let authority = Authority::new("etcd's CA");
    secrets(&old, "main", &authority);
    secrets(&new, "c2", &authority);
    let main = Etcd::create(&old, "main", &with_tls(spec(1, IMAGE_3_5)));
    main.until_ready();
    let writer = Writer::start(&old, "https://main-client:2379", Some("client"));
    let bootstrap = json!({
        "members": [{"name": "main-0", "peerUrls": [format!("https://main-0.main-peer.{}.svc:2380", old.name)]}],
        "clientEndpoints": [format!("https://main-client.{}.svc:2379", old.name)],
    });
    let c2 = Etcd::create(&new, "c2", &with_tls(joining(2, IMAGE_3_6, &bootstrap)));
    c2.until_joined();
    assert_eq!(c2.voters(1), ["c2-0", "c2-1", "main-0"]);
    assert_eq!(c2.members(0), main.members(0));
    let (written, refused) = writer.nothing_is_lost_by(&c2, 1);
    assert!(written > 10, "{written} writes; refused: {refused}");
    // The source's own controller doesn't take them for its own.
    let own = main.object()["status"]["members"].clone();
    assert_eq!(own.as_array().map(Vec::len), Some(1), "{own}");
}

#[test]
fn two_join_one_cluster_at_the_same_time() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    let source = Source::serving(&shop, "src", 1, IMAGE_3_6);
    let writer = Writer::start(&shop, "http://src:2379", None);
    let both =
        ["c2", "c3"].map(|name| Etcd::create(&shop, name, &joining(2, IMAGE_3_6, &source.bootstrap())));
    for etcd in &both {
        etcd.until_joined();
    }
    assert_eq!(both[0].voters(1), ["c2-0", "c2-1", "c3-0", "c3-1", "src-0"]);
    assert_eq!(both[0].members(0), both[1].members(1));
    let (written, refused) = writer.nothing_is_lost_by(&both[1], 0);
    assert!(written > 10, "{written} writes; refused: {refused}");
}

/// Servers are killed again and again while a cluster is formed, and while it is joined.
#[test]
fn a_loop_that_is_killed_again_and_again_forms_and_joins_all_the_same() {
    let Some(installed) = Installed::start_looping() else { return };
    let shop = installed.namespace();
    let main = Etcd::create(&shop, "main", &spec(3, IMAGE_3_6));
    until_in_spite_of_kills(&installed, || is_true(&main, "Ready"));
    installed.judges();
    main.until_ready();
    let (cluster, members) = main.members(0);
    assert_eq!(main.voters(0), ["main-0", "main-1", "main-2"]);
    let attempts = main.object()["status"]["formingAttempt"].clone();
    assert_eq!(attempts, 1, "no second word was given");

    let urls = |ordinal: u32| json!([format!("http://main-{ordinal}.main-peer.{}.svc:2380", shop.name)]);
    let sources: Vec<Value> =
        (0..3).map(|ordinal| json!({"name": format!("main-{ordinal}"), "peerUrls": urls(ordinal)})).collect();
    let endpoint = format!("http://main-client.{}.svc:2379", shop.name);
    let bootstrap = json!({"members": sources, "clientEndpoints": [endpoint]});
    let writer = Writer::start(&shop, "http://main-client:2379", None);
    let c2 = Etcd::create(&shop, "c2", &joining(2, IMAGE_3_6, &bootstrap));
    until_in_spite_of_kills(&installed, || is_true(&c2, "BootstrappedWithExistingCluster"));
    installed.judges();
    c2.until_ready();
    let joined = c2.members(0);
    assert_eq!((joined.0, joined.1.len()), (cluster, 5));
    assert!(members.iter().all(|member| joined.1.contains(member)));
    the_source_is_held_back(&main);
    writer.nothing_is_lost_by(&c2, 1);
}

/// Three of five voters are the source's.
fn the_source_is_held_back(main: &Etcd<'_>) {
    eventually(SOON, "the source knows who has joined it", || {
        let others = main.object()["status"]["otherVoters"].clone();
        if others == json!(["c2-0", "c2-1"]) { Ok(()) } else { Err(others.to_string()) }
    });
    let said = main.shop.kubectl(&["delete", "etcd", &main.name, "--wait=false"]).refused();
    assert!(said.contains("[joined-delete]"), "{said}");
    let said = main.shop.kubectl(&["scale", "etcd", &main.name, "--replicas=0"]).refused();
    assert!(said.contains("[joined-hibernate]"), "{said}");
}

fn is_true(etcd: &Etcd<'_>, condition: &str) -> bool {
    etcd.condition(condition).0 == "True"
}

/// Kills every server, lets one of them come back and be at work for a moment, and kills them again.
fn until_in_spite_of_kills(installed: &Installed, is_so: impl Fn() -> bool) {
    let mut kills = 0;
    eventually(SOON * 2, "it is so in spite of kills", || {
        if is_so() {
            return Ok(());
        }
        if kills < 4 {
            installed.kubectl(&["delete", "pods", "--all", "--grace-period=0", "--force"]).ok();
            kills += 1;
        }
        let work = eventually(SOON, "a server is up again", || {
            let ready = ["get", "pods", "--output=jsonpath={.items[*].status.containerStatuses[0].ready}"];
            let ready = installed.kubectl(&ready).ok();
            if ready.contains("true") { Ok(ready) } else { Err(ready) }
        });
        Err(work)
    });
    assert!(kills > 0, "nothing was killed");
}
