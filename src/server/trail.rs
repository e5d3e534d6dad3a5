//! Writes down what was decided, before the answer leaves.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::oneshot;

use crate::admission::Outcome;
use crate::audit::{Bounds, Counters, OpenError, Record, Seen, Sink, Stage};

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
        if record.stage == Stage::Mutate && !self.is_new(&record) {
            return;
        }
        let Ok(Ok(line)) = call.run(move || Sink::line(&record)).await else {
            tracing::error!(uid = %outcome.facts.uid, "audit record can't be made into JSON");
            return;
        };
        let left = call.deadline().saturating_duration_since(tokio::time::Instant::now());
        if let Err(reason) = self.sink.write(line, AUDIT_WAIT.min(left)).await {
            tracing::warn!(uid = %outcome.facts.uid, ?reason, "audit record not written before its answer");
        }
    }

    fn is_new(&self, record: &Record) -> bool {
        // No code that can panic runs while the lock is held.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).is_new(record, Instant::now())
    }

    /// Takes no more records; the thread ends once the rest is written.
    pub(super) fn close(&self) {
        self.sink.close();
    }
}
