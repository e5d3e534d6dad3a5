//! The beds run what a cluster runs.

use std::process::Command;
use std::time::Duration;

use crate::harness::{Bed, Options, Output, eventually};

const WEB: &str = include_str!("../manifests/web.yaml");
const ETCD: &str = include_str!("../manifests/etcd.yaml");
const SOON: Duration = Duration::from_secs(30);

#[test]
fn a_pod_runs_and_its_service_resolves_and_answers() {
    let Some(bed) = Bed::shared() else { return };
    let shop = bed.namespace();
    shop.apply(WEB);
    shop.ready("pod/web");
    shop.ready("pod/client");
    let page = eventually(SOON, "the Service answers by its name", || {
        shop.exec("client", &["wget", "-q", "-O", "-", "http://web"]).attempt()
    });
    assert_eq!(page, "here I am\n");
    assert_eq!(shop.kubectl(&["logs", "web"]).ok(), "serving\n");
    // At once: what is outside the cluster doesn't exist.
    let unknown = shop.exec("client", &["nslookup", "web.elsewhere"]);
    assert!(unknown.stdout.contains("NXDOMAIN"), "{unknown:?}");
}

#[test]
fn three_members_of_etcd_form_a_cluster_on_claims_of_their_own() {
    let Some(bed) = Bed::shared() else { return };
    let shop = bed.namespace();
    shop.apply(ETCD);
    shop.rolled_out("statefulset/etcd");
    let etcdctl = |arguments: &[&str]| {
        shop.exec("etcd-0", &[&["etcdctl", "--endpoints=etcd-client:2379"], arguments].concat())
    };
    let health = eventually(SOON, "all members are healthy through the Service", || {
        etcdctl(&["endpoint", "health", "--cluster", "--write-out=json"]).attempt()
    });
    assert_eq!(health.matches("\"health\":true").count(), 3, "{health}");

    etcdctl(&["put", "color", "blue"]).ok();
    let started = shop.kubectl(&["get", "pod", "etcd-1", "--output=jsonpath={.metadata.uid}"]).ok();
    shop.kubectl(&["delete", "pod", "etcd-1"]).ok();
    eventually(SOON, "another pod takes the member's place", || {
        let uid = shop.kubectl(&["get", "pod", "etcd-1", "--output=jsonpath={.metadata.uid}"]).attempt()?;
        if uid == started { Err(uid) } else { Ok(()) }
    });
    shop.rolled_out("statefulset/etcd");
    let kept = shop.exec("etcd-1", &["etcdctl", "get", "color", "--print-value-only"]).ok();
    assert_eq!(kept, "blue\n");
}

#[test]
fn a_drained_node_gives_its_members_to_the_other_with_their_data() {
    let Some(bed) = Bed::with(&Options { two_nodes: true, ..Options::default() }) else { return };
    let shop = bed.namespace();
    shop.apply(ETCD);
    shop.rolled_out("statefulset/etcd");
    shop.exec("etcd-0", &["etcdctl", "put", "color", "blue"]).ok();
    let nodes = || shop.kubectl(&["get", "pods", "--output=jsonpath={.items[*].spec.nodeName}"]).ok();
    let spread = nodes();
    assert!(spread.contains("node-1") && spread.contains("node-2"), "{spread}");

    bed.kubectl(&["drain", "node-2", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=60s"]).ok();
    shop.rolled_out("statefulset/etcd");
    assert_eq!(nodes(), "node-1 node-1 node-1");
    let kept = shop.exec("etcd-2", &["etcdctl", "get", "color", "--print-value-only"]).ok();
    assert_eq!(kept, "blue\n");
}

#[test]
fn an_image_of_a_scenario_s_own_runs() {
    let Some(bed) = Bed::shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image.tar");
    let mut make = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cluster/lib/image"));
    make.arg(&image).args(["docker.io/local/own:1", "--busybox", "/bin/busybox"]);
    Output::of(&mut make, "").ok();
    bed.load(&image);
    let shop = bed.namespace();
    let run = ["run", "own", "--image=docker.io/local/own:1", "--image-pull-policy=Never", "--restart=Never"];
    shop.kubectl(&[&run[..], &["--", "ls", "/bin/busybox"]].concat()).ok();
    let said = eventually(SOON, "the pod has said where its program is", || {
        shop.kubectl(&["logs", "own"])
            .attempt()
            .and_then(|said| if said.is_empty() { Err(said) } else { Ok(said) })
    });
    assert_eq!(said, "/bin/busybox\n");
}

#[test]
fn the_audit_log_counts_who_wrote_what() {
    let Some(bed) = Bed::shared() else { return };
    let shop = bed.namespace();
    let mark = bed.mark();
    shop.kubectl(&["create", "configmap", "color", "--from-literal=color=blue"]).ok();
    shop.kubectl(&["create", "configmap", "color"]).refused();
    shop.kubectl(&["get", "configmap", "color"]).ok();
    let writes = bed.writes_since(mark);
    let here =
        writes.iter().filter(|write| write.namespace() == shop.name && write.resource() == "configmaps");
    let seen: Vec<_> = here
        .filter(|write| write.user() == "admin")
        .map(|write| (write.verb.as_str(), write.name(), write.code()))
        .collect();
    assert_eq!(seen, [("create", "color", 201), ("create", "color", 409)]);
}
