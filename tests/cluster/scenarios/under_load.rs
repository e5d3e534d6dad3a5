//! What is done to a server that works, under 50 creations a second through the API server, of which none may fail.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::installed::HOME;
use crate::harness::{Installed, Load, eventually, is_long};

/// The longest that a replaced server takes to be gone: its pods' `terminationGracePeriodSeconds` and some.
const GONE: Duration = Duration::from_mins(1);

/// Lives of seconds, so that rotations come one after the other; a leaf is renewed two seconds before its end, which a busy
/// machine keeps.
const SHORT_LIVES: [&str; 1] = ["ETCD_WARDEN_LEAF_LIFETIME=6s"];

/// A CA that settles within seconds. A leaf has to outlive that: without a CA that signs it isn't renewed.
const SETTLES_SOON: [&str; 2] = ["ETCD_WARDEN_LEAF_LIFETIME=60s", "ETCD_WARDEN_CA_SETTLE_TIME=5s"];

#[test]
fn no_creation_fails_whatever_is_done_to_the_servers() {
    let Some(installed) = Installed::shared() else { return };
    under_load(installed, "a rolling update", || installed.set(&SETTLES_SOON));
    under_load(installed, "a rotation of the CA", || a_new_ca(installed));
    under_load(installed, "a pod deleted by force", || {
        let pods = installed.pods();
        installed.kubectl(&["delete", "pod", &pods[0], "--grace-period=0", "--force"]).ok();
        replaced(installed, &pods[..1]);
    });
    under_load(installed, "both evicted one after the other", || both_evicted(installed));
    under_load(installed, "a drained node", || a_drained_node(installed));
    installed.set(&SHORT_LIVES);
    let rotations = if is_long() { 50 } else { 5 };
    under_load(installed, &format!("{rotations} rotations of each leaf"), || {
        leaves_rotated(installed, rotations);
    });
}

/// Does it under load.
#[track_caller]
fn under_load(installed: &Installed, what: &str, act: impl FnOnce()) {
    let shop = installed.namespace();
    let load = Load::on(&shop);
    act();
    load.ended().said(what).nothing_failed();
}

/// Waits until none of these pods is there, and two others are ready.
fn replaced(installed: &Installed, pods: &[String]) {
    eventually(GONE, "the pods are gone", || {
        let left: Vec<_> = installed.pods().into_iter().filter(|pod| pods.contains(pod)).collect();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    });
    installed.rolled_out();
}

fn both_evicted(installed: &Installed) {
    let pods = installed.pods();
    let [first, second] = &pods[..] else { panic!("{pods:?}") };
    let api = installed.bed.api();
    let evict = |pod: &str| {
        let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": HOME}});
        api.request(
            "POST",
            &format!("/api/v1/namespaces/{HOME}/pods/{pod}/eviction"),
            Some((&eviction, crate::harness::api::Content::Object)),
            &Value::Null,
        )
    };
    evict(first).ok();
    // What `kubectl drain` does, too: it asks until the disruption budget lets the second one go.
    eventually(GONE, "the second may go", || {
        let answer = evict(second);
        if answer.is_ok() { Ok(()) } else { Err(answer.message().to_owned()) }
    });
    replaced(installed, &pods);
}

fn a_drained_node(installed: &Installed) {
    let bed = &installed.bed;
    let on_it = "--field-selector=spec.nodeName=node-2";
    bed.kubectl(&["drain", "node-2", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=90s"]).ok();
    installed.rolled_out();
    assert_eq!(installed.kubectl(&["get", "pods", on_it, "--output=name"]).ok(), "");
    bed.kubectl(&["uncordon", "node-2"]).ok();
}

fn leaves_rotated(installed: &Installed, rotations: u32) {
    let pods = installed.pods();
    let signed = || -> Vec<f64> {
        let of = |pod: &String| installed.metric(pod, "etcd_warden_leaves_total").unwrap_or_default();
        pods.iter().map(of).collect()
    };
    let before = signed();
    let patience = Duration::from_secs(30) + Duration::from_secs(6) * rotations;
    eventually(patience, "the leaves were rotated often enough", || {
        let since: Vec<f64> = signed().iter().zip(&before).map(|(now, before)| now - before).collect();
        let enough = since.iter().all(|since| *since >= f64::from(rotations));
        if enough { Ok(()) } else { Err(format!("{since:?} times")) }
    });
}

/// As the documentation has it: the Secret is emptied, and when all servers sign by the new CA, the old one is no
/// longer trusted. In between the API server calls with the bundle that it has at hand.
fn a_new_ca(installed: &Installed) {
    let bundle = |kind: &str| {
        let bundle = &installed.registration(kind)["webhooks"][0]["clientConfig"]["caBundle"];
        certificates(bundle.as_str().unwrap())
    };
    let (validating, mutating) = ("validatingwebhookconfiguration", "mutatingwebhookconfiguration");
    let old = bundle(validating);
    assert_eq!(old.len(), 1);
    let remove = |path: &str| {
        let patch = json!([{"op": "remove", "path": path}]).to_string();
        installed.kubectl(&["patch", "secret", "etcd-warden-ca", "--type=json", "--patch", &patch]).ok();
    };
    let (start, before) = (Instant::now(), ends_of_authorities(installed));
    remove("/data");
    let both = eventually(GONE, "old and new CA are trusted", || {
        let both = bundle(validating);
        if both.len() == 2 && bundle(mutating) == both { Ok(both) } else { Err(format!("{both:?}")) }
    });
    assert!(both.contains(&old[0]), "the old CA is trusted further on");
    let key = ["get", "secret", "etcd-warden-ca", "--output=jsonpath={.data.ca\\.key}"];
    eventually(GONE, "the new CA signs", || !installed.kubectl(&key).ok().is_empty());
    assert!(start.elapsed() >= Duration::from_secs(5), "it has stood in the bundles before");
    eventually(GONE, "all servers' certificates are from the new CA", || {
        let ends = ends_of_authorities(installed);
        if ends.iter().all(|end| end.is_some() && !before.contains(end)) {
            Ok(())
        } else {
            Err(format!("{ends:?}"))
        }
    });
    remove("/data/previous.crt");
    eventually(GONE, "the new CA alone is trusted", || {
        let new = bundle(validating);
        let alone = new.len() == 1 && new != old && bundle(mutating) == new;
        if alone { Ok(()) } else { Err(format!("{new:?}")) }
    });
}

/// When the CA that has signed a server's certificate ends, of all servers.
fn ends_of_authorities(installed: &Installed) -> Vec<Option<f64>> {
    installed.pods().iter().map(|pod| installed.metric(pod, "etcd_warden_ca_not_after_seconds")).collect()
}

/// The certificates of a bundle, each as text.
fn certificates(bundle: &str) -> Vec<String> {
    use base64::Engine as _;
    let pem = base64::prelude::BASE64_STANDARD.decode(bundle).unwrap();
    let pem = String::from_utf8(pem).unwrap();
    let begun = pem.split("-----BEGIN CERTIFICATE-----").skip(1);
    begun.map(|rest| rest.split("-----END").next().unwrap().trim().to_owned()).collect()
}
