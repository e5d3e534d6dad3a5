//! Every way to put the manifests together can be put together, where kubectl is at hand.

use super::yaml::{NAME, documents, list, path, text};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

const COMPONENTS: [&str; 4] = ["cert-manager", "monitoring", "network-policy", "warn-only"];

/// What kubectl makes of a folder; nothing where there is no kubectl.
fn kustomize(folder: &Path) -> Option<Vec<Value>> {
    let output = Command::new("kubectl").arg("kustomize").arg(folder).output().ok()?;
    let (made, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {said}", folder.display());
    Some(documents(&made))
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        let target = to.join(entry.file_name().expect("a name"));
        if entry.is_dir() {
            copy(&entry, &target);
        } else {
            fs::copy(&entry, &target).expect("a copy");
        }
    }
}

/// An overlay of a user's own beside a copy of the manifests.
fn overlay(on: &str, components: &[&str]) -> Option<Vec<Value>> {
    let folder = tempfile::tempdir().expect("a folder");
    copy(&path("manifests"), &folder.path().join("manifests"));
    let components: Vec<String> =
        components.iter().map(|name| format!("../manifests/components/{name}")).collect();
    let file = json!({"resources": [format!("../manifests/{on}")], "components": components});
    let own = folder.path().join("own");
    fs::create_dir(&own).expect("a folder");
    fs::write(own.join("kustomization.yaml"), file.to_string()).expect("a file");
    kustomize(&own)
}

fn find<'a>(objects: &'a [Value], kind: &str, name: &str) -> Option<&'a Value> {
    objects.iter().find(|object| object["kind"] == kind && object["metadata"]["name"] == name)
}

#[test]
fn every_component_fits_every_way_to_run_it() {
    for on in ["next-to-druid", "standalone"] {
        for components in COMPONENTS.iter().map(std::slice::from_ref).chain([&COMPONENTS[..], &[]]) {
            let Some(objects) = overlay(on, components) else {
                eprintln!("skipped: kubectl is missing");
                return;
            };
            let server = find(&objects, "Deployment", NAME).expect("a Deployment");
            let variables = &server["spec"]["template"]["spec"]["containers"][0]["env"];
            let names: Vec<&str> = list(variables).iter().map(|variable| text(&variable["name"])).collect();
            let loops = names.contains(&"ETCD_WARDEN_CONTROLLER")
                || find(&objects, "ClusterRole", "etcd-warden-loop").is_some();
            assert_eq!(loops, on == "standalone", "{names:?}");
            assert_eq!(
                names.contains(&"ETCD_WARDEN_ENFORCEMENT"),
                components.contains(&"warn-only"),
                "{names:?}"
            );
            assert_eq!(find(&objects, "CustomResourceDefinition", "etcds.druid.gardener.cloud"), None);
        }
    }
}

/// With cert-manager and without a loop, the server may write nothing at all.
#[test]
fn with_cert_manager_there_is_nothing_to_manage() {
    let Some(objects) = overlay("next-to-druid", &["cert-manager"]) else {
        eprintln!("skipped: kubectl is missing");
        return;
    };
    let roles: Vec<&str> = objects
        .iter()
        .filter(|object| text(&object["kind"]).ends_with("Role"))
        .map(|role| text(&role["metadata"]["name"]))
        .collect();
    assert_eq!(roles, [NAME]);
    assert_eq!(find(&objects, "Lease", NAME), None);
    assert_eq!(find(&objects, "Secret", "etcd-warden-ca"), None);
}
