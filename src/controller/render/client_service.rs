//! How clients reach the members that are ready.

use serde_json::json;

use super::{Kind, Part, Render, Unrenderable, object, pod_selector};

#[allow(clippy::unnecessary_wraps, reason = "one of a table")]
pub(super) fn part(render: Render<'_>) -> Result<Part, Unrenderable> {
    let (wanted, endpoints) = (&render.etcd.spec.etcd.client_service, &render.config.endpoints);
    let port = |name: &str, number: u16| json!({"name": name, "protocol": "TCP", "port": number, "targetPort": number});
    let mut spec = json!({
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "ipFamilyPolicy": "PreferDualStack",
        "selector": pod_selector(&render.etcd.name),
        "ports": [port("client", endpoints.client_port), port("server", endpoints.peer_port)],
    });
    if let Some(preference) = &wanted.traffic_distribution {
        spec["trafficDistribution"] = preference.as_str().into();
    }
    let name = format!("{}-client", render.etcd.name);
    let mut part = Part::new(Kind::Service, name, "etcd-client-service", json!({"spec": spec})).owned();
    (part.labels, part.annotations) = (object(json!(wanted.labels)), object(json!(wanted.annotations)));
    Ok(part)
}
