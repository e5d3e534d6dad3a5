//! How many members may be evicted at once: never so many that the cluster, its sources counted, loses quorum.

use serde_json::json;

use super::{Kind, Part, Render, Unrenderable, common_labels};

#[allow(clippy::unnecessary_wraps, reason = "one of a table")]
pub(super) fn part(render: Render<'_>) -> Result<Part, Unrenderable> {
    // Members that have no vote hold up nothing.
    let unhealthy = if render.standing.has_voter { "IfHealthyBudget" } else { "AlwaysAllow" };
    let content = json!({"spec": {
        "minAvailable": least(render.etcd.spec.replicas, render.standing.sources),
        "unhealthyPodEvictionPolicy": unhealthy,
        "selector": {"matchLabels": common_labels(&render.etcd.name)},
    }});
    Ok(Part::new(Kind::PodDisruptionBudget, &render.etcd.name, "etcd-pdb", content).owned())
}

/// Least number of own members that must stay: the sources count as present. One alone may go, as with etcd-druid, or
/// its node could never be drained.
fn least(own: u32, sources: usize) -> usize {
    let own = usize::try_from(own).unwrap_or(usize::MAX);
    let all = own.saturating_add(sources);
    if all < 2 || own == 0 { 0 } else { (all / 2 + 1).saturating_sub(sources) }
}

#[cfg(test)]
mod tests {
    use super::least;

    #[test]
    fn quorum_of_all_is_kept_with_the_sources_present() {
        for (own, sources, expected) in [
            (0, 0, 0),
            (1, 0, 0),
            (3, 0, 2),
            (5, 0, 3),
            (3, 3, 1),
            (3, 1, 2),
            (1, 3, 0),
            (5, 3, 2),
            (0, 3, 0),
            (1, 1, 1),
        ] {
            assert_eq!(least(own, sources), expected, "{own} own, {sources} sources");
        }
    }
}
