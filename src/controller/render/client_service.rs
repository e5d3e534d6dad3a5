//! How clients reach the members that are ready.

use serde_json::{Value, json};

use super::{Kind, Part, Render, Unrenderable, object, pod_selector, with};

#[allow(clippy::unnecessary_wraps, reason = "one of a table")]
pub(super) fn part(render: Render<'_>) -> Result<Part, Unrenderable> {
    let (wanted, endpoints) = (&render.etcd.spec.etcd.client_service, &render.config.endpoints);
    let port = |name: &str, number: u16| json!({"name": name, "protocol": "TCP", "port": number, "targetPort": number});
    let spec = json!({
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "ipFamilyPolicy": "PreferDualStack",
        "selector": pod_selector(&render.etcd.name),
        "ports": [port("client", endpoints.client_port), port("server", endpoints.peer_port)],
    });
    let preference = wanted.traffic_distribution.as_deref().map(Value::from);
    let content = json!({"spec": with(spec, "trafficDistribution", preference)});
    let name = format!("{}-client", render.etcd.name);
    let mut rendered = Part::new(Kind::Service, name, "etcd-client-service", content).owned();
    (rendered.labels, rendered.annotations) =
        (object(json!(wanted.labels)), object(json!(wanted.annotations)));
    Ok(rendered)
}
