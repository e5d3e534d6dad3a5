//! The program itself, over an API server in memory.

use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::api::{Api, Reserved, kubeconfig};
use super::certificates::{MUTATING, SECRET, VALIDATING, install};
use super::support::client::{self, Options};
use super::support::process::{Process, spawn};
use super::support::until;

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/warden/leases/etcd-warden";
const ETCDS: &str = "/apis/druid.gardener.cloud/v1alpha1/namespaces/shop/etcds";

fn start(directory: &Path, kubeconfig: &Path, more: &[&str]) -> Process {
    let mut arguments =
        vec!["--kubeconfig", kubeconfig.to_str().unwrap(), "--audit", "off", "--drain-time", "0s"];
    arguments.extend(more);
    spawn(directory, &arguments)
}

async fn ready(process: &Process) -> String {
    client::plain(process.probes, "/readyz?verbose").await.body
}

fn etcd(replicas: i64) -> Value {
    json!({
        "apiVersion": "druid.gardener.cloud/v1alpha1", "kind": "Etcd",
        "metadata": {"name": "main", "namespace": "shop"},
        "spec": {
            "replicas": replicas, "labels": {"app": "etcd"}, "selector": {"matchLabels": {"app": "etcd"}}, "backup": {},
            "etcd": {"additionalAdvertisePeerURLs": [{"memberName": "main-2", "urls": ["http://elsewhere:2380"]}]}
        }
    })
}

/// A Scale of the stored Etcd.
fn scale(api: &Api, from: i64, to: i64) -> String {
    let metadata = api.get(&format!("{ETCDS}/main")).map_or_else(
        || json!({"name": "main", "namespace": "shop", "uid": "unknown"}),
        |stored| stored["metadata"].clone(),
    );
    let scale = |replicas: i64| json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata, "spec": {"replicas": replicas}});
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "1", "operation": "UPDATE", "name": "main", "namespace": "shop", "subResource": "scale",
            "kind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
            "resource": {"group": "druid.gardener.cloud", "version": "v1alpha1", "resource": "etcds"},
            "userInfo": {"username": "alice"}, "object": scale(to), "oldObject": scale(from)
        }
    })
    .to_string()
}

async fn judged(process: &Process, body: &str) -> Value {
    let answer = client::post(process.https, &process.ca, "/validate", body).await;
    serde_json::from_str::<Value>(&answer.body).unwrap()["response"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_is_away_at_start_is_said_and_found_later() {
    let (directory, port) = (tempfile::tempdir().unwrap(), Reserved::new());
    let kubeconfig = kubeconfig(directory.path(), port.address());
    let process = start(directory.path(), &kubeconfig, &["--certificates", "self-managed"]);
    until("it is said", async || {
        let ready = ready(&process).await;
        ready.contains("[-] etcds: can't list etcds.druid.gardener.cloud: ")
            && ready.contains("[-] certificate-authority: can't get secrets \"etcd-warden-ca\"")
    })
    .await;
    assert_eq!(client::plain(process.probes, "/livez").await.status, 200);
    let api = port.listen();
    install(&api);
    until("it recovers", async || ready(&process).await.ends_with("\nready\n")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_new_cluster_gets_is_a_server_that_it_trusts() {
    let (directory, port) = (tempfile::tempdir().unwrap(), Reserved::new());
    let kubeconfig = kubeconfig(directory.path(), port.address());
    let api = port.listen();
    install(&api);
    let mut process = start(directory.path(), &kubeconfig, &["--certificates", "self-managed"]);
    until("it is ready", async || ready(&process).await.ends_with("\nready\n")).await;
    let holder = || api.get(LEASE).unwrap()["spec"]["holderIdentity"].as_str().unwrap().to_owned();
    assert_ne!(holder(), "");
    let bundle = &api.get(VALIDATING).unwrap()["webhooks"][0]["clientConfig"]["caBundle"];
    assert_eq!(*bundle, api.get(MUTATING).unwrap()["webhooks"][0]["clientConfig"]["caBundle"]);
    assert_eq!(*bundle, api.get(SECRET).unwrap()["data"]["ca.crt"]);
    let ca = directory.path().join("bundle.crt");
    std::fs::write(&ca, decoded(bundle)).unwrap();
    let options = Options { name: "etcd-warden.warden.svc", ..Options::new(&ca) };
    let mut connection = options.connect(process.https).await.unwrap();
    assert!(connection.post("/validate", &super::support::accepted()).await.unwrap().allowed());
    process.signal(Signal::TERM);
    assert!(process.status().success());
    assert_eq!(holder(), "", "the lease is given back");
}

fn decoded(text: &Value) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text.as_str().unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn scales_are_judged_by_what_is_stored() {
    let (directory, port) = (tempfile::tempdir().unwrap(), Reserved::new());
    let kubeconfig = kubeconfig(directory.path(), port.address());
    let api = port.listen();
    // Odd objects don't stand in the way.
    api.put(&format!("{ETCDS}/odd"), json!({"metadata": {"name": "odd", "namespace": 3}, "spec": "none"}));
    api.put(&format!("{ETCDS}/main"), etcd(0));
    let process = start(directory.path(), &kubeconfig, &[]);
    until("it is ready", async || ready(&process).await.contains("[+] etcds: ok")).await;
    let refused = judged(&process, &scale(&api, 0, 1)).await;
    assert_eq!(refused["auditAnnotations"]["rules"], "advertise-peer-urls", "{refused}");
    assert_eq!(judged(&process, &scale(&api, 0, 3)).await["allowed"], true);
    // The watch goes on after an odd event.
    api.put(&format!("{ETCDS}/odd"), json!({"metadata": {"name": {}}, "status": []}));
    let mut changed = etcd(0);
    changed["spec"]["etcd"] = json!({});
    api.put(&format!("{ETCDS}/main"), changed);
    until("the change is seen", async || judged(&process, &scale(&api, 0, 1)).await["allowed"] == true).await;
    api.delete(&format!("{ETCDS}/main"));
    until("the deletion is seen", async || {
        let status = &judged(&process, &scale(&api, 0, 1)).await["status"];
        status["code"] == 503 && status["details"]["retryAfterSeconds"] == 1
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn etcds_that_may_not_be_listed_are_named_in_readiness() {
    let (directory, port) = (tempfile::tempdir().unwrap(), Reserved::new());
    let kubeconfig = kubeconfig(directory.path(), port.address());
    let api = port.listen();
    api.forbid("list", "etcds");
    let process = start(directory.path(), &kubeconfig, &[]);
    until("it is said", async || {
        ready(&process).await.contains("[-] etcds: can't list etcds.druid.gardener.cloud: no permission")
    })
    .await;
    let status = &judged(&process, &scale(&api, 3, 5)).await["status"];
    assert_eq!(status["reason"], "ServiceUnavailable", "{status}");
    api.allow_all();
    until("it recovers", async || ready(&process).await.contains("[+] etcds: ok")).await;
}
