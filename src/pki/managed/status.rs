//! Faults, for the log, readiness and metrics.

use std::sync::{Mutex, MutexGuard, PoisonError};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// What is counted of certificates.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    pub(super) ca_not_after: Gauge,
    pub(super) leaves: Counter,
    pub(super) rotations: Counter,
    pub(super) repairs: Counter,
    pub(super) errors: Counter,
}

impl Metrics {
    /// Shows them.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "etcd_warden_ca_not_after_seconds",
            "End of the validity of the CA that signed the served certificate, since 1970",
            self.ca_not_after.clone(),
        );
        registry.register("etcd_warden_leaves", "Serving certificates signed in memory", self.leaves.clone());
        registry.register(
            "etcd_warden_ca_rotations",
            "Times this replica let a new CA sign",
            self.rotations.clone(),
        );
        registry.register(
            "etcd_warden_ca_bundle_repairs",
            "Times this replica put right a CA bundle that somebody overwrote",
            self.repairs.clone(),
        );
        registry.register(
            "etcd_warden_ca_errors",
            "Rounds over CA, leaf or CA bundle that failed",
            self.errors.clone(),
        );
    }
}

/// How well the certificates look after themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// All is well.
    Good,
    /// Something is to be looked after.
    Degraded(String),
    /// API servers don't trust this replica yet.
    Waiting(String),
}

/// Who tells about faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Leaf,
    Keeper,
    Watch,
}

/// What is wrong at the moment.
#[derive(Debug, Default)]
pub struct Status {
    pub(super) metrics: Metrics,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Whether the configurations have been seen to trust this replica's leaf.
    trusted: bool,
    faults: Vec<(Part, String)>,
}

impl Status {
    /// Nothing is known yet.
    pub fn new(metrics: Metrics) -> Self {
        Self { metrics, inner: Mutex::default() }
    }

    /// How things stand.
    pub fn state(&self) -> State {
        let inner = self.lock();
        let faults: Vec<&str> = inner.faults.iter().map(|(_, fault)| fault.as_str()).collect();
        match (inner.trusted, faults.join("; ")) {
            (true, faults) if faults.is_empty() => State::Good,
            (true, faults) => State::Degraded(faults),
            (false, faults) if faults.is_empty() => {
                State::Waiting("waiting for the first certificate".to_owned())
            }
            (false, faults) => State::Waiting(faults),
        }
    }

    /// From here on this replica is ready: it is trusted, or there is nobody who could.
    pub(super) fn is_trusted(&self) {
        self.lock().trusted = true;
    }

    /// What a part of the work came to; said when it changes.
    pub(super) fn came_to(&self, part: Part, fault: Option<String>) {
        let mut inner = self.lock();
        let known = inner.faults.iter().position(|(of, _)| *of == part).map(|at| inner.faults.remove(at).1);
        match &fault {
            Some(fault) if known.as_ref() != Some(fault) => {
                self.metrics.errors.inc();
                tracing::warn!(?part, %fault, "certificates need attention");
            }
            Some(_) => drop(self.metrics.errors.inc()),
            None if known.is_some() => tracing::info!(?part, "certificates are well again"),
            None => {}
        }
        inner.faults.extend(fault.map(|fault| (part, fault)));
    }

    // No code that can panic runs while the lock is held.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_waits_until_it_is_trusted_and_only_degrades_after_that() {
        let status = Status::default();
        assert!(matches!(status.state(), State::Waiting(_)));
        status.came_to(Part::Leaf, Some("no CA".to_owned()));
        assert_eq!(status.state(), State::Waiting("no CA".to_owned()));
        status.came_to(Part::Leaf, None);
        status.is_trusted();
        assert_eq!(status.state(), State::Good);
        status.came_to(Part::Keeper, Some("no permission".to_owned()));
        status.came_to(Part::Keeper, Some("no answer".to_owned()));
        assert_eq!(status.state(), State::Degraded("no answer".to_owned()));
        assert_eq!(status.metrics.errors.get(), 3);
    }
}
