//! How many Etcds are in each phase, as their status has it: for alerts about what the loop looks after, not only about
//! the loop.

use std::sync::Arc;
use std::time::Duration;

use kube::core::DynamicObject;
use kube::runtime::reflector::Store;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use serde_json::Value;

use super::super::decide::phases;

/// Between two counts: metrics are read less often, mostly.
const BETWEEN: Duration = Duration::from_secs(5);

/// Where no phase is written yet.
const NONE: &str = "none";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Of {
    phase: &'static str,
}

/// The numbers of Etcds; all 0 where another replica leads.
#[derive(Clone, Debug)]
pub(super) struct Census {
    etcds: Family<Of, Gauge>,
    without_quorum: Gauge,
}

impl Default for Census {
    fn default() -> Self {
        let census = Self { etcds: Family::default(), without_quorum: Gauge::default() };
        census.forget();
        census
    }
}

impl Census {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "etcd_warden_loop_etcds",
            "Etcds in a phase, as the replica that leads the loop has them in status",
            self.etcds.clone(),
        );
        registry.register(
            "etcd_warden_loop_etcds_without_quorum",
            "Etcds whose condition Ready is False, as the replica that leads the loop has them in status",
            self.without_quorum.clone(),
        );
    }

    /// Counts for ever.
    pub(super) async fn keep(&self, etcds: &Store<DynamicObject>) {
        loop {
            self.count(&etcds.state());
            tokio::time::sleep(BETWEEN).await;
        }
    }

    /// This replica leads no more.
    pub(super) fn forget(&self) {
        self.count(&[]);
    }

    fn count(&self, etcds: &[Arc<DynamicObject>]) {
        let of: Vec<&str> = etcds.iter().map(|etcd| phase(etcd)).collect();
        for name in phases().chain([NONE]) {
            let number = of.iter().filter(|phase| **phase == name).count();
            self.etcds.get_or_create(&Of { phase: name }).set(gauge(number));
        }
        self.without_quorum.set(gauge(etcds.iter().filter(|etcd| has_lost_quorum(etcd)).count()));
    }
}

fn gauge(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn phase(etcd: &DynamicObject) -> &'static str {
    let said = etcd.data.pointer("/status/phase").and_then(Value::as_str);
    phases().find(|name| Some(*name) == said).unwrap_or(NONE)
}

fn has_lost_quorum(etcd: &DynamicObject) -> bool {
    let conditions = etcd.data.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|found| found["type"] == "Ready" && found["status"] == "False")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::etcds;
    use super::*;

    fn etcd(name: &str, status: &Value) -> Arc<DynamicObject> {
        let etcd = DynamicObject::new(name, &etcds()).data(json!({"status": status}));
        Arc::new(etcd)
    }

    #[test]
    fn each_etcd_is_counted_in_its_phase_and_forgotten_with_the_term() {
        let census = Census::default();
        let ready =
            |status: &str| json!([{"type": "Other", "status": "False"}, {"type": "Ready", "status": status}]);
        let etcds = [
            etcd("a", &json!({"phase": "Running", "conditions": ready("True")})),
            etcd("b", &json!({"phase": "Running", "conditions": ready("False")})),
            etcd("c", &json!({"phase": "Joining", "conditions": ready("Unknown")})),
            etcd("d", &Value::Null),
            etcd("e", &json!({"phase": "somebody else's word"})),
        ];
        let number = |phase| census.etcds.get_or_create(&Of { phase }).get();
        let numbers = || (["Running", "Joining", "Leaving", NONE].map(number), census.without_quorum.get());
        census.count(&etcds);
        assert_eq!(numbers(), ([2, 1, 0, 2], 1));
        census.forget();
        assert_eq!(numbers(), ([0; 4], 0));
        let mut registry = Registry::default();
        census.register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        assert_eq!(text.matches("etcd_warden_loop_etcds{phase=").count(), phases().count() + 1, "{text}");
    }
}
