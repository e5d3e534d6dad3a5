//! What a pod mounts: its data, the agent, and Secrets.

use serde_json::{Value, json};

use super::config_map::quantity;
use super::tls::Mounted;
use super::{Render, with};

/// Directory of a member's data.
const DATA: &str = "/var/etcd/data";

/// Size of a volume, as etcd-druid has it.
const STORAGE: &str = "16Gi";

const PROGRAM: &str = "etcd-warden";

/// Directory to which the agent is copied.
pub(super) const PROGRAM_DIRECTORY: &str = "/warden";

/// Name of the claim template: claims are called `<template>-<pod>`.
fn claim(render: Render<'_>) -> &str {
    render.etcd.spec.volume_claim_template.as_deref().unwrap_or(&render.etcd.name)
}

/// Volumes of a pod, claims apart.
pub(super) fn volumes(render: Render<'_>) -> Vec<Value> {
    let program = json!({"name": apart(render, PROGRAM), "emptyDir": {}});
    let secrets = Mounted::all(render);
    std::iter::once(program).chain(secrets.iter().map(|secret| secret.volume(render))).collect()
}

/// The name of a volume of ours: the claim's is the user's choice, and may be the same.
pub(super) fn apart(render: Render<'_>, name: &str) -> String {
    if claim(render) == name { format!("{name}-volume") } else { name.to_owned() }
}

/// Mounts of the container of etcd.
pub(super) fn mounts(render: Render<'_>) -> Vec<Value> {
    let own = [
        json!({"name": claim(render), "mountPath": DATA}),
        json!({"name": apart(render, PROGRAM), "mountPath": PROGRAM_DIRECTORY, "readOnly": true}),
    ];
    own.into_iter().chain(Mounted::all(render).iter().map(|secret| secret.mount(render))).collect()
}

/// Mount of the container that copies the agent.
pub(super) fn program_mount(render: Render<'_>) -> Value {
    json!({"name": apart(render, PROGRAM), "mountPath": PROGRAM_DIRECTORY})
}

/// The claim template. The API server takes no change of it, so that one that stands is rendered as it stands.
pub(super) fn claim_template(render: Render<'_>) -> Value {
    let spec = &render.etcd.spec;
    let claim_spec = json!({
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": storage(render)}},
    });
    let class = spec.storage_class.as_deref().filter(|class| !class.is_empty()).map(Value::from);
    let claim_spec = with(claim_spec, "storageClassName", class);
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": claim(render)}, "spec": claim_spec})
}

fn storage(render: Render<'_>) -> String {
    let wanted = || render.etcd.spec.storage_capacity.as_ref().map_or_else(|| STORAGE.to_owned(), quantity);
    render.standing.storage.clone().unwrap_or_else(wanted)
}
