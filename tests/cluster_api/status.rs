//! `status`, over an API server in memory in which a cluster was formed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use super::reconcile::{Bed, ETCD, SET, pod_path, voter};
use super::support::process::command;
use super::support::until;

struct Shown {
    code: Option<i32>,
    out: String,
    said: String,
}

/// Killed when dropped.
struct Watch(Child);

impl Drop for Watch {
    fn drop(&mut self) {
        // It has ended where all went well.
        let _ = self.0.kill();
    }
}

fn status(directory: &Path, arguments: &[&str]) -> Shown {
    let mut command = command(directory);
    let done = command.arg("status").args(arguments).env("KUBECONFIG", directory.join("kubeconfig")).output();
    let done = done.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Shown { code: done.status.code(), out: text(done.stdout), said: text(done.stderr) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_formed_cluster_is_shown_to_a_person_and_to_a_program() {
    let bed = Bed::formed().await;
    until("it rests", async || bed.etcd()["status"]["phase"] == "Running").await;
    let shown = status(bed.directory.path(), &["main", "-n", "shop"]);
    assert_eq!((shown.code, shown.said.as_str()), (Some(0), ""));
    for line in [
        "Etcd shop/main: Running",
        "cluster  abc",
        "3 voters, 2 needed; ready here: 3;",
        " ClusterRecorded: ",
    ] {
        assert!(shown.out.contains(line), "{line}: {}", shown.out);
    }
    assert!(!shown.out.contains('\u{1b}'), "no colours where it is no terminal");
    let shown = status(bed.directory.path(), &["main", "-n", "shop", "--output", "json"]);
    let json: Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!((&json["votes"]["needed"], &json["members"][0]["role"]), (&2.into(), &"leader".into()));
    assert_eq!(json["uid"], bed.etcd()["metadata"]["uid"]);
    bed.api.forbid("list", "events");
    let shown = status(bed.directory.path(), &["main", "-n", "shop"]);
    assert!(shown.code == Some(0) && shown.out.contains("events can't be listed"), "{}", shown.out);
}

/// What a StatefulSet and pods are told that never get as far as an agent is shown too, and of those alone.
#[tokio::test(flavor = "multi_thread")]
async fn why_a_pod_is_not_there_or_does_not_start_is_shown() {
    let bed = Bed::formed().await;
    let warn = |name: &str, kind: &str, uid: &Value, reason: &str| {
        let event = json!({
            "metadata": {"name": name}, "type": "Warning", "reason": reason, "note": "told by Kubernetes",
            "deprecatedCount": 4, "deprecatedLastTimestamp": "2026-11-29T20:00:00Z",
            "regarding": {"kind": kind, "name": "main", "uid": uid},
        });
        bed.api.put(&format!("/apis/events.k8s.io/v1/namespaces/shop/events/{name}"), event);
    };
    let uid = |path: &str| bed.api.get(path).unwrap()["metadata"]["uid"].clone();
    warn("set", "StatefulSet", &uid(SET), "FailedCreate");
    warn("lives", "Pod", &uid(&pod_path(0)), "WhileItRuns");
    warn("waits", "Pod", &uid(&pod_path(1)), "FailedMount");
    warn("another", "Pod", &json!("another"), "AnotherPod");
    let shown = || status(bed.directory.path(), &["main", "-n", "shop"]).out;
    assert!(!shown().contains("told by Kubernetes"), "{}", shown());

    bed.api.change(&pod_path(1), |pod| pod["status"]["containerStatuses"] = json!([]));
    bed.api.delete(&pod_path(2));
    let shown = shown();
    for (line, is_there) in [
        (" FailedCreate of statefulset/main (4 times): told by Kubernetes", true),
        (" FailedMount of pod/main (4 times): told by Kubernetes", true),
        ("WhileItRuns", false),
        ("AnotherPod", false),
    ] {
        assert_eq!(shown.contains(line), is_there, "{line}: {shown}");
    }
    until("it is said where to look", async || {
        let conditions = bed.etcd()["status"]["conditions"].to_string();
        conditions.contains("main-2 has no pod yet; if it lasts, see etcd-warden status main -n shop")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_not_be_shown_is_said() {
    let bed = Bed::formed().await;
    let shown = status(bed.directory.path(), &["other", "-n", "shop"]);
    assert_eq!((shown.code, shown.out.as_str()), (Some(1), ""));
    assert_eq!(shown.said, "error: there is no Etcd shop/other: kubectl get etcd -n shop shows which are\n");
    bed.api.forbid("list", "pods");
    let shown = status(bed.directory.path(), &["main", "-n", "shop"]);
    assert!(shown.code == Some(1) && shown.said.contains("can't list pods"), "{}", shown.said);
    let shown = status(bed.directory.path(), &["main", "--interval", "1ms"]);
    assert!(shown.code == Some(2) && shown.said.contains("--interval"), "{}", shown.said);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kubeconfig_of_the_environment_that_is_missing_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let said = |variable: &Path| {
        let done = command(directory.path()).args(["status", "main"]).env("KUBECONFIG", variable).output();
        let done = done.unwrap();
        (done.status.code(), String::from_utf8(done.stderr).unwrap())
    };
    let missing = directory.path().join("missing");
    let (code, words) = said(&missing);
    assert_eq!(code, Some(1));
    for word in [missing.to_str().unwrap(), "which KUBECONFIG names", "No such file"] {
        assert!(words.contains(word), "{word}: {words}");
    }
    // Nothing is looked for where it is empty.
    assert!(said(Path::new("")).1.contains("set KUBECONFIG"), "{words}");
}

/// A pipe doesn't say by itself that its reader has gone.
#[tokio::test(flavor = "multi_thread")]
async fn a_watch_ends_with_its_reader_also_where_nothing_changes() {
    let bed = Bed::formed().await;
    for output in ["text", "json"] {
        let mut command = command(bed.directory.path());
        command.args(["status", "main", "-n", "shop", "--watch", "--interval", "100ms", "--output", output]);
        command.env("KUBECONFIG", bed.directory.path().join("kubeconfig")).stdout(Stdio::piped());
        let mut watch = Watch(command.spawn().unwrap());
        let mut first = String::new();
        BufReader::new(watch.0.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(first.contains("main"), "{first}");
        until("it ends", async || watch.0.try_wait().unwrap().is_some()).await;
        assert!(watch.0.wait().unwrap().success(), "{output}");
    }
}

/// Whoever watches sees what changes, and that it is over.
#[tokio::test(flavor = "multi_thread")]
async fn a_watch_shows_what_changes_until_the_etcd_is_gone() {
    let mut bed = Bed::formed().await;
    let kubeconfig = bed.directory.path().join("kubeconfig");
    let out = bed.directory.path().join("watched");
    let mut command = command(bed.directory.path());
    command
        .args(["status", "main", "-n", "shop", "--watch", "--interval", "100ms", "--kubeconfig"])
        .arg(kubeconfig);
    let mut watch = Watch(command.stdout(std::fs::File::create(&out).unwrap()).spawn().unwrap());
    let shown = || std::fs::read_to_string(&out).unwrap();
    until("it is shown", async || shown().contains("Etcd shop/main: ")).await;
    let cluster = "cluster  abc";
    let mut ends = voter(1);
    ends["waiting"] =
        serde_json::json!({"why": "EtcdEnds", "message": "no space left", "since": "2026-11-29T20:00:02Z"});
    bed.report(1, false, &ends);
    until("the change is shown", async || shown().contains("no space left")).await;
    assert_eq!(shown().matches(cluster).count(), 1, "what hasn't changed isn't repeated: {}", shown());
    // Else the loop would bring it back by what it holds.
    bed.process.child.kill().unwrap();
    bed.api.delete(ETCD);
    until("it ends", async || watch.0.try_wait().unwrap().is_some()).await;
    assert!(watch.0.wait().unwrap().success() && shown().contains("Etcd shop/main is gone"), "{}", shown());
}
