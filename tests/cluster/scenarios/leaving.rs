//! Targets that are deleted: whatever becomes of what depends on them, in the middle of a join, and when there is nobody
//! left to leave.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{
    Etcd, Follow, IMAGE_3_6, IMAGE_WITHOUT, Installed, Namespace, Source, Writer, eventually,
};

const SOON: Duration = Duration::from_mins(2);

fn joining(replicas: u32, source: &Source<'_>) -> Value {
    crate::harness::joining(replicas, IMAGE_3_6, &source.bootstrap())
}

/// Deletion in the foreground begins with what an Etcd owns, and orphaning has it own nothing any more: neither takes
/// away what a leave needs. With one voter of the source frozen there is time to see that.
#[test]
fn however_targets_are_deleted_their_members_leave_one_by_one_and_a_leader_hands_over_first() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    let source = Source::serving(&shop, "src", 2, IMAGE_3_6);
    let before = source.members();
    let writer = Writer::start(&shop, "http://src:2379", None);
    let targets = ["Background", "Foreground", "Orphan"]
        .map(|policy| (policy, Etcd::create(&shop, &policy.to_lowercase(), &joining(1, &source))));
    for (_, target) in &targets {
        target.until_joined();
    }
    let all: Vec<String> = targets.iter().map(|(_, target)| target.client_url(0)).collect();
    let [_, (_, leader), (_, orphaning)] = &targets;
    leader.lead(0, &[source.client_urls(), all].concat());
    source.freeze(1);
    for (_, target) in &targets {
        until_unwell(target, "src-1");
    }

    let words = Follow::start(&shop, &["get", "pods", "--watch", WORDS]);
    let log = Follow::start(&shop, &["logs", "--follow", "foreground-0", "--container=etcd"]);
    eventually(SOON, "pods are watched", || words.said().contains("orphan-0@"));
    for (policy, target) in &targets {
        target.delete_by(policy);
    }
    for (_, target) in &targets {
        let waits = target.until("Left", "False", "src-1");
        assert!(waits.contains("a voter leaves only while all are well"), "{waits}");
    }
    eventually(SOON, "the garbage collector has taken what is owned", || {
        let stands = stands(&shop, "foreground");
        if stands == needed("foreground") { Ok(()) } else { Err(format!("{stands:?}")) }
    });
    eventually(SOON, "nothing is owned any more", || {
        let finalizers = orphaning.object()["metadata"]["finalizers"].clone();
        if finalizers == json!(["etcd-warden.dev/leave"]) { Ok(()) } else { Err(finalizers.to_string()) }
    });
    for name in ["background", "orphan"] {
        let missing: Vec<String> = needed(name).difference(&stands(&shop, name)).cloned().collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
    assert_eq!(source.voters(), ["background-0", "foreground-0", "orphan-0", "src-0", "src-1"]);

    source.thaw(1);
    eventually(SOON * 2, "all have left", || {
        let voters = source.voters();
        if voters == ["src-0", "src-1"] { Ok(()) } else { Err(voters.join(", ")) }
    });
    for (_, target) in &targets {
        target.until_gone();
    }
    assert_eq!(source.members(), before, "the source has its own members, and no other");
    one_at_a_time(&words.said());
    let said = eventually(SOON, "the leader's log is read to its end", || {
        let said = log.said();
        if said.contains("left the cluster") { Ok(said) } else { Err(said) }
    });
    assert!(said.find("handed leadership over") < said.find("left the cluster"), "{said}");
    assert!(said.contains("handed leadership over"), "{said}");
    let (written, refused) = writer.nothing_is_lost(|arguments| Ok(source.etcdctl(1, arguments)));
    assert!(written > 20, "{written} writes; refused: {refused}");
}

/// Each pod whenever it changes: its name, its word to leave, its report.
const WORDS: &str = r#"--output=jsonpath={.metadata.name}{"@"}{.metadata.annotations.etcd-warden\.dev/leave}{"@"}{.metadata.annotations.etcd-warden\.dev/member}{"\n"}"#;

/// Whoever is told to leave has left before another one is told to.
fn one_at_a_time(words: &str) {
    let (mut told, mut leaving) = (BTreeSet::new(), BTreeSet::new());
    for line in words.lines() {
        let [pod, word, report] = line.splitn(3, '@').collect::<Vec<_>>()[..] else { panic!("{line}") };
        if word.is_empty() {
            continue;
        }
        told.insert(pod);
        if report.contains(r#""left":true"#) {
            leaving.remove(pod);
        } else {
            leaving.insert(pod);
        }
        assert!(leaving.len() <= 1, "{leaving:?} at once");
    }
    assert_eq!(told.len(), 3, "{told:?}");
}

/// Waits until a target's member has reported that a voter isn't well.
fn until_unwell(target: &Etcd<'_>, voter: &str) {
    eventually(SOON, &format!("{} reports that {voter} is not well", target.name), || {
        let annotations = target.pod(0)["metadata"]["annotations"].clone();
        let text = annotations["etcd-warden.dev/member"].as_str().unwrap_or_default();
        let report: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let is_it = |member: &Value| member["name"] == *voter && member["unwell"] == true;
        let found = report["members"].as_array().is_some_and(|members| members.iter().any(is_it));
        if found { Ok(()) } else { Err(text.to_owned()) }
    });
}

/// What there is of an Etcd, and isn't on its way out.
fn stands(shop: &Namespace<'_>, etcd: &str) -> BTreeSet<String> {
    let kinds =
        "statefulsets,pods,services,configmaps,serviceaccounts,roles,rolebindings,poddisruptionbudgets";
    let label = format!("--selector=app.kubernetes.io/part-of={etcd}");
    let list: Value =
        serde_json::from_str(&shop.kubectl(&["get", kinds, &label, "--output=json"]).ok()).unwrap();
    let items = list["items"].as_array().unwrap().iter();
    let stand = items.filter(|item| item["metadata"]["deletionTimestamp"].is_null());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    stand.map(|item| format!("{}/{}", text(&item["kind"]), text(&item["metadata"]["name"]))).collect()
}

/// What a leave needs.
fn needed(etcd: &str) -> BTreeSet<String> {
    let objects = [
        "ConfigMap/{}-cluster",
        "ConfigMap/{}-config",
        "Pod/{}-0",
        "Role/druid.gardener.cloud:etcd:{}",
        "RoleBinding/druid.gardener.cloud:etcd:{}",
        "Service/{}-peer",
        "ServiceAccount/{}",
        "StatefulSet/{}",
    ];
    objects.into_iter().map(|object| object.replace("{}", etcd)).collect()
}

#[test]
fn a_target_that_is_deleted_in_the_middle_of_its_join_takes_its_members_out_again() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    let source = Source::serving(&shop, "src", 1, IMAGE_3_6);
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

/// One that finds no node beside a sibling, and one whose image isn't there.
#[test]
fn pods_that_never_became_members_keep_no_deletion_waiting() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    let source = Source::serving(&shop, "src", 1, IMAGE_3_6);
    let before = source.members();
    let (mut crowded, mut imageless) = (joining(2, &source), joining(1, &source));
    crowded["schedulingConstraints"] = json!({"affinity": {"podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{
            "labelSelector": {"matchLabels": {"app.kubernetes.io/part-of": "c2"}},
            "topologyKey": "kubernetes.io/hostname",
        }],
    }}});
    imageless["etcd"]["image"] = json!("docker.io/local/no-such-image:3.6");
    let (c2, c3) = (Etcd::create(&shop, "c2", &crowded), Etcd::create(&shop, "c3", &imageless));
    c3.until("BootstrappedWithExistingCluster", "False", "c3-0 can't start its container etcd");
    let waits = c2.until("BootstrappedWithExistingCluster", "False", "1/2 joined");
    assert!(waits.contains("can't be scheduled"), "{waits}");
    c2.delete();
    c3.delete();
    c3.until_gone();
    c2.until_gone();
    assert_eq!(source.members(), before, "the source has its own member, and no other");
}

/// An image that isn't there takes a member's pod away, one without etcd leaves its agent alone; once another one is
/// named, both come back to leave.
#[test]
fn members_that_can_not_start_leave_when_the_spec_of_their_deleted_etcd_is_corrected() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    let source = Source::serving(&shop, "src", 3, IMAGE_3_6);
    let before = source.members();
    let targets = [
        ("c2", "docker.io/local/no-such-image:3.6", "c2-0 can't start its container etcd"),
        ("c3", IMAGE_WITHOUT, "c3-0: the image has no etcd in its PATH"),
    ]
    .map(|(name, image, says)| (Etcd::create(&shop, name, &joining(1, &source)), image, says));
    for (target, _, _) in &targets {
        target.until_joined();
    }
    // One after the other: neither is changed while the other isn't well.
    for (target, image, says) in &targets {
        target.change(&json!({"etcd": {"image": image}}));
        target.until("AllMembersReady", "False", says);
        target.delete();
        target.until("Left", "False", says);
        assert!(source.voters().contains(&target.pod_name(0)), "it waits");
        target.change(&json!({"etcd": {"image": IMAGE_3_6}}));
        target.until_gone();
    }
    assert_eq!(source.members(), before, "the source has its own members, and no other");
}

/// The one is out already, the other has to be woken to leave.
#[test]
fn a_member_that_was_removed_is_not_waited_for_and_one_that_sleeps_is_woken() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    let source = Source::serving(&shop, "src", 3, IMAGE_3_6);
    let before = source.members();
    let [removed, asleep] = ["removed", "asleep"].map(|name| Etcd::create(&shop, name, &joining(1, &source)));
    removed.until_joined();
    asleep.until_joined();
    asleep.change(&json!({"replicas": 0}));
    eventually(SOON, "no pod is left", || asleep.pod(0).is_null());
    asleep.delete();
    asleep.until("Left", "False", "set spec.replicas to the number of its members to wake it");
    asleep.change(&json!({"replicas": 1}));
    asleep.until_gone();

    let id = removed.members(0).1.into_iter().find(|member| member.name == "removed-0").unwrap().id;
    source.etcdctl(0, &["member", "remove", &format!("{id:x}")]);
    removed.until("AllMembersReady", "False", "[Removed]");
    removed.delete();
    removed.until_gone();
    assert_eq!(source.members(), before, "the source has its own members, and no other");
}

#[test]
fn with_the_source_gone_for_ever_a_target_goes_once_its_quorum_is_given_up() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    let source = Source::serving(&shop, "src", 2, IMAGE_3_6);
    let c2 = Etcd::create(&shop, "c2", &joining(1, &source));
    c2.until_joined();
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
