//! The reconcile loop: the program over an API server in memory, and this test in the place of StatefulSet controller,
//! kubelet and agents.

use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::api::{Api, Reserved, kubeconfig};
use super::support::client;
use super::support::process::{Process, spawn};
use super::support::until;

pub const ETCD: &str = "/apis/druid.gardener.cloud/v1alpha1/namespaces/shop/etcds/main";
pub const SET: &str = "/apis/apps/v1/namespaces/shop/statefulsets/main";
const RECORD: &str = "/api/v1/namespaces/shop/configmaps/main-cluster";
const CLIENT: &str = "/api/v1/namespaces/shop/services/main-client";
const PEER: &str = "/api/v1/namespaces/shop/services/main-peer";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/warden/leases/etcd-warden-loop";
const REVISION: &str = "main-1";

pub struct Bed {
    pub api: Api,
    pub process: Process,
    pub directory: tempfile::TempDir,
}

impl Bed {
    fn start(prepare: impl FnOnce(&Api)) -> Self {
        let (directory, port) = (tempfile::tempdir().unwrap(), Reserved::new());
        let kubeconfig = kubeconfig(directory.path(), port.address());
        let api = port.listen();
        prepare(&api);
        let process = run(directory.path(), &kubeconfig);
        Self { api, process, directory }
    }

    pub fn etcd(&self) -> Value {
        self.api.get(ETCD).unwrap()
    }

    /// As the StatefulSet controller would: once there is one, its revision is known.
    async fn observe(&self) {
        until("there is a StatefulSet", async || self.api.get(SET).is_some()).await;
        self.api.change(SET, |set| {
            set["metadata"]["generation"] = 1.into();
            set["status"] = json!({"observedGeneration": 1, "updateRevision": REVISION});
        });
    }

    /// As the StatefulSet controller, the kubelet and the agent would.
    pub fn report(&self, ordinal: u32, ready: bool, report: &Value) {
        let (etcd, set) = (self.etcd(), self.api.get(SET).unwrap());
        let path = pod_path(ordinal);
        let mut pod = self.api.get(&path).unwrap_or_else(|| {
            json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {
                    "name": format!("main-{ordinal}"), "namespace": "shop",
                    "labels": {
                        "app.kubernetes.io/managed-by": "etcd-warden", "app.kubernetes.io/part-of": "main",
                        "controller-revision-hash": REVISION,
                    },
                    "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "main",
                        "uid": set["metadata"]["uid"], "controller": true}],
                    "annotations": {},
                },
                "spec": {"containers": []},
            })
        });
        let mut all = json!({"etcd": etcd["metadata"]["uid"], "started": "2026-11-29T20:00:01.5Z", "name": format!("main-{ordinal}")});
        json_patch::merge(&mut all, report);
        pod["metadata"]["annotations"]["etcd-warden.dev/member"] = all.to_string().into();
        pod["status"] = json!({
            "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}],
            "containerStatuses": [{"name": "etcd", "ready": ready, "restartCount": 0, "image": "", "imageID": "",
                "state": {"running": {"startedAt": "2026-11-29T20:00:01Z"}}}],
        });
        self.api.put(&path, pod);
    }

    fn word(&self, ordinal: u32) -> Option<Value> {
        let pod = self.api.get(&pod_path(ordinal))?;
        serde_json::from_str(pod["metadata"]["annotations"]["etcd-warden.dev/form"].as_str()?).ok()
    }

    /// What is written when a change is looked at that concerns nobody. Made twice, since the look that ends after the
    /// first may have begun before it.
    async fn writes_of_a_look(&self) -> Vec<String> {
        let looks = async || {
            let text = client::plain(self.process.probes, "/metrics").await.body;
            let line = text.lines().find_map(|line| line.strip_prefix("etcd_warden_loop_looks_total "));
            line.unwrap().parse::<u64>().unwrap()
        };
        let writes = self.api.writes("/shop/");
        for time in ["first", "second"] {
            let before = looks().await;
            self.api.change(&pod_path(1), |pod| {
                pod["metadata"]["annotations"]["look"] = format!("{time} after {before}").into();
            });
            until("it is looked at", async || looks().await > before).await;
        }
        self.api.writes_since(writes, "/shop/")
    }

    /// Three members that form a cluster, as far as it takes.
    pub async fn formed() -> Self {
        let bed = Self::start(|api| api.put(ETCD, etcd(3)));
        bed.observe().await;
        (0..3).for_each(|ordinal| bed.report(ordinal, false, &empty()));
        until("all have the word", async || (0..3).all(|ordinal| bed.word(ordinal).is_some())).await;
        (0..3).for_each(|ordinal| bed.report(ordinal, true, &voter(ordinal)));
        until("it is recorded", async || bed.api.get(RECORD).is_some()).await;
        until("all is ready", async || bed.etcd()["status"]["ready"] == true).await;
        bed
    }
}

fn run(directory: &Path, kubeconfig: &Path) -> Process {
    let arguments = [
        "--kubeconfig",
        kubeconfig.to_str().unwrap(),
        "--audit=off",
        "--drain-time=0s",
        "--controller",
        "--agent-image=etcd-warden:test",
        "--etcd-image=etcd:v3.6.4",
    ];
    spawn(directory, &arguments)
}

pub fn pod_path(ordinal: u32) -> String {
    format!("/api/v1/namespaces/shop/pods/main-{ordinal}")
}

fn etcd(replicas: u32) -> Value {
    json!({
        "apiVersion": "druid.gardener.cloud/v1alpha1", "kind": "Etcd",
        "metadata": {"name": "main", "namespace": "shop", "generation": 1},
        "spec": {"replicas": replicas, "labels": {}, "etcd": {}, "backup": {}},
    })
}

fn empty() -> Value {
    json!({"volume": "empty", "waiting": {"why": "NoWord", "message": "no word yet", "since": "2026-11-29T20:00:02Z"}})
}

pub fn voter(ordinal: u32) -> Value {
    let members: Vec<Value> =
        (0..3).map(|at| json!({"id": format!("{at}"), "name": format!("main-{at}")})).collect();
    json!({
        "volume": {"data": {"member": format!("{ordinal}"), "cluster": "abc", "starts": 1}}, "id": format!("{ordinal}"),
        "cluster": "abc", "role": if ordinal == 0 { "leader" } else { "voter" }, "members": members,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_formed_recorded_and_then_left_alone() {
    let bed = Bed::formed().await;
    let uid = bed.etcd()["metadata"]["uid"].clone();
    assert_eq!(bed.word(0).unwrap()["token"], format!("{}/1", uid.as_str().unwrap()));
    assert_eq!(bed.api.get(RECORD).unwrap()["data"]["cluster-id"], "abc");
    assert_eq!(bed.api.get(RECORD).unwrap()["immutable"], true);
    assert_eq!(bed.etcd()["metadata"]["finalizers"], json!(["etcd-warden.dev/leave"]));
    let status = &bed.etcd()["status"];
    assert_eq!((&status["formingAttempt"], &status["members"].as_array().unwrap().len()), (&json!(1), &3));
    until("it is counted", async || {
        let text = client::plain(bed.process.probes, "/metrics").await.body;
        text.contains("etcd_warden_loop_etcds{phase=\"Running\"} 1\n")
    })
    .await;
    assert!(!bed.api.get(LEASE).unwrap()["spec"]["holderIdentity"].as_str().unwrap().is_empty());
    let told: Vec<Value> = bed.api.below("/events/").iter().map(|event| event["reason"].clone()).collect();
    for reason in ["Forming", "ClusterRecorded", "MemberAdded"] {
        assert!(told.contains(&json!(reason)), "{reason}: {told:?}");
    }
    // Once all is as it should be, a change that concerns nobody is looked at, and nothing is written.
    until("it rests", async || bed.writes_of_a_look().await.is_empty()).await;
    for _ in 0..2 {
        assert_eq!(bed.writes_of_a_look().await, Vec::<String>::new());
    }
}

/// A repeat is counted; the text of an event is never that of an earlier one.
#[tokio::test(flavor = "multi_thread")]
async fn an_event_with_another_text_is_another_event() {
    let bed = Bed::formed().await;
    let losses = || -> Vec<Value> {
        bed.api.below("/events/").into_iter().filter(|event| event["reason"] == "QuorumLost").collect()
    };
    let lose = async |message: &str, times: i64| {
        let mut waits = voter(0);
        waits["waiting"] = json!({"why": "Unhealthy", "message": message, "since": "2026-11-29T20:00:02Z"});
        bed.report(0, false, &waits);
        (1..3).for_each(|ordinal| bed.report(ordinal, false, &voter(ordinal)));
        let told =
            || losses().iter().map(|event| event["series"]["count"].as_i64().unwrap_or(1)).sum::<i64>();
        until("the loss is told", async || told() == times).await;
        (0..3).for_each(|ordinal| bed.report(ordinal, true, &voter(ordinal)));
        until("there is quorum again", async || bed.etcd()["status"]["ready"] == true).await;
    };
    lose("one cause", 1).await;
    lose("another cause", 2).await;
    lose("one cause", 3).await;
    let counts: Vec<Value> = losses().iter().map(|event| event["series"]["count"].clone()).collect();
    assert_eq!((counts.len(), counts.iter().filter(|count| **count == 2).count()), (2, 1), "{:#?}", losses());
    assert_ne!(losses()[0]["note"], losses()[1]["note"]);
}

/// It lists everything first, and nothing of it has changed.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_leader_writes_nothing() {
    let mut bed = Bed::formed().await;
    until("it rests", async || bed.writes_of_a_look().await.is_empty()).await;
    bed.process.signal(Signal::TERM);
    assert!(bed.process.status().success());
    let writes = bed.api.writes("/shop/");
    bed.process = run(bed.directory.path(), &bed.directory.path().join("kubeconfig"));
    assert_eq!(bed.writes_of_a_look().await, Vec::<String>::new());
    assert_eq!(bed.api.writes("/shop/"), writes);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_changed_or_deleted_is_mended() {
    let bed = Bed::formed().await;
    bed.api.change(CLIENT, |service| service["spec"]["ports"] = json!([]));
    until("it is mended", async || {
        bed.api.get(CLIENT).unwrap()["spec"]["ports"].as_array().unwrap().len() == 2
    })
    .await;
    bed.api.delete(CLIENT);
    until("it is there again", async || bed.api.get(CLIENT).is_some()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_of_the_same_name_is_left_alone_and_named() {
    let theirs = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "main-peer", "namespace": "shop"}, "spec": {"theirs": true}});
    let bed = Bed::start(|api| {
        api.put(PEER, theirs);
        api.put(ETCD, etcd(1));
    });
    until("it is said", async || bed.etcd()["status"]["lastErrors"][0]["code"] == "ERR_FOREIGN_OBJECT").await;
    assert_eq!(bed.api.get(PEER).unwrap()["spec"], json!({"theirs": true}));
    bed.api.delete(PEER);
    bed.api.change(ETCD, |etcd| etcd["metadata"]["labels"] = json!({"touched": "yes"}));
    until("it is made", async || {
        bed.api.get(PEER).is_some_and(|service| service["spec"]["clusterIP"] == "None")
    })
    .await;
    until("it is said no more", async || bed.etcd()["status"]["lastErrors"] == json!([])).await;
}

/// As where somebody has installed a definition without a schema.
#[tokio::test(flavor = "multi_thread")]
async fn an_etcd_that_can_not_be_read_says_so_once_and_is_made_once_it_can() {
    let bed = Bed::start(|api| {
        let mut odd = etcd(1);
        odd["spec"]["replicas"] = "one".into();
        api.put(ETCD, odd);
    });
    until("it is said", async || {
        let error = bed.etcd()["status"]["lastErrors"][0].clone();
        error["code"] == "ERR_UNREADABLE"
            && error["description"].as_str().unwrap().contains("spec can't be read")
    })
    .await;
    let told =
        || bed.api.below("/events/").iter().filter(|event| event["reason"] == "ERR_UNREADABLE").count();
    until("it is told", async || told() == 1).await;
    let (writes, failures) = (bed.api.writes("/shop/"), async || {
        let text = client::plain(bed.process.probes, "/metrics").await.body;
        let line = text.lines().find_map(|line| line.strip_prefix("etcd_warden_loop_failures_total "));
        line.unwrap().parse::<u64>().unwrap()
    });
    let before = failures().await;
    until("it is looked at again", async || failures().await > before).await;
    assert_eq!((bed.api.writes("/shop/"), told()), (writes, 1), "nothing is written again");
    bed.api.change(ETCD, |etcd| etcd["spec"]["replicas"] = 1.into());
    until("it is made", async || bed.api.get(SET).is_some()).await;
    until("it is said no more", async || bed.etcd()["status"]["lastErrors"] == json!([])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_not_be_done_is_said_and_done_once_it_may() {
    let bed = Bed::start(|api| {
        api.forbid("patch", "roles");
        api.put(ETCD, etcd(1));
    });
    until("it is said", async || {
        let error = bed.etcd()["status"]["lastErrors"][0].clone();
        error["code"] == "ERR_SYNC_ROLE"
            && error["description"].as_str().unwrap().contains("grant the verb \"patch\"")
    })
    .await;
    bed.api.allow_all();
    until("it is done", async || bed.etcd()["status"]["lastErrors"] == json!([])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_is_not_allowed_is_named_in_readiness() {
    let bed = Bed::start(|api| {
        api.forbid("list", "pods");
        api.put(ETCD, etcd(1));
    });
    until("it is said", async || {
        let ready = client::plain(bed.process.probes, "/readyz?verbose").await.body;
        ready.contains("[!] loop: degraded: can't list pods: no permission: grant the verb \"list\"")
    })
    .await;
    assert_eq!(bed.api.get(SET), None, "what isn't known is not taken for missing");
    bed.api.allow_all();
    until("it works", async || bed.api.get(SET).is_some()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_etcd_that_is_deleted_goes_after_all_that_it_had() {
    let bed = Bed::formed().await;
    bed.api.change(ETCD, |etcd| etcd["metadata"]["deletionTimestamp"] = "2026-11-29T21:00:00Z".into());
    until("its pods are ended", async || bed.api.get(SET).is_none()).await;
    (0..3).for_each(|ordinal| bed.api.delete(&pod_path(ordinal)));
    until("it is gone", async || bed.api.get(ETCD).is_none()).await;
    let left = bed.api.below("/namespaces/shop/").into_iter().filter(|object| object["reason"].is_null());
    assert_eq!(left.collect::<Vec<_>>(), Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_flag_nothing_is_made_and_nothing_watched() {
    let (directory, port) = (tempfile::tempdir().unwrap(), Reserved::new());
    let kubeconfig = kubeconfig(directory.path(), port.address());
    let api = port.listen();
    api.put(ETCD, etcd(3));
    let process = spawn(directory.path(), &["--kubeconfig", kubeconfig.to_str().unwrap(), "--audit=off"]);
    until("it is ready", async || {
        client::plain(process.probes, "/readyz?verbose").await.body.contains("[+] etcds: ok")
    })
    .await;
    assert_eq!(api.writes(""), 0);
    assert!(!client::plain(process.probes, "/metrics").await.body.contains("etcd_warden_loop"));
}
