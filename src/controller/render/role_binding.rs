//! Gives the members what they may do.

use serde_json::json;

use super::{Kind, Part, Render, Unrenderable, role_name};

#[allow(clippy::unnecessary_wraps, reason = "one of a table")]
pub(super) fn part(render: Render<'_>) -> Result<Part, Unrenderable> {
    let name = role_name(&render.etcd.name);
    let content = json!({
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": render.etcd.name, "namespace": render.etcd.namespace}],
    });
    Ok(Part::new(Kind::RoleBinding, name, "etcd-role-binding", content))
}
