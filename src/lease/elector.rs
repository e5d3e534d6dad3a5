//! The loop: stands, leads, has the work stopped, stands again, releases.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::candidate::{Candidate, Step, Timing};
use super::store::{Store, StoreError, Stored};
use crate::kubernetes::Backoff;

/// A candidate looks after up to this many times its usual wait.
const JITTER: f64 = 1.2;

/// Longest wait of a candidate whom the API server doesn't answer, in usual waits.
const LONGEST_WAIT: u32 = 8;

/// Why an election is over although nobody asked for its end. The process can't go on as it is.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaseError {
    /// The work under the Lease ended by itself.
    #[error("the work of the leader ended by itself: {0}")]
    WorkEnded(String),
    /// The work goes on although the Lease is lost.
    #[error("the work of the leader did not stop within {0:?} after the lease was lost")]
    WorkGoesOn(Duration),
}

/// What an elector counts.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    leader: Gauge,
    terms: Counter,
    errors: Counter,
}

impl Metrics {
    /// Shows them.
    pub fn register(&self, registry: &mut Registry) {
        self.register_as(registry, "etcd_warden", "the lease");
    }

    /// Shows them as those of the reconcile loop's lease, beside those of the certificates'.
    pub fn register_for_loop(&self, registry: &mut Registry) {
        self.register_as(registry, "etcd_warden_loop", "the loop's lease");
    }

    fn register_as(&self, registry: &mut Registry, prefix: &str, lease: &str) {
        registry.register(
            format!("{prefix}_leader"),
            format!("Whether this replica holds {lease}"),
            self.leader.clone(),
        );
        registry.register(
            format!("{prefix}_leader_terms"),
            format!("Times this replica came to hold {lease}"),
            self.terms.clone(),
        );
        registry.register(
            format!("{prefix}_lease_errors"),
            format!("Reads and writes of {lease} that failed"),
            self.errors.clone(),
        );
    }
}

/// Stands for election, and has work done while it leads.
pub struct Elector<S> {
    store: Arc<S>,
    candidate: Candidate,
    timing: Timing,
    metrics: Metrics,
    /// What is stored, as far as is known; nothing where it must be read first.
    known: Option<Stored>,
    fault: Option<String>,
}

/// Why a term is over.
enum End {
    Told,
    Lost,
    Work(Result<(), JoinError>),
}

impl<S: Store> Elector<S> {
    /// `identity` is unique among all that ever stand for this Lease, restarts included.
    pub fn new(store: S, identity: String, timing: Timing, metrics: Metrics) -> Self {
        let candidate = Candidate::new(identity, timing);
        Self { store: Arc::new(store), candidate, timing, metrics, known: None, fault: None }
    }

    /// Runs `work` in every term, until told to `stop`. The work's token is cancelled when the term is over; the work
    /// then starts nothing new and ends, and only after that does this replica stand again, or give the Lease back.
    pub async fn run<F>(
        mut self,
        stop: CancellationToken,
        mut work: impl FnMut(CancellationToken) -> F + Send,
    ) -> Result<(), LeaseError>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        while self.stand(&stop).await {
            let over = CancellationToken::new();
            let mut working = tokio::spawn(work(over.clone()));
            let end = self.lead(&stop, &mut working).await;
            over.cancel();
            self.candidate.stopped();
            self.metrics.leader.set(0);
            match end {
                End::Work(result) => return Err(self.work_ended(result).await),
                End::Lost => tracing::warn!("lease lost: the leader's work is stopped"),
                End::Told => {}
            }
            match timeout(self.timing.renew_deadline, working).await {
                Ok(Ok(())) => {}
                Ok(result @ Err(_)) => return Err(self.work_ended(result).await),
                Err(_) => return Err(LeaseError::WorkGoesOn(self.timing.renew_deadline)),
            }
            if stop.is_cancelled() {
                self.release().await;
            }
        }
        Ok(())
    }

    /// Until it leads (true), or is told to stop (false).
    async fn stand(&mut self, stop: &CancellationToken) -> bool {
        let mut backoff = Backoff::new(self.timing.retry, self.timing.retry * LONGEST_WAIT);
        loop {
            let wait = tokio::select! {
                biased;
                () = stop.cancelled() => return false,
                tried = self.attempt() => match tried {
                    Ok(true) => {
                        self.metrics.leader.set(1);
                        self.metrics.terms.inc();
                        tracing::info!("lease taken: this replica leads");
                        return true;
                    }
                    Ok(false) | Err(StoreError::Conflict) => {
                        backoff.succeeded();
                        self.timing.retry.mul_f64(1.0 + JITTER * crate::kubernetes::chance())
                    }
                    Err(StoreError::Failed(_)) => backoff.failed(),
                },
            };
            tokio::select! {
                () = stop.cancelled() => return false,
                () = sleep(wait) => {}
            }
        }
    }

    /// Renews until the term is over.
    async fn lead(&mut self, stop: &CancellationToken, working: &mut JoinHandle<()>) -> End {
        loop {
            let Some(deadline) = self.candidate.acts_until() else { return End::Lost };
            let renewal = async {
                sleep(self.timing.retry).await;
                self.attempt().await
            };
            let renewed = tokio::select! {
                biased;
                () = stop.cancelled() => return End::Told,
                result = &mut *working => return End::Work(result),
                renewed = timeout_at(deadline, renewal) => renewed,
            };
            match renewed {
                // Somebody else holds it.
                Ok(Ok(false)) | Err(_) => return End::Lost,
                Ok(Ok(true) | Err(_)) => {}
            }
        }
    }

    /// One look, and one write where it is due: whether this replica holds the Lease now.
    async fn attempt(&mut self) -> Result<bool, StoreError> {
        let attempted = self.try_once().await;
        match &attempted {
            Ok(_) => self.fault = None,
            Err(error) => self.failed(error),
        }
        attempted
    }

    async fn try_once(&mut self) -> Result<bool, StoreError> {
        // A leader knows what it wrote last, and is told where that is no longer so.
        let stored = match self.known.take() {
            Some(known) if self.candidate.acts_until().is_some() => Some(known),
            _ => self.store.read().await?,
        };
        let record = stored.as_ref().map(|stored| &stored.record);
        let Step::Write(record) = self.candidate.step(record, Instant::now(), Timestamp::now()) else {
            return Ok(false);
        };
        let sent = Instant::now();
        self.known = Some(self.store.write(record, stored.map(|stored| stored.version)).await?);
        self.candidate.accepted(sent);
        Ok(true)
    }

    fn failed(&mut self, error: &StoreError) {
        let StoreError::Failed(fault) = error else { return };
        self.metrics.errors.inc();
        if self.fault.as_ref() != Some(fault) {
            tracing::warn!(%fault, "leader election goes on trying");
            self.fault = Some(fault.clone());
        }
    }

    async fn work_ended(&mut self, result: Result<(), JoinError>) -> LeaseError {
        self.release().await;
        LeaseError::WorkEnded(
            result.map_or_else(|error| error.to_string(), |()| "without an error".to_owned()),
        )
    }

    /// So that nobody has to wait for it. What can't be given back expires.
    async fn release(&mut self) {
        match timeout(self.timing.retry, self.give_back()).await {
            Ok(Ok(())) => tracing::info!("lease released"),
            Ok(Err(error)) => tracing::warn!(%error, "lease not released: it expires"),
            Err(_) => tracing::warn!("lease not released in time: it expires"),
        }
    }

    async fn give_back(&mut self) -> Result<(), StoreError> {
        // A renewal that was cut short leaves it open what is stored.
        let known = match self.known.take() {
            Some(known) => Some(known),
            None => self.store.read().await?,
        };
        let Some(Stored { record, version }) = known else { return Ok(()) };
        if let Some(released) = self.candidate.released(&record, Timestamp::now()) {
            self.store.write(released, Some(version)).await?;
        }
        Ok(())
    }
}
