//! Beside etcd-druid: its definition of the resource, its examples, and its controller's writes, with the server that
//! only admits.

use std::fs;

use serde_json::{Value, json};

use crate::harness::api::{Answer, Api, Content, ETCDS};
use crate::harness::installed::{manifests, with_image};
use crate::harness::{Installed, Options, druid};

/// How often the controller comes by in this scenario: it does so every 15 s.
const ROUNDS: usize = 20;

const CONTROLLER: &str = "system:serviceaccount:druid-system:etcd-druid";
const FINALIZER: &str = "druid.gardener.cloud/etcd-druid";

#[test]
fn etcd_druid_s_examples_are_accepted_and_its_controller_is_let_write() {
    let Some(druid) = druid::data() else { return };
    let Some(bed) = with_image(&Options::default()) else { return };
    let installed = Installed::on(bed, &manifests("next-to-druid"));
    let bed = &installed.bed;
    let file = |name: &str| druid.join(name).to_str().unwrap().to_owned();
    // Too large for the annotation that client-side apply makes.
    bed.kubectl(&["apply", "--server-side", "--filename", &file("crd-etcds.yaml")]).ok();
    installed.apply_again();
    installed.judges();

    let shop = installed.namespace();
    let applied = shop.kubectl(&["apply", "--filename", &file("examples")]).ok();
    let examples = fs::read_dir(druid.join("examples")).unwrap().count();
    assert_eq!(applied.lines().count(), examples, "{applied}");
    let stored: Value = serde_json::from_str(&shop.kubectl(&["get", "etcds", "--output=json"]).ok()).unwrap();
    let api = bed.api();
    for etcd in stored["items"].as_array().unwrap() {
        let path = format!(
            "{ETCDS}/v1alpha1/namespaces/{}/etcds/{}",
            shop.name,
            etcd["metadata"]["name"].as_str().unwrap()
        );
        let controller = Controller { api: &api, path };
        controller.comes_by();
        // A controller's word that breaks a rule is refused like anybody's.
        let shrunk = controller.patch("", &json!({"spec": {"replicas": -1}}));
        assert!(!shrunk.is_ok(), "{shrunk:?}");
        controller.lets_go();
    }
    assert_eq!(shop.kubectl(&["get", "etcds", "--output=name"]).ok(), "");
}

/// Writes as etcd-druid's controller does.
struct Controller<'a> {
    api: &'a Api,
    path: String,
}

impl Controller<'_> {
    fn send(&self, method: &str, suffix: &str, body: Option<(&Value, Content)>) -> Answer {
        let user = json!({"username": CONTROLLER, "groups": ["system:masters"]});
        self.api.request(method, &format!("{}{suffix}", self.path), body, &user)
    }

    fn patch(&self, subresource: &str, patch: &Value) -> Answer {
        self.send(
            "PATCH",
            &format!("{subresource}?fieldManager=etcd-druid"),
            Some((patch, Content::MergePatch)),
        )
    }

    fn apply(&self, subresource: &str, object: &Value) -> Answer {
        let suffix = format!("{subresource}?fieldManager=etcd-druid&force=true");
        self.send("PATCH", &suffix, Some((object, Content::Apply)))
    }

    /// Its finalizer, its annotations, and status by both ways to write it, over and over.
    fn comes_by(&self) {
        self.patch("", &json!({"metadata": {"finalizers": [FINALIZER]}})).ok();
        for round in 0..ROUNDS {
            let status = status(round);
            self.patch("/status", &json!({"status": status})).ok();
            let object = json!({"apiVersion": "druid.gardener.cloud/v1alpha1", "kind": "Etcd",
                "metadata": {"name": self.path.rsplit('/').next()}, "status": status});
            self.apply("/status", &object).ok();
            let operation =
                json!({"metadata": {"annotations": {"druid.gardener.cloud/operation": round.to_string()}}});
            self.patch("", &operation).ok();
        }
        let stored = self.send("GET", "", None).ok();
        assert_eq!(stored["status"]["observedGeneration"], json!(ROUNDS - 1));
        assert_eq!(stored["metadata"]["finalizers"], json!([FINALIZER]));
    }

    fn lets_go(&self) {
        self.send("DELETE", "", None).ok();
        self.patch("/status", &json!({"status": status(0)})).ok();
        self.patch("", &json!({"metadata": {"finalizers": null}})).ok();
    }
}

fn status(round: usize) -> Value {
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "reason": "Round", "message": format!("round {round}"),
            "lastTransitionTime": "2026-01-01T00:00:00Z", "lastUpdateTime": "2026-01-01T00:00:00Z"})
    };
    json!({
        "observedGeneration": round, "replicas": 3, "currentReplicas": 3, "readyReplicas": 3, "ready": true,
        "conditions": [condition("Ready"), condition("AllMembersReady"), condition("BackupReady")],
        "members": [{"name": "etcd-0", "id": "1", "role": "Leader", "status": "Ready", "reason": "LeaseSucceeded",
            "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    })
}
