//! How members reach each other: by name, before they are ready.

use serde_json::json;

use super::{Kind, Part, Render, Unrenderable, pod_selector};

#[allow(clippy::unnecessary_wraps, reason = "one of a table")]
pub(super) fn part(render: Render<'_>) -> Result<Part, Unrenderable> {
    let port = render.config.endpoints.peer_port;
    let content = json!({"spec": {
        "clusterIP": "None",
        "publishNotReadyAddresses": true,
        "ipFamilyPolicy": "PreferDualStack",
        "selector": pod_selector(&render.etcd.name),
        "ports": [{"name": "peer", "protocol": "TCP", "port": port, "targetPort": port}],
    }});
    Ok(Part::new(Kind::Service, format!("{}-peer", render.etcd.name), "etcd-peer-service", content))
}
