//! Without a server: what the API server refuses, what goes on, and the way out.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Installed, Load, Namespace, Output, eventually, fixture};

const SOON: Duration = Duration::from_secs(30);

const REGISTRATION: &str = "validatingwebhookconfiguration";

/// The structural definition refuses it; its words are the definition's own.
const STORAGE_CLASS: &str = "[storage-class-immutable]";

#[test]
fn nothing_is_written_unjudged_and_nothing_else_waits() {
    let Some(installed) = Installed::start() else { return };
    let shop = installed.namespace();
    etcds(&shop);
    crashes_in_the_middle_of_reviews(&installed);

    installed.kubectl(&["scale", "deployment/etcd-warden", "--replicas=0"]).ok();
    eventually(Duration::from_mins(1), "no server is left", || installed.pods().is_empty());
    what_would_be_judged_is_refused(&shop);
    what_needs_no_judge_passes(&shop);
    the_rest_of_the_cluster_goes_on(&installed, &shop);
    the_way_out(&installed, &shop);
}

fn etcds(shop: &Namespace<'_>) {
    for name in ["alone", "joined"] {
        let mut etcd = fixture("bootstrap-members/accepted-one-member.json");
        etcd["metadata"]["name"] = json!(name);
        etcd["spec"]["storageClass"] = json!("fast");
        if name == "alone" {
            etcd["spec"]["etcd"].as_object_mut().unwrap().remove("bootstrapWithExistingCluster");
        }
        shop.apply(&etcd.to_string());
    }
    let members = json!([{"name": "infra0", "peerUrls": ["http://10.20.0.11:2380"]}]);
    let record = json!({"members": members, "joinedAt": "2026-01-01T00:00:00Z"});
    status(shop, "joined", &json!({"bootstrapWithExistingCluster": record})).ok();
}

fn status(shop: &Namespace<'_>, etcd: &str, status: &Value) -> Output {
    let patch = json!({"status": status}).to_string();
    shop.kubectl(&["patch", "etcd", etcd, "--subresource=status", "--type=merge", "--patch", &patch])
}

fn spec(shop: &Namespace<'_>, etcd: &str, spec: &Value) -> Output {
    let patch = json!({"spec": spec}).to_string();
    shop.kubectl(&["patch", "etcd", etcd, "--type=merge", "--patch", &patch])
}

/// SIGKILL takes the connections with it, and the API server tries no review twice: what fails says so, and nothing is
/// let through.
fn crashes_in_the_middle_of_reviews(installed: &Installed) {
    let loaded = installed.namespace();
    let load = Load::on(&loaded);
    for pod in &installed.pods() {
        let kill = ["task", "kill", "--signal", "SIGKILL", &installed.container(pod)];
        installed.bed.containerd(&kill).ok();
        let status = "--output=jsonpath={.status.containerStatuses[0].restartCount} {.status.containerStatuses[0].ready}";
        eventually(SOON, "the container was started again", || {
            let said = installed.kubectl(&["get", "pod", pod, status]).ok();
            if said == "1 true" { Ok(()) } else { Err(said) }
        });
    }
    let report = load.ended().said("each server killed with SIGKILL");
    for (_, said) in &report.failed {
        assert!(said.contains("failed calling webhook"), "{said}");
    }
    // Those that were sent to the dead one, until its node had noticed: no outage.
    assert!(report.failed.len() * 4 < report.created, "{report}");
}

/// Whether the API server wanted an answer and got none, and says of whom and why.
#[track_caller]
fn asked_in_vain(output: Output) {
    let command = output.command.clone();
    let said = output.refused();
    for part in
        ["failed calling webhook \"validate.etcd-warden.dev\"", "etcd-warden.etcd-warden.svc", "refused"]
    {
        assert!(said.contains(part), "{command}: {said}");
    }
}

fn what_would_be_judged_is_refused(shop: &Namespace<'_>) {
    let mut another = fixture("bootstrap-members/accepted-one-member.json");
    another["metadata"]["name"] = json!("another");
    let another = another.to_string();
    asked_in_vain(shop.kubectl_with(&["create", "--filename", "-"], &another));
    asked_in_vain(shop.kubectl_with(&["apply", "--server-side", "--filename", "-"], &another));
    for etcd in ["alone", "joined"] {
        asked_in_vain(spec(shop, etcd, &json!({"labels": {"tier": "storage"}})));
        asked_in_vain(shop.kubectl(&["annotate", "etcd", etcd, "note=1"]));
        asked_in_vain(shop.kubectl(&["delete", "etcd", etcd]));
    }
    asked_in_vain(shop.kubectl(&["scale", "etcd", "alone", "--replicas=5"]));
    // The record of a join is guarded.
    asked_in_vain(status(shop, "joined", &json!({"currentReplicas": 1})));
}

fn what_needs_no_judge_passes(shop: &Namespace<'_>) {
    // As etcd-druid reports every 15 s.
    for round in 0..3 {
        let condition = json!({
            "type": "Ready", "status": "True", "reason": "Quorate", "message": format!("round {round}"),
            "lastTransitionTime": "2026-01-01T00:00:00Z", "lastUpdateTime": "2026-01-01T00:00:00Z",
        });
        status(shop, "alone", &json!({"conditions": [condition], "currentReplicas": 1, "readyReplicas": 1}))
            .ok();
    }
    for etcd in ["alone", "joined"] {
        shop.kubectl(&["label", "etcd", etcd, "team=storage"]).ok();
        shop.kubectl(&["get", "etcd", etcd]).ok();
    }
}

fn the_rest_of_the_cluster_goes_on(installed: &Installed, shop: &Namespace<'_>) {
    let bed = &installed.bed;
    shop.apply(include_str!("../manifests/web.yaml"));
    shop.ready("pod/web");
    shop.kubectl(&["create", "configmap", "free", "--from-literal=a=b"]).ok();
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "free"},
        "spec": {"holderIdentity": "me"}});
    shop.apply(&lease.to_string());
    for program in ["kubelet-1", "containerd-1"] {
        bed.stop(program);
    }
    for program in ["containerd-1", "kubelet-1"] {
        bed.start_again(program);
    }
    let run = ["run", "later", "--image=docker.io/local/etcd:3.6", "--image-pull-policy=Never"];
    shop.kubectl(&[&run[..], &["--command", "--", "etcd", "--version"]].concat()).ok();
    eventually(Duration::from_mins(1), "the restarted node runs another pod", || {
        let said = shop.kubectl(&["logs", "later"]).attempt()?;
        if said.contains("etcd Version") { Ok(()) } else { Err(said) }
    });
    assert_eq!(shop.kubectl(&["logs", "web"]).ok(), "serving\n", "what ran before runs on");
}

/// What the documentation says under *The way out*.
fn the_way_out(installed: &Installed, shop: &Namespace<'_>) {
    let bed = &installed.bed;
    let patch = |patch: &Value| {
        bed.kubectl(&["patch", REGISTRATION, "etcd-warden", "--type=json", "--patch", &patch.to_string()])
            .ok();
    };
    let passes = |what: &str, note: &str| {
        eventually(SOON, what, || {
            shop.kubectl(&["annotate", "--overwrite", "etcd", "alone", &format!("note={note}")]).attempt()
        });
    };
    let selector = json!({"matchExpressions":
        [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [shop.name]}]});
    patch(&json!([{"op": "add", "path": "/webhooks/0/namespaceSelector", "value": selector}]));
    passes("nobody is asked about this namespace", "selected");
    let elsewhere = bed.namespace();
    let mut etcd = fixture("bootstrap-members/accepted-one-member.json");
    etcd["metadata"]["name"] = json!("another");
    asked_in_vain(elsewhere.kubectl_with(&["create", "--filename", "-"], &etcd.to_string()));
    patch(&json!([{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]));
    passes("a failed call holds nothing up", "ignored");

    bed.kubectl(&["delete", REGISTRATION, "etcd-warden"]).ok();
    passes("nobody is asked", "unregistered");
    // The definition itself holds what is final, whoever is asked.
    let said = spec(shop, "alone", &json!({"storageClass": "slow"})).refused();
    assert!(said.contains(STORAGE_CLASS), "{said}");
    let said = spec(shop, "joined", &json!({"etcd": {"bootstrapWithExistingCluster": null}})).refused();
    assert!(said.contains("[bootstrap-no-removal]"), "{said}");
    let said = status(shop, "joined", &json!({"bootstrapWithExistingCluster": null})).refused();
    assert!(said.contains("[status-snapshot-write-once]"), "{said}");

    // Also in the namespace that was left out: the registration is a new one.
    installed.apply_again();
    installed.judges();
    let said = shop.kubectl(&["scale", "etcd", "alone", "--replicas=1"]).refused();
    assert!(said.contains("[replicas-no-shrink]"), "{said}");
}
