//! From an empty cluster to a server that judges, through a roll-out, and out again: the image, the manifests and the
//! self-managed certificates as an administrator meets them.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::harness::{Bed, Output, eventually, fixture};

const SOON: Duration = Duration::from_mins(2);

/// Some 50 creates a second.
const BETWEEN_CREATES: Duration = Duration::from_millis(20);

/// What is promised of a `caBundle` that somebody overwrites.
const REPAIR: Duration = Duration::from_secs(10);

/// What a schema can't see.
const BROKEN: &str = "rejected-below-localhost";
const SOUND: &str = "accepted-names-that-contain-localhost";

/// The image that `tests/image` has built.
fn image() -> Option<PathBuf> {
    let image = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/image/etcd-warden.tar");
    let required = std::env::var("ETCD_WARDEN_BED").is_ok_and(|value| value == "required");
    assert!(image.exists() || !required, "no image: tests/image builds it");
    if !image.exists() {
        writeln!(std::io::stderr(), "skipped: an installation: tests/image builds the image").unwrap();
    }
    image.exists().then_some(image)
}

fn kustomize(bed: &Bed, verb: &str, folder: &str) {
    let folder = format!("{}/manifests/{folder}", env!("CARGO_MANIFEST_DIR"));
    bed.kubectl(&[verb, "--kustomize", &folder]).ok();
}

fn rolled_out(bed: &Bed) {
    let status = ["--namespace=etcd-warden", "rollout", "status", "deployment/etcd-warden", "--timeout=1s"];
    eventually(SOON, "the server is rolled out", || bed.kubectl(&status).attempt());
}

/// Tries to create an Etcd, without a trace.
fn create(bed: &Bed, name: &str) -> Output {
    let object = fixture(&format!("bootstrap-peer-url-host/{name}.json")).to_string();
    bed.kubectl_with(&["create", "--dry-run=server", "--filename", "-"], &object)
}

fn bundle(bed: &Bed) -> String {
    let path = "--output=jsonpath={.webhooks[0].clientConfig.caBundle}";
    bed.kubectl(&["get", "validatingwebhookconfiguration", "etcd-warden", path]).ok()
}

#[test]
fn from_an_empty_cluster_to_a_judge_and_out_again() {
    let Some(image) = image() else { return };
    let Some(bed) = Bed::start() else { return };
    bed.load(&image);
    kustomize(&bed, "apply", "crd");
    kustomize(&bed, "apply", "standalone");
    rolled_out(&bed);
    eventually(SOON, "a broken Etcd is refused by its rule", || {
        let said = create(&bed, BROKEN).stderr;
        if said.contains("[bootstrap-peer-url-host]") { Ok(()) } else { Err(said) }
    });
    create(&bed, SOUND).ok();
    // Applying it again neither takes the bundle away nor the CA.
    let before = bundle(&bed);
    kustomize(&bed, "apply", "standalone");
    assert_eq!(bundle(&bed), before);

    no_create_fails_while_servers_are_replaced(&bed);
    an_overwritten_bundle_is_put_right(&bed, &before);
    nothing_that_calls_us_is_left(&bed);
}

/// A roll-out, then a deleted pod.
fn no_create_fails_while_servers_are_replaced(bed: &Bed) {
    let (over, api) = (AtomicBool::new(false), bed.api());
    let path = "/apis/druid.gardener.cloud/v1alpha1/namespaces/default/etcds?dryRun=All";
    let object = fixture(&format!("bootstrap-peer-url-host/{SOUND}.json"));
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut created = 0;
            while !over.load(Ordering::Relaxed) {
                api.post(path, &object).ok();
                created += 1;
                thread::sleep(BETWEEN_CREATES);
            }
            created
        });
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            bed.kubectl(&["--namespace=etcd-warden", "rollout", "restart", "deployment/etcd-warden"]).ok();
            rolled_out(bed);
            gone(bed, 2);
            let pods = ["--namespace=etcd-warden", "get", "pods", "--output=name"];
            let pods = bed.kubectl(&pods).ok();
            bed.kubectl(&["--namespace=etcd-warden", "delete", pods.lines().next().unwrap()]).ok();
            rolled_out(bed);
        }));
        over.store(true, Ordering::Relaxed);
        let created = writer.join().unwrap();
        done.unwrap();
        assert!(created > 100, "only {created} creates were tried");
    });
}

/// Waits until no more than so many pods are left.
fn gone(bed: &Bed, pods: usize) {
    eventually(SOON, "the old pods are gone", || {
        let left = bed.kubectl(&["--namespace=etcd-warden", "get", "pods", "--output=name"]).ok();
        if left.lines().count() <= pods { Ok(()) } else { Err(left) }
    });
}

fn an_overwritten_bundle_is_put_right(bed: &Bed, right: &str) {
    let wrong = r#"[{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]"#;
    let patch = ["patch", "validatingwebhookconfiguration", "etcd-warden", "--type=json", "--patch", wrong];
    bed.kubectl(&patch).ok();
    eventually(REPAIR, "the bundle is put right", || bundle(bed) == right);
}

fn nothing_that_calls_us_is_left(bed: &Bed) {
    kustomize(bed, "delete", "standalone");
    let kinds = "validatingwebhookconfigurations,mutatingwebhookconfigurations";
    let left = bed.kubectl(&["get", kinds, "--output=name"]).ok();
    assert!(!left.contains("etcd-warden"), "{left}");
    eventually(SOON, "Etcds are written without a judge", || create(bed, BROKEN).attempt());
}
