//! The CA bundles of the registrations, and who spoils them.

use std::io::Write as _;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use crate::harness::{Installed, eventually, fixture};
use crate::support::client;
use crate::support::pem::Authority;

/// Within which an overwritten bundle is put right.
const MENDED: Duration = Duration::from_secs(10);

const SOON: Duration = Duration::from_secs(30);

const VALIDATING: &str = "validatingwebhookconfiguration";
const MUTATING: &str = "mutatingwebhookconfiguration";

#[test]
fn bundles_are_kept_right() {
    let Some(installed) = Installed::start() else { return };
    overwritten_by_hand(&installed);
    deleted_and_installed_anew(&installed);
    a_fight(&installed);
    without_the_right_to_patch(&installed);
    without_an_api_server(&installed);
}

fn bundle(installed: &Installed, kind: &str) -> String {
    let bundle = &installed.registration(kind)["webhooks"][0]["clientConfig"]["caBundle"];
    bundle.as_str().unwrap_or_default().to_owned()
}

/// Somebody trusts another CA.
fn overwrite(installed: &Installed, kind: &str, manager: &str) {
    let other = BASE64_STANDARD.encode(Authority::new("another").pem);
    let patch = json!([{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": other}]);
    let (manager, patch) = (format!("--field-manager={manager}"), patch.to_string());
    let patch = ["patch", kind, "etcd-warden", "--type=json", &manager, "--patch", &patch];
    installed.bed.kubectl(&patch).ok();
}

/// How long it takes until the bundle is again what it was.
#[track_caller]
fn mended(installed: &Installed, kind: &str, good: &str, deadline: Duration) -> Duration {
    let start = Instant::now();
    eventually(deadline, "the bundle is put right", || {
        let seen = bundle(installed, kind);
        if seen == good { Ok(()) } else { Err(seen) }
    });
    start.elapsed()
}

fn events(installed: &Installed) -> String {
    let about = "--field-selector=reason=CABundleOverwritten";
    let notes = "--output=jsonpath={range .items[*]}{.involvedObject.kind}: {.message}{\"\\n\"}{end}";
    installed.bed.kubectl(&["--namespace=default", "get", "events", about, notes]).ok()
}

#[track_caller]
fn an_event_says(installed: &Installed, parts: &[&str]) {
    eventually(SOON, "an event says who it was", || {
        let events = events(installed);
        let said = events.lines().any(|line| parts.iter().all(|part| line.contains(part)));
        if said { Ok(()) } else { Err(events) }
    });
}

fn overwritten_by_hand(installed: &Installed) {
    for (kind, name) in [(VALIDATING, "ValidatingWebhook"), (MUTATING, "MutatingWebhook")] {
        let good = bundle(installed, kind);
        overwrite(installed, kind, "kubectl-patch");
        let took = mended(installed, kind, &good, MENDED);
        writeln!(std::io::stderr(), "{kind}: caBundle put right after {took:.1?}").unwrap();
        an_event_says(installed, &[name, "\"kubectl-patch\"", "put right"]);
    }
    installed.judges();
}

fn deleted_and_installed_anew(installed: &Installed) {
    for kind in [VALIDATING, MUTATING] {
        installed.bed.kubectl(&["delete", kind, "etcd-warden"]).ok();
    }
    let pods = installed.pods();
    eventually(SOON, "a server says that it is missed", || {
        let said = verbose(installed, &pods).join("\n");
        let missed = said.contains("WebhookConfiguration \"etcd-warden\" is not there");
        if missed { Ok(()) } else { Err(said) }
    });
    for pod in &pods {
        installed.probe(pod, "/readyz").ok();
    }
    let before = events(installed).lines().count();
    installed.apply_again();
    installed.judges();
    assert_eq!(installed.pods(), pods, "no server had to be started anew");
    assert_eq!(events(installed).lines().count(), before, "nobody is blamed for a fresh registration");
}

/// What every server says of its conditions.
fn verbose(installed: &Installed, pods: &[String]) -> Vec<String> {
    pods.iter()
        .map(|pod| installed.probe(pod, "/readyz?verbose"))
        .map(|said| said.stdout + &said.stderr)
        .collect()
}

/// Of the configuration that holds nothing up.
fn a_fight(installed: &Installed) {
    let good = bundle(installed, MUTATING);
    let mut took = Vec::new();
    // Three at once in ten minutes, of which one may be behind us; the one after them waits for five seconds.
    while took.iter().all(|took| *took < Duration::from_secs(3)) {
        assert!(took.len() < 5, "no repair was held back: {took:?}");
        overwrite(installed, MUTATING, "some-gitops-tool");
        took.push(mended(installed, MUTATING, &good, SOON));
    }
    writeln!(std::io::stderr(), "a fight over caBundle: put right after {took:.1?}").unwrap();
    an_event_says(installed, &["MutatingWebhook", "\"some-gitops-tool\"", "again and again"]);
    overwrite(installed, MUTATING, "some-gitops-tool");
    eventually(SOON, "the server says that it is held back", || {
        let said = verbose(installed, &installed.pods()).join("\n");
        let held_back = said.contains("overwritten again and again") && said.contains("some-gitops-tool");
        if held_back { Ok(()) } else { Err(said) }
    });
    installed.refuses();
    mended(installed, MUTATING, &good, Duration::from_secs(40));
}

fn without_the_right_to_patch(installed: &Installed) {
    let verbs = json!([{"op": "replace", "path": "/rules/0/verbs", "value": ["get", "list", "watch"]}]);
    let role = ["patch", "clusterrole", "etcd-warden-certificates", "--type=json", "--patch"];
    installed.bed.kubectl(&[&role[..], &[&verbs.to_string()]].concat()).ok();
    let good = bundle(installed, VALIDATING);
    // The API server may still trust what it trusted, and asks for the old CA in any case.
    let both = BASE64_STANDARD.encode(
        [BASE64_STANDARD.decode(&good).unwrap(), Authority::new("another").pem.into_bytes()].concat(),
    );
    let patch =
        json!([{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": both}]).to_string();
    installed.bed.kubectl(&["patch", VALIDATING, "etcd-warden", "--type=json", "--patch", &patch]).ok();
    let parts = ["patch", "validatingwebhookconfigurations.admissionregistration.k8s.io", "\"etcd-warden\""];
    eventually(SOON, "readiness and log name verb, resource and name", || {
        let (said, logs) = (verbose(installed, &installed.pods()).join("\n"), installed.logs());
        let named = |text: &str| {
            text.lines().any(|line| parts.iter().all(|part| line.replace('\\', "").contains(part)))
        };
        if named(&said) && named(&logs) { Ok(()) } else { Err(said) }
    });
    for pod in installed.pods() {
        installed.probe(&pod, "/readyz").ok();
    }
    installed.refuses();
    installed.apply_again();
    mended(installed, VALIDATING, &good, SOON);
}

/// One server goes on; the other one, started without an API server, waits and needs no second start.
fn without_an_api_server(installed: &Installed) {
    let pods = installed.pods();
    let [goes_on, starts] = &pods[..] else { panic!("{pods:?}") };
    let address = |pod: &str| -> SocketAddr {
        let ip = installed.kubectl(&["get", "pod", pod, "--output=jsonpath={.status.podIP}"]).ok();
        format!("{ip}:8080").parse().unwrap()
    };
    let (goes_on_at, starts_at) = (address(goes_on), address(starts));
    let container = installed.container(starts);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let asked = |address: SocketAddr, path: &str| {
        let answer = client::try_plain(address, path);
        runtime.block_on(answer).map_err(|error| error.to_string())
    };

    installed.bed.stop("kube-apiserver");
    installed.bed.containerd(&["task", "kill", "--signal", "SIGKILL", &container]).ok();
    eventually(
        Duration::from_mins(1),
        "the kubelet has started it again, and it says what it waits for",
        || {
            let answer = asked(starts_at, "/readyz?verbose")?;
            let waits = answer.status == 503 && answer.body.contains("certificate");
            if waits { Ok(()) } else { Err(answer.body) }
        },
    );
    assert_eq!(asked(goes_on_at, "/readyz").unwrap().status, 200);
    installed.bed.start_again("kube-apiserver");
    installed.judges();
    let restarts = |pod: &str| {
        let count = "--output=jsonpath={.status.containerStatuses[0].restartCount}";
        installed.kubectl(&["get", "pod", pod, count]).ok()
    };
    // The kubelet has had nobody to tell.
    eventually(SOON, "the kubelet has reported the one restart", || match restarts(starts).as_str() {
        "1" => Ok(()),
        other => Err(other.to_owned()),
    });
    assert_eq!(restarts(goes_on), "0");
    let sound = fixture("bootstrap-members/accepted-one-member.json").to_string();
    let create = ["--namespace=default", "create", "--filename", "-"];
    installed.bed.kubectl_with(&create, &sound).ok();
}
