//! Overviews of Etcds as the API server has them.

use k8s_openapi::api::core::v1::Pod as KubernetesPod;
use serde_json::{Value, json};

use super::*;
use crate::member::{ClusterId, Listed, MEMBER, MemberId, Progress, Report, Role, Waiting, Why};

const STARTED: &str = "2026-11-29T20:00:00Z";

fn joining() -> Etcd {
    let source = json!({"members": [{"name": "src-0", "peerURLs": ["http://src-0:2380"]}], "clientEndpoints": ["http://src-0:2379"]});
    let condition = |kind: &str, status: &str, message: &str| json!({"type": kind, "status": status, "reason": "R", "message": message, "lastTransitionTime": STARTED, "lastUpdateTime": STARTED});
    let object = json!({
        "apiVersion": "druid.gardener.cloud/v1alpha1", "kind": "Etcd",
        "metadata": {"name": "c2", "namespace": "shop", "uid": "uid-1", "generation": 3},
        "spec": {"replicas": 2, "etcd": {"bootstrapWithExistingCluster": source}, "backup": {}},
        "status": {
            "phase": "Joining", "join": "1/2 joined", "observedGeneration": 3,
            "conditions": [
                condition("ClusterIDMismatch", "False", "one"),
                condition("Ready", "True", "well"),
                condition("BootstrappedWithExistingCluster", "False", "1/2 joined"),
            ],
            "lastErrors": [{"code": "ERR_X", "description": "broken \u{1b}[31m", "observedAt": STARTED}],
        },
    });
    Etcd::read(&serde_json::from_value(object).unwrap()).unwrap()
}

fn report(ordinal: u64, role: Role) -> Report {
    let listed =
        |id, name: &str, learner| Listed { id: MemberId(id), name: name.to_owned(), learner, unwell: false };
    Report {
        etcd_version: Some("3.6.16".to_owned()),
        id: Some(MemberId(ordinal)),
        cluster: Some(ClusterId(9)),
        role: Some(role),
        members: vec![
            listed(0, "c2-0", false),
            listed(1, "c2-1", true),
            listed(7, "src-0", false),
            listed(8, "", true),
        ],
        ..Report::new("uid-1".to_owned(), STARTED.to_owned(), format!("c2-{ordinal}"))
    }
}

fn pod(ordinal: u64, report: &Report, ready: bool) -> Pod {
    let running = json!({"name": "etcd", "ready": ready, "restartCount": 0, "image": "", "imageID": "", "state": {"running": {"startedAt": STARTED}}});
    let pod: Value = json!({
        "metadata": {
            "name": format!("c2-{ordinal}"), "uid": "p", "resourceVersion": "1",
            "annotations": {MEMBER: report.annotation().unwrap()},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "c2", "uid": "set", "controller": true}],
        },
        "status": {
            "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}],
            "containerStatuses": [running],
        },
    });
    let pod: KubernetesPod = serde_json::from_value(pod).unwrap();
    Pod::read(&pod, &joining(), "set").unwrap()
}

fn in_the_middle() -> Vec<Pod> {
    let waiting = Waiting {
        why: Why::CatchingUp,
        message: "it is 7000 entries behind the leader".to_owned(),
        since: STARTED.to_owned(),
    };
    let learner = Report {
        waiting: Some(waiting),
        progress: Some(Progress {
            revision: 12,
            leader_revision: 7012,
            bytes: 20_480,
            leader_bytes: 3 << 20,
        }),
        ..report(1, Role::Learner)
    };
    vec![pod(0, &report(0, Role::Voter), true), pod(1, &learner, false)]
}

fn events() -> Vec<KubernetesEvent> {
    let event = |time: &str, reason: &str, series: Value| json!({"metadata": {"name": reason}, "eventTime": time, "reason": reason, "note": "told", "type": "Normal", "series": series, "regarding": {"kind": "Etcd", "name": "c2"}});
    let all = json!([
        event("2026-11-29T20:00:09.000000Z", "Later", Value::Null),
        event(
            "2026-11-29T20:00:01.000000Z",
            "Repeated",
            json!({"count": 3, "lastObservedTime": "2026-11-29T20:00:10.000000Z"})
        ),
        event("2026-11-29T20:00:02.000000Z", "Earlier", Value::Null),
        // As the kubelet tells it.
        {"metadata": {"name": "c2-1"}, "eventTime": null, "reason": "FailedMount", "note": "secret \"tls\" not found",
            "type": "Warning", "deprecatedCount": 7, "deprecatedFirstTimestamp": "2026-11-29T20:00:00Z",
            "deprecatedLastTimestamp": "2026-11-29T20:00:59Z", "regarding": {"kind": "Pod", "name": "c2-1"}},
    ]);
    serde_json::from_value(all).unwrap()
}

fn shown(overview: &Overview, ages: Ages) -> String {
    lines(overview, ages).into_iter().map(|line| line.text + "\n").collect()
}

#[test]
fn a_join_is_shown_as_a_person_wants_to_see_it() {
    let overview = Overview::of(&joining(), &in_the_middle(), Some(&events()));
    let ages = Ages::At("2026-11-29T20:01:05Z".parse().unwrap());
    assert_eq!(shown(&overview, ages), include_str!("joining.txt"));
}

#[test]
fn without_ages_the_same_look_is_the_same_text() {
    let overview = Overview::of(&joining(), &in_the_middle(), None);
    let text = shown(&overview, Ages::Without);
    assert!(text.contains("c2-1 waits since 2026-11-29T20:00:00Z: it is"), "{text}");
    assert!(text.contains("events can't be listed"), "{text}");
}

#[test]
fn what_nobody_has_seen_is_not_made_up() {
    let mut etcd = joining();
    etcd.status = controller::status::Status::default();
    let overview = Overview::of(&etcd, &[], Some(&[]));
    assert_eq!((overview.votes, overview.clusters.len(), overview.up_to_date), (None, 0, false));
    let names: Vec<&str> = overview.members.iter().map(|member| member.name.as_str()).collect();
    assert_eq!(names, ["c2-0", "c2-1", "src-0"]);
    assert!(overview.members.iter().all(|member| member.role.is_none() && member.ready != Some(true)));
    assert!(shown(&overview, Ages::Without).contains("does the reconcile loop run"));
}

#[test]
fn votes_count_voters_and_no_learner() {
    let votes = Overview::of(&joining(), &in_the_middle(), None).votes;
    assert_eq!(votes, Some(Votes { voters: 2, needed: 2, ready: 1, unseen: 1 }));
    let waiting: Vec<Pod> = vec![pod(1, &report(1, Role::Learner), false)];
    let votes = Overview::of(&joining(), &waiting, None).votes.unwrap();
    assert_eq!((votes.ready, votes.needed), (0, 2));
}
