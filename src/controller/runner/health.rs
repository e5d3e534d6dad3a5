//! What the loop has to say of itself.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;

use super::census::Census;

/// What the loop counts.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    pub(super) looks: Counter,
    pub(super) writes: Counter,
    pub(super) failures: Counter,
    pub(super) census: Census,
}

impl Metrics {
    /// Shows them.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "etcd_warden_loop_looks",
            "Times an Etcd was looked at by the reconcile loop, and nothing failed",
            self.looks.clone(),
        );
        registry.register(
            "etcd_warden_loop_writes",
            "Writes of the reconcile loop, accepted or not",
            self.writes.clone(),
        );
        registry.register(
            "etcd_warden_loop_failures",
            "Looks of the reconcile loop at an Etcd that failed",
            self.failures.clone(),
        );
        self.census.register(registry);
    }
}

/// What the loop has to say of itself.
#[derive(Debug, Default)]
pub struct Health {
    pub(super) metrics: Metrics,
    /// By resource: why it can't be watched.
    faults: Mutex<BTreeMap<&'static str, String>>,
}

impl Health {
    /// Counts into `metrics`.
    pub fn new(metrics: Metrics) -> Self {
        Self { metrics, faults: Mutex::default() }
    }

    /// Why the loop is blind, wholly or in part; nothing while all is well, or another replica leads.
    pub fn fault(&self) -> Option<String> {
        let faults = self.faults();
        (!faults.is_empty()).then(|| faults.values().cloned().collect::<Vec<_>>().join("; "))
    }

    pub(super) fn seen(&self, resource: &'static str) {
        self.faults().remove(resource);
    }

    pub(super) fn unseen(&self, resource: &'static str, fault: &str) {
        let known = self.faults().insert(resource, fault.to_owned());
        if known.as_deref() == Some(fault) {
            tracing::debug!(fault, "the loop can't watch");
        } else {
            tracing::warn!(fault, "the loop can't watch");
        }
    }

    pub(super) fn rests(&self) {
        self.faults().clear();
        self.metrics.census.forget();
    }

    fn faults(&self) -> MutexGuard<'_, BTreeMap<&'static str, String>> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
