//! The custom resource definition over another one that is already there.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::api::{Answer, Api, ETCDS};
use crate::harness::{Bed, druid, eventually};
use std::time::Duration;

fn definition(strength: &str) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_etcd-warden")).args(["crd", "--validation", strength]).output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

fn install(bed: &Bed, definition: &str) {
    let apply = ["apply", "--server-side", "--force-conflicts", "--filename", "-"];
    bed.kubectl_with(&apply, definition).ok();
}

/// What can be done to every object that is stored: read, labelled, and its size changed and changed back.
fn is_alive(api: &Api, path: &str) {
    let replicas = api.get(path).ok()["spec"]["replicas"].as_i64().unwrap();
    let answers: [Answer; 3] = [
        api.merge(path, &json!({"metadata": {"labels": {"seen": "yes"}}})),
        api.merge(path, &json!({"spec": {"replicas": replicas + 2}})),
        api.merge(&format!("{path}/status"), &json!({"status": {"ready": true}})),
    ];
    for answer in answers {
        assert!(answer.is_ok(), "{path}: {}", answer.message());
    }
}

/// Waits until the definition's defaults are filled in: then it is the one that is served.
fn serves_defaults(api: &Api, path: &str) {
    eventually(Duration::from_secs(20), "the new definition is served", || {
        let metrics = api.get(path).body["spec"]["etcd"]["snapshotCount"].clone();
        (metrics == json!(10_000)).then_some(()).ok_or_else(|| metrics.to_string())
    });
}

/// An Etcd of etcd-druid's, and one of this project's own from before, live on under either strength, and under the
/// old definition again.
#[test]
fn what_is_stored_lives_on_under_a_newer_definition() {
    let Some(druid) = druid::data() else { return };
    let file = druid.join("crd-etcds_without_cel.yaml");
    let Some(bed) = Bed::control_plane("1.36") else { return };
    let api = bed.api();
    let old = fs::read_to_string(file).unwrap();
    install(&bed, &old);
    let collection = format!("{ETCDS}/v1alpha1/namespaces/default/etcds");
    let bare: Value = json!({
        "apiVersion": "druid.gardener.cloud/v1alpha1", "kind": "Etcd", "metadata": {"name": "bare"},
        "spec": {"replicas": 1, "labels": {}, "etcd": {}, "backup": {}},
    });
    eventually(Duration::from_secs(20), "etcd-druid's definition is served", || {
        let answer = api.post(&collection, &bare);
        answer.is_ok().then_some(()).ok_or_else(|| answer.message().to_owned())
    });
    let path = format!("{collection}/bare");
    for strength in ["structural", "full"] {
        install(&bed, &definition(strength));
        serves_defaults(&api, &path);
        is_alive(&api, &path);
    }
    // A roll-back loses nothing that etcd-druid's definition knows.
    install(&bed, &old);
    eventually(Duration::from_secs(20), "the old definition is served", || {
        api.merge(&path, &json!({"spec": {"etcd": {"metrics": "extensive"}}})).is_ok()
    });
    assert_eq!(api.get(&path).ok()["spec"]["etcd"]["metrics"], "extensive");
}

/// etcd-druid's own examples, under the full definition alone.
#[test]
fn etcd_druids_examples_apply_unchanged() {
    let Some(druid) = druid::data() else { return };
    let examples = druid.join("examples");
    let Some(bed) = Bed::control_plane("1.36") else { return };
    install(&bed, &definition("full"));
    let files: Vec<PathBuf> = fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        eventually(Duration::from_secs(20), "the definition is served, and takes the example", || {
            bed.kubectl_with(&["apply", "--dry-run=server", "--filename", "-"], &text).attempt()
        });
    }
}
