//! What members run as.

use serde_json::json;

use super::{Kind, Part, Render, Unrenderable};

#[allow(clippy::unnecessary_wraps, reason = "one of a table")]
pub(super) fn part(render: Render<'_>) -> Result<Part, Unrenderable> {
    // The pods ask for their token themselves: nobody else who runs as this account gets one by chance.
    let content = json!({"automountServiceAccountToken": false});
    Ok(Part::new(Kind::ServiceAccount, &render.etcd.name, "etcd-service-account", content))
}
