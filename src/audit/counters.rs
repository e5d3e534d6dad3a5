//! What became of the records, as metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

/// Why a record counts as failed. Some of them may still be written later: the log is behind, not broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
#[allow(non_camel_case_types, reason = "the names are the metric's label values")]
pub enum Failure {
    /// The queue's bytes are used up: the writer hangs, or the disk has been full for long. Lost.
    queue_full,
    /// Too many reviews already wait for the writer; the record is queued, nobody waits for it.
    waiters_full,
    /// Not written in time; the record is still queued.
    timeout,
    /// The write failed; the record is kept for another try.
    io,
    /// The record alone is longer than any that is kept. Lost.
    too_large,
    /// The writer has ended. Lost.
    closed,
}

impl Failure {
    /// Every reason, for metrics that start at zero.
    pub const ALL: [Self; 6] =
        [Self::queue_full, Self::waiters_full, Self::timeout, Self::io, Self::too_large, Self::closed];

    /// Whether the record is gone, and not only late.
    pub fn is_loss(self) -> bool {
        matches!(self, Self::queue_full | Self::too_large | Self::closed)
    }
}

/// The label of the failure counter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct FailureLabel {
    reason: Failure,
}

/// Counts of an audit log, shared between its writer, its sink and whoever shows them.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// Records that are in the log.
    pub written: Counter,
    /// Records that were not in the log when their answer left.
    pub failed: Family<FailureLabel, Counter>,
    /// Times that the file was set aside for a new one.
    pub rotations: Counter,
    /// The records are numbered as they are handed in, from 1: the last one that failed although it was to
    /// be written, and the last one written. A flag instead of numbers could be set after the write that
    /// was to clear it, and stay.
    behind: Arc<AtomicU64>,
    written_through: Arc<AtomicU64>,
}

impl Counters {
    /// Counters at zero, with every reason present.
    pub fn new() -> Self {
        let counters = Self::default();
        for reason in Failure::ALL {
            drop(counters.failed.get_or_create(&FailureLabel { reason }));
        }
        counters
    }

    /// How many records failed for `reason`.
    pub fn failures(&self, reason: Failure) -> u64 {
        self.failed.get_or_create(&FailureLabel { reason }).get()
    }

    /// Whether a record failed that has not been written since.
    pub fn degraded(&self) -> bool {
        self.behind.load(Ordering::SeqCst) > self.written_through.load(Ordering::SeqCst)
    }

    /// One more that failed.
    pub fn failed(&self, reason: Failure) {
        self.failed.get_or_create(&FailureLabel { reason }).inc();
    }

    /// The record `number` should be in the log by now, and is not.
    pub(crate) fn is_behind(&self, number: u64) {
        self.behind.fetch_max(number, Ordering::SeqCst);
    }

    /// So many records more are in the log, the last of them `number`.
    pub(crate) fn wrote(&self, records: u64, number: u64) {
        self.written.inc_by(records);
        self.written_through.fetch_max(number, Ordering::SeqCst);
    }
}
