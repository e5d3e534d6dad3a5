//! Every way that kubectl has to write an Etcd meets the rules of the server that is installed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;

use super::admission::{every_way_to_write_meets_the_rules, sound};
use crate::harness::{Installed, Namespace, Output};

#[test]
fn every_way_to_write_meets_the_rules_of_the_installed_server() {
    let Some(installed) = Installed::shared() else { return };
    let shop = installed.namespace();
    creations(&shop);
    every_way_to_write_meets_the_rules(&shop, "[bootstrap-replicas-frozen]");
    patches_that_kubectl_knows_and_custom_resources_don_t(&shop);
    an_edit(&shop);
}

fn creations(shop: &Namespace<'_>) {
    let mut broken = sound();
    broken["spec"]["labels"] = json!({"app": "not a label"});
    let (sound, broken) = (sound().to_string(), broken.to_string());
    for command in [
        &["create", "--filename", "-"][..],
        &["create", "--dry-run=server", "--filename", "-"],
        &["apply", "--filename", "-"],
        &["apply", "--dry-run=server", "--filename", "-"],
        &["apply", "--server-side", "--filename", "-"],
    ] {
        let said = shop.kubectl_with(command, &broken).refused();
        assert!(said.starts_with("The Etcd \"sound\" is invalid: spec.labels[app]"), "{command:?}: {said}");
        assert!(said.contains("[labels]"), "{command:?}: {said}");
    }
    let dry = ["create", "--dry-run=server", "--filename", "-"];
    assert_eq!(
        shop.kubectl_with(&dry, &sound).ok(),
        "etcd.druid.gardener.cloud/sound created (server dry run)\n"
    );
    shop.kubectl_with(&["create", "--filename", "-"], &sound).ok();
    // Stored, and judged as the update that it is now.
    let apply = ["apply", "--dry-run=server", "--filename", "-"];
    let said = shop.kubectl_with(&apply, &broken).refused();
    assert!(said.contains("[labels]"), "{said}");
}

/// The third kind of patch is for built-in resources; the API server refuses it before it asks anybody.
fn patches_that_kubectl_knows_and_custom_resources_don_t(shop: &Namespace<'_>) {
    let patch = ["patch", "etcd", "sound", "--type=strategic", "--patch", r#"{"spec":{"labels":{}}}"#];
    let said = shop.kubectl(&patch).refused();
    assert!(said.contains("strategic-merge-patch+json is not supported"), "{said}");
}

/// Somebody who changes the number of replicas in an editor, and leaves it when the change is refused.
fn an_edit(shop: &Namespace<'_>) {
    let folder = tempfile::tempdir().unwrap();
    let edited = |from: &str, to: &str| edit(shop, folder.path(), from, to);
    let said = edited("replicas: 2", "replicas: 1").refused();
    assert!(said.contains("is invalid"), "{said}");
    // kubectl opens the editor again, with what was said at the top.
    let again = fs::read_to_string(folder.path().join("seen-2")).unwrap();
    assert!(
        again.lines().any(|line| line.starts_with('#') && line.contains("[bootstrap-replicas-frozen]")),
        "{again}"
    );
    assert_eq!(edited("app: etcd", "app: edited").ok(), "etcd.druid.gardener.cloud/sound edited\n");
}

fn edit(shop: &Namespace<'_>, folder: &Path, from: &str, to: &str) -> Output {
    let editor = folder.join("editor");
    let seen = folder.display();
    let script = format!(
        "#!/bin/sh\nn=1; while [ -e {seen}/seen-$n ]; do n=$((n + 1)); done\ncp \"$1\" {seen}/seen-$n\n\
         sed -i 's/{from}/{to}/' \"$1\"\n"
    );
    fs::write(&editor, script).unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = shop.bed.kubectl_command(&["--namespace", &shop.name, "edit", "etcd", "sound"]);
    Output::of(command.env("KUBE_EDITOR", editor), "")
}
