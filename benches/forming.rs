//! A cluster of three is formed: by an Etcd, and beside it by a plain StatefulSet with a static configuration.
//!
//! `cargo bench --bench forming` prints for both, counted from the moment when all pods are there, when their etcd
//! containers ran and when every member said that it is healthy, and the ratio of the whole. It needs what the scenarios on
//! clusters need: root, `tests/cluster/bed build`, and the image that `manifests/image/build` makes.
#![allow(
    missing_docs,
    unreachable_pub,
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark"
)]
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::print_stdout, reason = "a benchmark")]
// The harness is that of tests.
#![allow(unused_imports, clippy::print_stderr, clippy::explicit_write, reason = "a benchmark")]

use std::time::{Duration, Instant};

use serde_json::{Value, json};

#[path = "../tests/cluster/harness/mod.rs"]
mod harness;
#[path = "../tests/support/mod.rs"]
mod support;

use harness::api::Api;
use harness::{Etcd, IMAGE_3_6, Installed, Namespace, eventually, spec};

const RUNS: usize = 5;
const SOON: Duration = Duration::from_mins(2);
/// How much longer an Etcd may take: the agent comes first, and then the word is waited for.
const RATIO_MAX: f64 = 1.3;
const WORD_MAX: f64 = 2.0;

/// Seconds since the pods were there.
#[derive(Clone, Copy)]
struct Times {
    running: f64,
    healthy: f64,
}

fn main() {
    let Some(installed) = Installed::start_looping() else { return };
    // The images' first start is nobody's.
    plain(&installed);
    by_etcd(&installed);
    let mut runs: Vec<(f64, f64)> = (1..=RUNS)
        .map(|run| {
            let (plain, etcd) = (plain(&installed), by_etcd(&installed));
            println!("run {run}: StatefulSet {}; Etcd {}", shown(plain), shown(etcd));
            (etcd.healthy / plain.healthy, plain.healthy.mul_add(-RATIO_MAX, etcd.healthy))
        })
        .collect();
    runs.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (ratio, beyond) = runs[RUNS / 2];
    println!("median: Etcd ÷ StatefulSet {ratio:.2}; beyond {RATIO_MAX} × StatefulSet: {beyond:.1} s");
    assert!(beyond <= WORD_MAX, "that is more than the {WORD_MAX} s that the word may take");
}

fn shown(times: Times) -> String {
    format!("runs after {:.1} s, is healthy after {:.1} s", times.running, times.healthy)
}

fn by_etcd(installed: &Installed) -> Times {
    let shop = installed.namespace();
    let etcd = Etcd::create(&shop, "main", &spec(3, IMAGE_3_6));
    let times = measured(&shop);
    etcd.delete();
    etcd.until_gone();
    times
}

fn plain(installed: &Installed) -> Times {
    let shop = installed.namespace();
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "main"},
        "spec": {"clusterIP": "None", "publishNotReadyAddresses": true, "selector": {"app": "plain"}},
    });
    shop.apply(&service.to_string());
    shop.apply(&stateful_set().to_string());
    let times = measured(&shop);
    shop.kubectl(&["delete", "statefulset", "main", "--cascade=foreground"]).ok();
    times
}

fn stateful_set() -> Value {
    let all: Vec<String> =
        (0..3).map(|ordinal| format!("main-{ordinal}=http://main-{ordinal}.main:2380")).collect();
    let script = format!(
        "exec etcd --name=$HOSTNAME --data-dir=/data/new --listen-client-urls=http://0.0.0.0:2379 \
         --advertise-client-urls=http://$HOSTNAME.main:2379 --listen-peer-urls=http://0.0.0.0:2380 \
         --initial-advertise-peer-urls=http://$HOSTNAME.main:2380 --listen-metrics-urls=http://0.0.0.0:2381 \
         --initial-cluster={}",
        all.join(",")
    );
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "main"},
        "spec": {
            "replicas": 3, "serviceName": "main", "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"app": "plain"}},
            "template": {
                "metadata": {"labels": {"app": "plain"}},
                "spec": {
                    "enableServiceLinks": false, "terminationGracePeriodSeconds": 2,
                    "containers": [{
                        "name": "etcd", "image": IMAGE_3_6, "imagePullPolicy": "IfNotPresent",
                        "command": ["sh", "-c", script],
                        "resources": {"requests": {"cpu": "1m", "memory": "16Mi"}},
                        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                    }],
                },
            },
            "volumeClaimTemplates": [{
                "metadata": {"name": "data"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "64Mi"}}},
            }],
        },
    })
}

fn measured(shop: &Namespace<'_>) -> Times {
    let api = shop.bed.api();
    let all = |holds: &dyn Fn(u32) -> bool| {
        eventually(SOON, "it is so of every member", || (0..3).all(holds));
        Instant::now()
    };
    let there = all(&|ordinal| !pod(&api, shop, ordinal).is_null());
    let running = all(&|ordinal| runs(&pod(&api, shop, ordinal)));
    let healthy = all(&|ordinal| is_healthy(&api, shop, ordinal));
    let since = |moment: Instant| moment.duration_since(there).as_secs_f64();
    Times { running: since(running), healthy: since(healthy) }
}

fn pod(api: &Api, shop: &Namespace<'_>, ordinal: u32) -> Value {
    let answer = api.get(&format!("/api/v1/namespaces/{}/pods/main-{ordinal}", shop.name));
    if answer.is_ok() { answer.body } else { Value::Null }
}

fn runs(pod: &Value) -> bool {
    pod["status"]["containerStatuses"][0]["state"]["running"].is_object()
}

/// As etcd says of itself: it has a leader, and a read through the leader's log is answered.
fn is_healthy(api: &Api, shop: &Namespace<'_>, ordinal: u32) -> bool {
    let path = format!("/api/v1/namespaces/{}/pods/main-{ordinal}:2381/proxy/health", shop.name);
    api.get(&path).body["health"] == "true"
}
