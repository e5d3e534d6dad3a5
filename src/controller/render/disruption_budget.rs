//! How many members may be evicted at once: never so many that the cluster, its sources counted, loses quorum.

use serde_json::json;

use super::{Kind, Part, Render, Unrenderable, common_labels};
use crate::member::quorum;

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

/// Least number of own members that must stay. The sources have a budget of their own, as one would give them alone,
/// and what it lets go counts. One may go where the cluster survives one, or its node could never be drained.
fn least(own: u32, sources: usize) -> usize {
    let own = usize::try_from(own).unwrap_or(usize::MAX);
    let all = own.saturating_add(sources);
    if all < 2 || own == 0 {
        return 0;
    }
    let spare = survived(all);
    own.saturating_sub(spare.saturating_sub(survived(sources)).max(spare.min(1)))
}

/// How many members a cluster can do without.
fn survived(members: usize) -> usize {
    members.saturating_sub(quorum(members))
}

#[cfg(test)]
mod tests {
    use super::least;

    #[test]
    fn both_budgets_together_keep_the_quorum_of_all() {
        for (own, sources, expected) in [
            (0, 0, 0),
            (1, 0, 0),
            (3, 0, 2),
            (5, 0, 3),
            (3, 3, 2),
            (3, 1, 2),
            (1, 3, 0),
            (5, 3, 3),
            (0, 3, 0),
            (1, 1, 1),
        ] {
            assert_eq!(least(own, sources), expected, "{own} own, {sources} sources");
        }
    }
}
