//! Writes down what was decided, before the answer leaves.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::oneshot;

use crate::admission::Outcome;
use crate::audit::{Bounds, Counters, Decision, Failure, Key, OpenError, Seen, Sink};

use super::Config;
use super::config::Audit;
use super::decide::Call;
use super::limits::{AUDIT_QUEUE_BYTES, AUDIT_WAIT};

/// Why there is no audit log.
#[derive(Debug, thiserror::Error)]
pub enum TrailError {
    /// The file can't be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// There is no thread for it.
    #[error("can't start the thread that writes the audit log: {0}")]
    Thread(#[from] io::Error),
}

/// The audit log of a server, and what has been in it lately.
#[derive(Debug)]
pub(super) struct Trail {
    sink: Sink,
    seen: Mutex<Seen>,
}

impl Trail {
    /// Opens the audit log. The second value resolves when its thread has ended.
    pub(super) fn open(config: &Config, audit: &Audit) -> Result<(Self, oneshot::Receiver<()>), TrailError> {
        let bounds =
            Bounds { queue_bytes: AUDIT_QUEUE_BYTES, waiters: (config.limits.max_concurrent / 2).max(1) };
        let (sink, end) = Sink::start(audit.target.open()?, bounds)?;
        Ok((Self { sink, seen: Mutex::default() }, end))
    }

    pub(super) fn counters(&self) -> &Counters {
        self.sink.counters()
    }

    /// Writes the outcome's record, if it has one that is news, and waits for it a little. Whatever comes of
    /// that, the answer goes out as it was decided.
    pub(super) async fn write(&self, call: &Call, outcome: &mut Outcome) {
        let Some(mut record) = outcome.record.take() else { return };
        record.time = format!("{:.3}", jiff::Timestamp::now());
        record.duration_micros = u64::try_from(call.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        let once = (record.decision == Decision::Found).then(|| Key::of(&record));
        if once.as_ref().is_some_and(|key| !self.seen().is_new(key, Instant::now())) {
            return;
        }
        let Ok(Ok(line)) = call.run(move || Sink::line(&record)).await else {
            self.counters().failed(Failure::io);
            tracing::error!(uid = %outcome.facts.uid, "audit record can't be made into JSON");
            return;
        };
        let left = call.deadline().saturating_duration_since(tokio::time::Instant::now());
        if let Err(reason) = self.sink.write(line, AUDIT_WAIT.min(left)).await {
            tracing::warn!(uid = %outcome.facts.uid, ?reason, "audit record not written before its answer");
            if let Some(key) = once.filter(|_| reason.is_loss()) {
                self.seen().forget(&key);
            }
        }
    }

    // No code that can panic runs while the lock is held.
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes no more records; the thread ends once the rest is written.
    pub(super) fn close(&self) {
        self.sink.close();
    }
}
