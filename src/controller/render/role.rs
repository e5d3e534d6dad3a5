//! What members may do: report themselves, see their siblings, and read what concerns them.

use serde_json::json;

use super::{Kind, Part, Render, Unrenderable, role_name};
use crate::member::{Config, Formed};

#[allow(clippy::unnecessary_wraps, reason = "one of a table")]
pub(super) fn part(render: Render<'_>) -> Result<Part, Unrenderable> {
    let name = &render.etcd.name;
    let mut rules = vec![json!({
        "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"],
        "resourceNames": [Config::name(name), Formed::name(name)],
    })];
    let pods: Vec<String> = (0..render.config.replicas).map(|ordinal| render.config.pod(ordinal)).collect();
    // A rule without names is one for all pods.
    if !pods.is_empty() {
        rules.push(json!({
            "apiGroups": [""], "resources": ["pods"], "verbs": ["get", "patch"], "resourceNames": pods,
        }));
    }
    Ok(Part::new(Kind::Role, role_name(name), "etcd-role", json!({"rules": rules})))
}
