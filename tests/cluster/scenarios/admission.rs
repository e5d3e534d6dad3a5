//! The program as the API server's webhook: what kubectl's user sees.

use serde_json::{Value, json};

use super::fixtures::violation;
use crate::harness::{Bed, Namespace, Warden, fixture};

const BROKEN: &str = "bootstrap-members/rejected-members-and-endpoints-missing";

/// An Etcd that joins an existing cluster and breaks no rule.
pub(super) fn sound() -> Value {
    let mut object = fixture("bootstrap-members/accepted-one-member.json");
    object["metadata"]["name"] = json!("sound");
    object
}

/// The messages that a fixture's answer gives as causes.
fn causes(name: &str) -> Vec<String> {
    let path = format!("{}/fixtures/{name}.answer.json", env!("CARGO_MANIFEST_DIR"));
    let answer: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let causes = answer["response"]["status"]["details"]["causes"].as_array().unwrap();
    causes.iter().map(violation).collect()
}

/// The same on every API server.
fn keeps_broken_etcds_out(bed: &Bed) {
    bed.install_etcd_crd();
    let shop = bed.namespace();
    let _warden = Warden::judging(&shop, &[]);
    let mark = bed.mark();

    let create = |object: &Value| shop.kubectl_with(&["create", "--filename", "-"], &object.to_string());
    let said = create(&fixture(&format!("{BROKEN}.json"))).refused();
    let violations = causes(BROKEN);
    assert_eq!(violations.len(), 2);
    for violation in &violations {
        assert!(said.contains(violation), "{violation}\nisn't in\n{said}");
    }
    let refused: Vec<_> =
        bed.writes_since(mark).into_iter().filter(|write| write.resource() == "etcds").collect();
    assert_eq!(
        refused.iter().map(|write| (write.namespace(), write.code())).collect::<Vec<_>>(),
        [(shop.name.as_str(), 422)]
    );

    create(&sound()).ok();
    every_way_to_write_meets_the_rules(&shop, "[replicas-no-shrink]");
    the_status_subresource_meets_its_rules(&shop);
    deletion_meets_its_rules(&shop);
}

/// `shrinking` is the rule for which a smaller number of replicas is refused: without its Etcd, a Scale says less.
pub(super) fn every_way_to_write_meets_the_rules(shop: &Namespace<'_>, shrinking: &str) {
    let mut relabelled = sound();
    relabelled["spec"]["labels"]["tier"] = json!("storage");
    let mut broken = sound();
    broken["spec"]["labels"] = json!({"app": "not a label"});
    let apply = ["apply", "--server-side", "--force-conflicts", "--filename", "-"];
    shop.kubectl_with(&apply, &relabelled.to_string()).ok();
    refused_for(&shop.kubectl_with(&apply, &broken.to_string()).refused(), "[labels]");
    // Without a field manager's word, `replace` needs the version that it replaces; a missing one means "any".
    shop.kubectl_with(&["replace", "--filename", "-"], &relabelled.to_string()).ok();
    refused_for(
        &shop.kubectl_with(&["replace", "--filename", "-"], &broken.to_string()).refused(),
        "[labels]",
    );

    let patch = |kind: &str, patch: &Value| {
        shop.kubectl(&["patch", "etcd", "sound", "--type", kind, "--patch", &patch.to_string()])
    };
    patch("merge", &json!({"spec": {"labels": {"tier": "memory"}}})).ok();
    refused_for(&patch("merge", &broken).refused(), "[labels]");
    patch("json", &json!([{"op": "remove", "path": "/spec/labels/tier"}])).ok();
    let no_labels = json!([{"op": "remove", "path": "/spec/labels"}]);
    refused_for(&patch("json", &no_labels).refused(), "[labels]");

    shop.kubectl(&["annotate", "etcd", "sound", "note=written"]).ok();
    refused_for(&shop.kubectl(&["scale", "etcd", "sound", "--replicas=1"]).refused(), shrinking);
    let members = json!({"spec": {"etcd": {"bootstrapWithExistingCluster": null}}});
    refused_for(&patch("merge", &members).refused(), "[bootstrap-no-removal]");
}

fn the_status_subresource_meets_its_rules(shop: &Namespace<'_>) {
    let patch = |status: &Value| {
        let patch = json!({"status": status}).to_string();
        shop.kubectl(&["patch", "etcd", "sound", "--subresource=status", "--type=merge", "--patch", &patch])
    };
    let snapshot = sound()["spec"]["etcd"]["bootstrapWithExistingCluster"].clone();
    patch(&json!({"bootstrapWithExistingCluster": snapshot})).ok();
    let removed = patch(&json!({"bootstrapWithExistingCluster": null})).refused();
    refused_for(&removed, "[status-snapshot-write-once]");
}

fn deletion_meets_its_rules(shop: &Namespace<'_>) {
    refused_for(&shop.kubectl(&["delete", "etcd", "sound"]).refused(), "[joined-delete]");
    shop.kubectl(&["annotate", "etcd", "sound", "etcd-warden.dev/allow-quorum-loss=true"]).ok();
    shop.kubectl(&["delete", "etcd", "sound"]).ok();
}

#[track_caller]
fn refused_for(said: &str, rule: &str) {
    assert!(said.contains(rule), "{said}");
}

#[test]
fn broken_etcds_are_kept_out_of_kubernetes_1_36() {
    let Some(bed) = Bed::shared() else { return };
    keeps_broken_etcds_out(bed);
}

#[test]
fn broken_etcds_are_kept_out_of_kubernetes_1_34() {
    let Some(bed) = Bed::control_plane("1.34") else { return };
    keeps_broken_etcds_out(&bed);
}

#[test]
fn broken_etcds_are_kept_out_of_kubernetes_1_37() {
    let Some(bed) = Bed::control_plane("1.37") else { return };
    keeps_broken_etcds_out(&bed);
}
