//! Targets that are deleted: in the middle of a join, and when there is nobody left to leave.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Etcd, IMAGE_3_6, Installed, Source, Writer, eventually, spec};

const SOON: Duration = Duration::from_mins(2);

fn joining(replicas: u32, source: &Source<'_>) -> Value {
    let mut spec = spec(replicas, IMAGE_3_6);
    spec["etcd"]["bootstrapWithExistingCluster"] = source.bootstrap();
    spec
}

#[test]
fn a_target_that_is_deleted_in_the_middle_of_its_join_takes_its_members_out_again() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    let source = Source::start(&shop, "src", 1, IMAGE_3_6);
    source.publish();
    source.until_ready();
    let before = source.members();
    let writer = Writer::start(&shop, "http://src:2379", None);
    let c2 = Etcd::create(&shop, "c2", &joining(3, &source));
    eventually(SOON, "a member of three is in the cluster", || {
        let members = c2.object()["status"]["members"].clone();
        if members.as_array().is_some_and(|members| !members.is_empty()) {
            Ok(())
        } else {
            Err(members.to_string())
        }
    });
    let (status, _) = c2.condition("BootstrappedWithExistingCluster");
    assert_eq!(status, "False", "the join was too quick for this");
    c2.delete();
    c2.until_gone();
    assert_eq!(source.members(), before);
    writer.nothing_is_lost(|arguments| Ok(source.etcdctl(0, arguments)));
}

#[test]
fn with_the_source_gone_for_ever_a_target_goes_once_its_quorum_is_given_up() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    let source = Source::start(&shop, "src", 2, IMAGE_3_6);
    source.publish();
    source.until_ready();
    let c2 = Etcd::create(&shop, "c2", &joining(1, &source));
    c2.until("BootstrappedWithExistingCluster", "True", "");
    c2.until_ready();
    source.end();

    c2.delete();
    let waits = c2.until("Left", "False", "etcd-warden.dev/allow-quorum-loss=true");
    assert!(waits.contains("c2-0"), "{waits}");
    assert!(!c2.pod(0).is_null(), "its members are there as long as it waits");
    shop.kubectl(&["annotate", "etcd", "c2", "etcd-warden.dev/allow-quorum-loss=true"]).ok();
    c2.until_gone();
    let events = shop.kubectl(&["get", "events", "--output=json"]).ok();
    let events: Value = serde_json::from_str(&events).unwrap();
    let told =
        events["items"].as_array().unwrap().iter().filter(|event| event["reason"] == json!("QuorumGivenUp"));
    let told: Vec<&Value> = told.map(|event| &event["message"]).collect();
    let says = |name: &str| told.iter().any(|text| text.as_str().is_some_and(|text| text.contains(name)));
    assert!(says("c2-0"), "{told:?}");
}
