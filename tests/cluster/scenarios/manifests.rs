//! The manifests on an API server, with pods whose image isn't there: nobody answers the webhooks, so that a write
//! which the API server asks about is one that it refuses.

use std::time::Duration;

use serde_json::json;

use crate::harness::{Bed, Namespace, Output, eventually, fixture};

const SOON: Duration = Duration::from_secs(30);
const SERVER: &str = "system:serviceaccount:etcd-warden:etcd-warden";

fn folder(name: &str) -> String {
    format!("{}/manifests/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Installs them, and waits until the API server heeds the registrations and the policies.
fn install(bed: &Bed, shop: &Namespace<'_>) {
    bed.kubectl(&["apply", "--kustomize", &folder("standalone")]).ok();
    eventually(SOON, "the registration is heeded", || asked(&annotate(shop, "alone", "note=1")));
    eventually(SOON, "the policies are heeded", || {
        let pod = pod("probe", "default");
        let annotated = pod.replace("labels:", "annotations: {etcd-warden.dev/form: x}\n  labels:");
        let create = ["create", "--dry-run=server", "--filename", "-"];
        shop.kubectl_with(&create, &annotated).stderr.contains("ValidatingAdmissionPolicy")
    });
}

/// Whether the API server wanted an answer and got none.
fn asked(output: &Output) -> bool {
    output.stderr.contains("failed calling webhook \"validate.etcd-warden.dev\"")
}

fn annotate(shop: &Namespace<'_>, etcd: &str, annotation: &str) -> Output {
    shop.kubectl(&["annotate", "--overwrite", "etcd", etcd, annotation])
}

fn patch(shop: &Namespace<'_>, etcd: &str, subresource: Option<&str>, patch: &serde_json::Value) -> Output {
    let (patch, subresource) =
        (patch.to_string(), subresource.map(|subresource| format!("--subresource={subresource}")));
    let mut arguments = vec!["patch", "etcd", etcd, "--type=merge", "--patch", &patch];
    arguments.extend(subresource.as_deref());
    shop.kubectl(&arguments)
}

/// An Etcd that has joined nobody, and one that has.
fn etcds(shop: &Namespace<'_>) {
    for name in ["alone", "joined"] {
        let mut etcd = fixture("bootstrap-members/accepted-one-member.json");
        etcd["metadata"]["name"] = json!(name);
        shop.kubectl_with(&["create", "--filename", "-"], &etcd.to_string()).ok();
    }
    let record = json!({"members": [{"name": "c1-0", "peerUrls": ["http://c1-0.c1-peer.old.svc:2380"]}]});
    patch(shop, "joined", Some("status"), &json!({"status": {"bootstrapWithExistingCluster": record}})).ok();
}

fn pod(name: &str, account: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {name}\n  labels: {{app.kubernetes.io/managed-by: etcd-warden}}\n\
         spec:\n  serviceAccountName: {account}\n  containers: [{{name: etcd, image: nowhere/etcd:1}}]\n"
    )
}

#[test]
fn what_is_held_up_without_a_server_and_what_is_not() {
    let Some(bed) = Bed::start() else { return };
    bed.install_etcd_crd();
    let shop = bed.namespace();
    etcds(&shop);
    install(&bed, &shop);

    only_what_has_rules_is_asked_about(&shop);
    nothing_else_is_held_up(&shop);
    the_servers_pods_are_let_in(&bed);
    the_server_may_do_what_it_does_and_no_more(&bed);
    annotations_are_written_by_whose_they_are(&shop);
    the_way_out_lets_a_namespace_go(&bed);
    removal_leaves_the_etcds(&bed, &shop);
}

fn only_what_has_rules_is_asked_about(shop: &Namespace<'_>) {
    for etcd in ["alone", "joined"] {
        let refused = [
            ("an annotation", annotate(shop, etcd, "note=2")),
            (
                "a finalizer",
                patch(shop, etcd, None, &json!({"metadata": {"finalizers": ["example.com/held"]}})),
            ),
            ("spec", patch(shop, etcd, None, &json!({"spec": {"labels": {"tier": "storage"}}}))),
            ("scale", shop.kubectl(&["scale", "etcd", etcd, "--replicas=5"])),
            ("deletion", shop.kubectl(&["delete", "etcd", etcd])),
        ];
        for (what, output) in refused {
            assert!(asked(&output), "{what} of {etcd}: {output:?}");
        }
        shop.kubectl(&["label", "etcd", etcd, "team=storage"]).ok();
    }
    let status = json!({"status": {"currentReplicas": 1}});
    patch(shop, "alone", Some("status"), &status).ok();
    assert!(asked(&patch(shop, "joined", Some("status"), &status)), "the record of a join is guarded");
}

fn nothing_else_is_held_up(shop: &Namespace<'_>) {
    for create in [["create", "configmap", "free"], ["create", "serviceaccount", "free"]] {
        shop.kubectl(&create).ok();
    }
    shop.kubectl_with(&["create", "--filename", "-"], &pod("free", "default")).ok();
    shop.kubectl(&["label", "pod", "free", "team=storage"]).ok();
    shop.kubectl(&["annotate", "pod", "free", "note=1"]).ok();
    shop.kubectl(&["delete", "pod", "free", "--now"]).ok();
}

/// The namespace is held to the restricted standard, and a quota admits the priority class.
fn the_servers_pods_are_let_in(bed: &Bed) {
    eventually(SOON, "two pods are created", || {
        let pods = ["--namespace=etcd-warden", "get", "pods", "--output=name"];
        let pods = bed.kubectl(&pods).ok();
        if pods.lines().count() == 2 { Ok(()) } else { Err(pods) }
    });
}

fn the_server_may_do_what_it_does_and_no_more(bed: &Bed) {
    let may = |verb: &str, resource: &str, place: &str| {
        let namespace = format!("--namespace={place}");
        let place = if place.is_empty() { "--all-namespaces" } else { &namespace };
        let asked = ["auth", "can-i", "--as", SERVER, verb, resource, place];
        bed.kubectl(&asked).stdout.trim() == "yes"
    };
    let (own, other) = ("etcd-warden", "kube-system");
    for (verb, resource, place) in [
        ("list", "etcds.druid.gardener.cloud", ""),
        ("watch", "etcds.druid.gardener.cloud", ""),
        ("get", "secrets/etcd-warden-ca", own),
        ("update", "secrets/etcd-warden-ca", own),
        ("update", "leases.coordination.k8s.io/etcd-warden", own),
        ("patch", "validatingwebhookconfigurations/etcd-warden", ""),
        ("watch", "mutatingwebhookconfigurations/etcd-warden", ""),
        ("create", "events.events.k8s.io", "default"),
        ("patch", "etcds.druid.gardener.cloud", other),
        ("create", "statefulsets.apps", other),
        ("patch", "pods", other),
        ("delete", "pods", other),
        ("update", "leases.coordination.k8s.io/etcd-warden-loop", own),
        ("create", "events.events.k8s.io", other),
    ] {
        assert!(may(verb, resource, place), "may not {verb} {resource} in {place:?}");
    }
    for (verb, resource, place) in [
        ("update", "etcds.druid.gardener.cloud", ""),
        ("delete", "etcds.druid.gardener.cloud", ""),
        ("create", "secrets", own),
        ("list", "secrets", own),
        ("get", "secrets/another", own),
        ("delete", "secrets/etcd-warden-ca", own),
        ("get", "secrets/etcd-warden-ca", other),
        ("create", "leases.coordination.k8s.io", own),
        ("update", "leases.coordination.k8s.io/another", own),
        ("patch", "validatingwebhookconfigurations/another", ""),
        ("delete", "validatingwebhookconfigurations/etcd-warden", ""),
        ("create", "mutatingwebhookconfigurations", ""),
        ("create", "pods", own),
        ("create", "pods/exec", other),
        ("delete", "persistentvolumeclaims", other),
        ("create", "clusterrolebindings.rbac.authorization.k8s.io", ""),
        ("escalate", "roles.rbac.authorization.k8s.io", other),
        ("bind", "roles.rbac.authorization.k8s.io", other),
        ("create", "serviceaccounts/token", own),
    ] {
        assert!(!may(verb, resource, place), "may {verb} {resource} in {place:?}");
    }
}

/// A member, the one beside it, the loop, and an administrator, each at what it may and may not write.
fn annotations_are_written_by_whose_they_are(shop: &Namespace<'_>) {
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: c1}\n\
                rules: [{apiGroups: [''], resources: [pods, pods/status], verbs: [get, patch]}]\n";
    shop.kubectl(&["create", "serviceaccount", "c1"]).ok();
    shop.apply(role);
    let account = format!("{}:c1", shop.name);
    shop.kubectl(&["create", "rolebinding", "c1", "--role=c1", "--serviceaccount", &account]).ok();
    for name in ["c1-0", "c1-1"] {
        shop.kubectl_with(&["create", "--filename", "-"], &pod(name, "c1")).ok();
    }
    let bound = ["create", "token", "c1", "--bound-object-kind=Pod", "--bound-object-name=c1-0"];
    let (own, unbound) = (shop.kubectl(&bound).ok(), shop.kubectl(&["create", "token", "c1"]).ok());
    let with = |token: &str, arguments: &[&str]| {
        let token = format!("--token={token}");
        shop.kubectl(&[&[token.as_str()], arguments].concat())
    };
    let annotate =
        |token: &str, pod: &str, annotation: &str| with(token, &["annotate", "pod", pod, annotation]);

    annotate(&own, "c1-0", "etcd-warden.dev/member=report").ok();
    for refused in [
        annotate(&own, "c1-1", "etcd-warden.dev/member=report"),
        annotate(&unbound, "c1-0", "etcd-warden.dev/member-"),
        annotate(&own, "c1-0", "etcd-warden.dev/form=word"),
        annotate(&own, "c1-0", "etcd-warden.dev/leave=word"),
        annotate(&own, "c1-0", "note=1"),
        with(&own, &["label", "pod", "c1-0", "app.kubernetes.io/managed-by-"]),
        with(&own, &["patch", "pod", "c1-0", "--type=json", "--patch", OTHER_IMAGE]),
        with(&own, &["patch", "pod", "c1-0", "--subresource=status", "--patch", OTHER_STATUS]),
        shop.kubectl(&["annotate", "pod", "c1-0", "etcd-warden.dev/form=word"]),
        shop.kubectl(&["annotate", "pod", "c1-1", "etcd-warden.dev/member=report"]),
    ] {
        let command = refused.command.clone();
        let said = refused.refused();
        assert!(said.contains("ValidatingAdmissionPolicy 'etcd-warden-"), "{command}: {said}");
    }
    annotate(&own, "c1-0", "etcd-warden.dev/member-").ok();
    shop.kubectl(&["annotate", "pod", "c1-0", "note=1"]).ok();

    // The loop has no right to write pods here; the policies don't stand in its way.
    let by_loop = ["--as", SERVER, "annotate", "pod", "c1-0", "etcd-warden.dev/form=word"];
    let role = ["create", "rolebinding", "loop", "--role=c1", "--serviceaccount=etcd-warden:etcd-warden"];
    shop.kubectl(&role).ok();
    shop.kubectl(&by_loop).ok();
}

const OTHER_IMAGE: &str = r#"[{"op": "replace", "path": "/spec/containers/0/image", "value": "other"}]"#;
const OTHER_STATUS: &str = r#"{"status": {"message": "other"}}"#;

/// A namespace with an Etcd can't go while nobody judges the deletion, and goes when it needn't be judged.
fn the_way_out_lets_a_namespace_go(bed: &Bed) {
    let ignore = |policy: &str| {
        let patch =
            json!([{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": policy}]).to_string();
        let arguments =
            ["patch", "validatingwebhookconfiguration", "etcd-warden", "--type=json", "--patch", &patch];
        bed.kubectl(&arguments).ok();
    };
    ignore("Ignore");
    let going = bed.namespace();
    eventually(SOON, "an Etcd is let in without a judge", || {
        going
            .kubectl_with(
                &["apply", "--filename", "-"],
                &fixture("bootstrap-members/accepted-one-member.json").to_string(),
            )
            .attempt()
    });
    ignore("Fail");
    eventually(SOON, "Etcds are held up again", || {
        let etcds = going.kubectl(&["annotate", "--overwrite", "etcds", "--all", "note=1"]);
        asked(&etcds)
    });
    bed.kubectl(&["delete", "namespace", &going.name, "--wait=false"]).ok();
    let conditions = ["get", "namespace", &going.name, "--output=jsonpath={.status.conditions}"];
    eventually(SOON, "the namespace says why it can't go", || {
        let said = bed.kubectl(&conditions).ok();
        if said.contains("failed calling webhook") { Ok(()) } else { Err(said) }
    });
    ignore("Ignore");
    eventually(Duration::from_mins(2), "the namespace is gone", || {
        bed.kubectl(&["get", "namespace", &going.name]).stderr.contains("NotFound")
    });
    ignore("Fail");
}

fn removal_leaves_the_etcds(bed: &Bed, shop: &Namespace<'_>) {
    bed.kubectl(&["delete", "--kustomize", &folder("standalone"), "--timeout=120s"]).ok();
    let left = ["get", "validatingwebhookconfigurations,mutatingwebhookconfigurations", "--output=name"];
    assert!(!bed.kubectl(&left).ok().contains("etcd-warden"));
    for etcd in ["alone", "joined"] {
        eventually(SOON, "Etcds are written again", || annotate(shop, etcd, "note=3").attempt());
    }
}
