//! A member's pod: etcd's image, with the agent as its first process.

use serde_json::{Value, json};

use super::standing::{CONTAINER, SERVICE_ENDPOINTS};
use super::volumes::{PROGRAM_DIRECTORY, mounts, program_mount, volumes};
use super::{Render, Unrenderable, with};
use crate::controller::spec::Bootstrap;

/// User and group of members that don't run as root: distroless' `nonroot`, as with etcd-druid.
const USER: i64 = 65532;

/// Port on which etcd serves its metrics in plain HTTP.
const METRICS_PORT: u16 = 2381;

/// Leadership is handed over, a last snapshot written to disk, and connections closed.
const GRACE_SECONDS: i64 = 60;

/// What the pod template's `spec` is.
pub(super) fn spec(render: Render<'_>) -> Result<Value, Unrenderable> {
    let wanted = &render.etcd.spec;
    let constraints = &wanted.scheduling_constraints;
    let spec = json!({
        "serviceAccountName": render.etcd.name,
        "automountServiceAccountToken": true,
        "enableServiceLinks": false,
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "securityContext": pod_security(wanted.run_as_root),
        "initContainers": [copy(render)],
        "containers": [container(render)?],
        "volumes": volumes(render),
    });
    let optional = [
        ("affinity", constraints.affinity.as_ref().map(|affinity| json!(affinity))),
        ("priorityClassName", wanted.priority_class_name.as_ref().map(|class| json!(class))),
        (
            "topologySpreadConstraints",
            Some(json!(constraints.topology_spread_constraints)).filter(|list| *list != json!([])),
        ),
    ];
    Ok(optional.into_iter().fold(spec, |spec, (name, value)| with(spec, name, value)))
}

fn pod_security(root: bool) -> Value {
    let seccomp = json!({"type": "RuntimeDefault"});
    if root {
        return json!({"runAsUser": 0, "runAsGroup": 0, "runAsNonRoot": false, "seccompProfile": seccomp});
    }
    json!({
        "runAsUser": USER, "runAsGroup": USER, "runAsNonRoot": true, "fsGroup": USER,
        // A large volume's files aren't gone through at every start.
        "fsGroupChangePolicy": "OnRootMismatch", "seccompProfile": seccomp,
    })
}

/// Root without capabilities couldn't read files of others, which is what it is asked for.
fn container_security(root: bool) -> Value {
    if root {
        json!({"allowPrivilegeEscalation": false})
    } else {
        json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}})
    }
}

/// Copies the agent into the pod: etcd's image has none.
fn copy(render: Render<'_>) -> Value {
    json!({
        "name": "copy-agent",
        "image": render.settings.agent_image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["agent", "--copy-to", format!("{PROGRAM_DIRECTORY}/etcd-warden")],
        "securityContext": container_security(render.etcd.spec.run_as_root),
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
        "volumeMounts": [program_mount(render)],
    })
}

fn container(render: Render<'_>) -> Result<Value, Unrenderable> {
    let wanted = &render.etcd.spec.etcd;
    let kept = render.standing.image.as_deref();
    let image = kept.or_else(|| render.settings.image(render.etcd)).ok_or(Unrenderable::NoImage)?;
    let resources = wanted
        .resources
        .as_ref()
        .map_or_else(|| json!({"requests": {"cpu": "50m", "memory": "128Mi"}}), |resources| json!(resources));
    Ok(json!({
        "name": CONTAINER,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": [
            format!("{PROGRAM_DIRECTORY}/etcd-warden"), "agent",
            "--etcd-name", render.etcd.name,
            SERVICE_ENDPOINTS, service_endpoints(render),
        ],
        "env": environment(),
        "ports": ports(render),
        "resources": resources,
        "securityContext": container_security(render.etcd.spec.run_as_root),
        // The agent answers both, not etcd: an alarm or a long snapshot is no reason to restart.
        "readinessProbe": probe("/readyz", 5, 2),
        // It listens once it has read its configuration, which an API server that is away holds up: etcd may run by then.
        "startupProbe": probe("/livez", 1, 3600),
        "livenessProbe": probe("/livez", 10, 6),
        "volumeMounts": mounts(render),
    }))
}

fn environment() -> Vec<Value> {
    [("POD_NAME", "metadata.name"), ("POD_NAMESPACE", "metadata.namespace"), ("POD_UID", "metadata.uid")]
        .map(|(name, path)| json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}))
        .to_vec()
}

fn ports(render: Render<'_>) -> Vec<Value> {
    let endpoints = &render.config.endpoints;
    [
        ("server", endpoints.peer_port),
        ("client", endpoints.client_port),
        (READINESS, endpoints.readiness_port),
        ("metrics", METRICS_PORT),
    ]
    .map(|(name, port)| json!({"name": name, "containerPort": port, "protocol": "TCP"}))
    .to_vec()
}

const READINESS: &str = "readiness";

fn probe(path: &str, period: u32, failures: u32) -> Value {
    json!({
        "httpGet": {"path": path, "port": READINESS, "scheme": "HTTP"},
        "periodSeconds": period, "timeoutSeconds": 5, "failureThreshold": failures,
    })
}

/// Own members first, by the client Service; then the cluster that is joined.
fn service_endpoints(render: Render<'_>) -> String {
    let (etcd, endpoints) = (render.etcd, &render.config.endpoints);
    let own = format!("{}://{}-client:{}", endpoints.client_scheme.name(), etcd.name, endpoints.client_port);
    let wanted = || etcd.spec.source().map(|Bootstrap { client_endpoints, .. }| client_endpoints.clone());
    let source = render.standing.source_endpoints.clone().or_else(wanted).unwrap_or_default();
    std::iter::once(own).chain(source).collect::<Vec<_>>().join(",")
}
