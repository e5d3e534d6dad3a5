//! The product from an empty cluster to its removal, as administrators install it.

use std::io::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::api::Api;
use crate::harness::installed::{HOME, manifests, with_image};
use crate::harness::{Bed, Installed, Namespace, Options, eventually, fixture};

const ETCD: &str = include_str!("../manifests/etcd.yaml");

/// A removal waits until the servers have drained.
const REMOVED: Duration = Duration::from_mins(2);

const SOON: Duration = Duration::from_secs(30);

/// The kinds of what the manifests install that is in no namespace.
const CLUSTER_WIDE: &str = "namespaces,validatingwebhookconfigurations,mutatingwebhookconfigurations,\
                            validatingadmissionpolicies,validatingadmissionpolicybindings,clusterroles,\
                            clusterrolebindings";

#[test]
fn from_an_empty_cluster_to_the_first_verdicts_and_to_nothing_left() {
    let Some(bed) = with_image(&Options::default()) else { return };
    let installed = Installed::on(bed, &manifests("standalone"));
    let bed = &installed.bed;
    let shop = installed.namespace();
    // Etcds that others run, and that the server knows nothing of.
    shop.apply(ETCD);

    let start = Instant::now();
    installed.apply("crd");
    installed.apply("standalone");
    installed.refuses();
    writeln!(std::io::stderr(), "first refusal {:.1?} after the first apply", start.elapsed()).unwrap();
    create(&shop, "sound");
    installed.rolled_out();

    what_is_applied_again_stays(&installed);
    pods_of_the_namespace_are_restricted(&installed);
    the_server_s_own_token_opens_nothing_else(&installed);

    shop.rolled_out("statefulset/etcd");
    let served = serving(&shop);
    remove(bed, "standalone");
    nothing_calls_us(bed);
    writes_pass(&shop);
    assert_eq!(serving(&shop), served, "the cluster that others run has not been touched");

    servers_first_and_then_their_registration(&installed, &shop);
    the_namespace_first_with_an_etcd_in_it(&installed, &shop);
    assert!(bed.kubectl(&["get", "customresourcedefinition", "etcds.druid.gardener.cloud"]).status.success());
    shop.kubectl(&["get", "etcd", "sound"]).ok();
}

fn create(shop: &Namespace<'_>, name: &str) {
    let mut etcd = fixture("bootstrap-members/accepted-one-member.json");
    etcd["metadata"]["name"] = json!(name);
    shop.apply(&etcd.to_string());
}

/// An upgrade begins so: what the servers have filled in stays, and kubectl has nothing to say about it.
fn what_is_applied_again_stays(installed: &Installed) {
    let filled_in = || {
        let secret =
            installed.kubectl(&["get", "secret", "etcd-warden-ca", "--output=jsonpath={.data}"]).ok();
        let registration = installed.registration("validatingwebhookconfiguration");
        (secret, registration["webhooks"].clone())
    };
    let before = filled_in();
    assert!(before.0.contains("ca.key"), "the CA's Secret is empty");
    let again = installed.bed.kubectl(&["apply", "--kustomize", &manifests("standalone")]);
    assert_eq!(again.stderr, "");
    again.ok();
    assert_eq!(filled_in(), before);
}

fn pods_of_the_namespace_are_restricted(installed: &Installed) {
    let said = installed.kubectl(&["run", "other", "--image=docker.io/local/etcd:3.6"]).refused();
    assert!(said.contains("violates PodSecurity \"restricted:latest\""), "{said}");
}

/// Method and path of what a thief would ask for.
const FORBIDDEN: [(&str, &str); 25] = [
    ("GET", "/api/v1/namespaces/etcd-warden/secrets"),
    ("POST", "/api/v1/namespaces/etcd-warden/secrets"),
    ("GET", "/api/v1/namespaces/etcd-warden/secrets/another"),
    ("DELETE", "/api/v1/namespaces/etcd-warden/secrets/etcd-warden-ca"),
    ("GET", "/api/v1/namespaces/kube-system/secrets/etcd-warden-ca"),
    ("GET", "/api/v1/secrets"),
    ("POST", "/api/v1/namespaces/etcd-warden/serviceaccounts/etcd-warden/token"),
    ("POST", "/api/v1/namespaces/etcd-warden/pods"),
    ("POST", "/api/v1/namespaces/kube-system/pods/another/exec"),
    ("PUT", "/api/v1/namespaces/kube-system/pods/another"),
    ("DELETE", "/api/v1/namespaces/default/persistentvolumeclaims/another"),
    ("POST", "/apis/apps/v1/namespaces/kube-system/daemonsets"),
    ("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"),
    ("GET", "/api/v1/nodes"),
    ("POST", "/apis/coordination.k8s.io/v1/namespaces/etcd-warden/leases"),
    ("PUT", "/apis/coordination.k8s.io/v1/namespaces/etcd-warden/leases/another"),
    ("PATCH", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/another"),
    ("PUT", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/etcd-warden"),
    ("DELETE", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/etcd-warden"),
    ("POST", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"),
    ("POST", "/apis/druid.gardener.cloud/v1alpha1/namespaces/default/etcds"),
    ("PUT", "/apis/druid.gardener.cloud/v1alpha1/namespaces/default/etcds/sound"),
    ("DELETE", "/apis/druid.gardener.cloud/v1alpha1/namespaces/default/etcds/sound"),
    ("PUT", "/apis/events.k8s.io/v1/namespaces/default/events/another"),
    ("PATCH", "/apis/rbac.authorization.k8s.io/v1/clusterroles/etcd-warden"),
];

const NEEDED: [&str; 8] = [
    "/api/v1/namespaces/etcd-warden/secrets/etcd-warden-ca",
    "/apis/coordination.k8s.io/v1/namespaces/etcd-warden/leases/etcd-warden",
    "/apis/coordination.k8s.io/v1/namespaces/etcd-warden/leases/etcd-warden-loop",
    "/apis/apps/v1/statefulsets",
    "/api/v1/pods",
    "/apis/druid.gardener.cloud/v1alpha1/etcds",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/etcd-warden",
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/etcd-warden",
];

fn the_server_s_own_token_opens_nothing_else(installed: &Installed) {
    let token = installed.kubectl(&["create", "token", "etcd-warden"]).ok();
    let thief = Api::with_token(installed.bed.kubeconfig(), token.trim());
    for path in NEEDED {
        thief.get(path).ok();
    }
    for (method, path) in FORBIDDEN {
        let body = json!({});
        let content = match method {
            "PATCH" => crate::harness::api::Content::MergePatch,
            _ => crate::harness::api::Content::Object,
        };
        let body = (method != "GET").then_some((&body, content));
        let answer = thief.request(method, path, body, &Value::Null);
        assert_eq!(answer.code, 403, "{method} {path}: {}", answer.body);
    }
}

/// Reads and writes through the cluster that others run; what tells its processes apart.
fn serving(shop: &Namespace<'_>) -> String {
    let etcdctl = |arguments: &[&str]| {
        shop.exec("etcd-0", &[&["etcdctl", "--endpoints=etcd-client:2379"], arguments].concat())
    };
    eventually(SOON, "the cluster that others run serves", || {
        etcdctl(&["put", "color", "blue"]).attempt()?;
        etcdctl(&["get", "color"]).attempt()
    });
    let started = "--output=jsonpath={range .items[*]}{.metadata.uid} {.status.containerStatuses[*].restartCount} {end}";
    shop.kubectl(&["get", "pods", "--selector=app=etcd", started]).ok()
}

#[track_caller]
fn remove(bed: &Bed, folder: &str) {
    bed.kubectl(&["delete", "--kustomize", &manifests(folder), "--ignore-not-found", "--timeout=120s"]).ok();
}

fn nothing_calls_us(bed: &Bed) {
    let left = bed.kubectl(&["get", CLUSTER_WIDE, "--output=name"]).ok();
    let ours: Vec<&str> = left.lines().filter(|name| name.contains("etcd-warden")).collect();
    assert!(ours.is_empty(), "{ours:?}");
    let roles = bed.kubectl(&["get", "roles,rolebindings", "--all-namespaces", "--output=name"]).ok();
    assert!(!roles.contains("etcd-warden"), "{roles}");
}

/// Nobody judges any more: also what breaks a rule is written.
fn writes_pass(shop: &Namespace<'_>) {
    let mut broken = fixture("bootstrap-peer-url-host/rejected-below-localhost.json");
    broken["metadata"]["name"] = json!("unjudged");
    eventually(SOON, "the API server has heard that it needn't ask", || {
        shop.kubectl_with(&["apply", "--filename", "-"], &broken.to_string()).attempt()
    });
    shop.kubectl(&["annotate", "--overwrite", "etcd", "sound", "note=written"]).ok();
    shop.kubectl(&["delete", "etcd", "unjudged"]).ok();
}

fn servers_first_and_then_their_registration(installed: &Installed, shop: &Namespace<'_>) {
    installed.apply("standalone");
    installed.judges();
    installed.kubectl(&["delete", "deployment", "etcd-warden", "--cascade=foreground"]).ok();
    let said = shop.kubectl(&["delete", "etcd", "sound"]).refused();
    assert!(said.contains("failed calling webhook \"validate.etcd-warden.dev\""), "{said}");
    remove(&installed.bed, "standalone");
    nothing_calls_us(&installed.bed);
    writes_pass(shop);
}

/// The Etcd goes with its namespace, and nobody is left who could allow it.
fn the_namespace_first_with_an_etcd_in_it(installed: &Installed, shop: &Namespace<'_>) {
    installed.apply("standalone");
    installed.judges();
    let mut etcd = fixture("bootstrap-members/accepted-one-member.json");
    etcd["metadata"]["name"] = json!("misplaced");
    let create = ["--namespace", HOME, "create", "--filename", "-"];
    installed.bed.kubectl_with(&create, &etcd.to_string()).ok();
    installed.bed.kubectl(&["delete", "namespace", HOME, "--wait=false"]).ok();
    eventually(REMOVED, "the servers are gone", || installed.pods().is_empty());
    remove(&installed.bed, "standalone");
    // What the loop has made real waits for a loop, or for this.
    let free = r#"--patch={"metadata":{"finalizers":null}}"#;
    installed.kubectl(&["patch", "etcd", "misplaced", "--type=merge", free]);
    eventually(REMOVED, "the namespace is gone", || {
        installed.bed.kubectl(&["get", "namespace", HOME]).stderr.contains("NotFound")
    });
    nothing_calls_us(&installed.bed);
    writes_pass(shop);
}
