//! What is final in the status of a completed join. At the root: a status that is removed whole has no node.

use super::fragments::has;
use super::{Validation, literal};
use crate::etcd::BOOTSTRAPPED;

const SNAPSHOT: &str = "status.bootstrapWithExistingCluster";
const CONDITIONS: &str = "status.conditions";

pub(super) fn validations() -> Vec<Validation> {
    vec![status_snapshot_write_once(), status_bootstrap_sticky()]
}

fn status_snapshot_write_once() -> Validation {
    Validation::change(
        "status-snapshot-write-once",
        "",
        format!(
            "!{} || {} && self.{SNAPSHOT} == oldSelf.{SNAPSHOT}",
            has("oldSelf", SNAPSHOT),
            has("self", SNAPSHOT)
        ),
        literal(
            "can't be changed or removed: it is the record of the cluster that was joined, and what deletion and \
             hibernation are judged by. Write it back as it is stored",
        ),
    )
    .at(".status.bootstrapWithExistingCluster")
}

fn status_bootstrap_sticky() -> Validation {
    Validation::change(
        "status-bootstrap-sticky",
        "",
        format!(
            "!{} || !{} || !oldSelf.{CONDITIONS}.exists(c, c.type == '{BOOTSTRAPPED}') || \
             {} && self.{CONDITIONS}.exists(c, c.type == '{BOOTSTRAPPED}') && \
             (oldSelf.{CONDITIONS}.exists(c, c.type == '{BOOTSTRAPPED}' && c.status != 'True') || \
             self.{CONDITIONS}.all(c, c.type != '{BOOTSTRAPPED}' || c.status == 'True'))",
            has("oldSelf", SNAPSHOT),
            has("oldSelf", CONDITIONS),
            has("self", CONDITIONS)
        ),
        literal(&format!(
            "{BOOTSTRAPPED} can't be removed, nor leave True, while status.bootstrapWithExistingCluster is set: the \
             members have joined. Keep the condition, and say what is wrong in another one"
        )),
    )
    .at(".status.conditions")
}
