//! The thread that writes: a disk that hangs stops it, and nothing else.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::lines::{Appended, Lines, Medium};
use super::queue::{Entry, Queue, Taken, Written};
use super::{Counters, Failure};

/// One write(2) of this size stays a matter of milliseconds, and shares its cost among hundreds of records.
const BATCH_BYTES: usize = 1024 * 1024;

/// How often a medium that failed is tried again while no new record comes.
const RETRY_EVERY: Duration = Duration::from_secs(1);

/// Writes what comes through the queue until that is closed and empty.
pub(super) struct Writer<M> {
    lines: Lines<M>,
    queue: Arc<Queue>,
    counters: Counters,
    /// What a failed write kept out: tried again before anything newer. Its bytes still count in the queue.
    kept: Vec<Entry>,
    /// Whether the last write failed: the first failure is said in the log, its end too.
    failing: bool,
}

impl<M: Medium> Writer<M> {
    pub(super) fn new(medium: M, queue: Arc<Queue>, counters: Counters) -> Self {
        Self { lines: Lines::new(medium), queue, counters, kept: Vec::new(), failing: false }
    }

    /// Runs until the queue is closed and empty; what still can't be written then is given up.
    pub(super) fn run(mut self) {
        loop {
            let wait = (!self.kept.is_empty()).then_some(RETRY_EVERY);
            match self.queue.take(BATCH_BYTES, wait) {
                Taken::Some(batch) => self.kept.extend(batch),
                Taken::Nothing => {}
                Taken::Closed => break,
            }
            self.write();
        }
        if !self.kept.is_empty() {
            self.write();
        }
    }

    fn write(&mut self) {
        while !self.kept.is_empty() {
            let lines = first_bytes(&self.kept, BATCH_BYTES);
            let Appended { whole, rotated, result } = self.lines.append(&lines);
            self.counters.rotations.inc_by(u64::from(rotated));
            self.acknowledge(whole);
            self.note(&result);
            if result.is_err() {
                return self.fail_those_that_wait();
            }
        }
    }

    fn acknowledge(&mut self, whole: usize) {
        let written: Vec<Entry> = self.kept.drain(..whole).collect();
        self.queue.done(written.iter().map(|entry| entry.line.len()).sum());
        if let Some(last) = written.last() {
            self.counters.wrote(written.len() as u64, last.number);
        }
        for entry in written {
            tell(entry.waiting, Ok(()));
        }
    }

    fn fail_those_that_wait(&mut self) {
        for entry in &mut self.kept {
            self.counters.is_behind(entry.number);
            tell(entry.waiting.take(), Err(Failure::io));
        }
    }

    fn note(&mut self, result: &io::Result<()>) {
        match result {
            Err(error) if !self.failing => {
                tracing::error!(%error, "audit log can't be written: records are kept in memory, tried again every second");
            }
            Ok(()) if self.failing => tracing::info!("audit log is written again"),
            _ => {}
        }
        self.failing = result.is_err();
    }
}

fn first_bytes(entries: &[Entry], limit: usize) -> Vec<&[u8]> {
    let mut bytes = 0;
    let fits = |entry: &&Entry| {
        let first = bytes == 0;
        bytes += entry.line.len();
        first || bytes <= limit
    };
    entries.iter().take_while(fits).map(|entry| entry.line.as_slice()).collect()
}

// Whoever waited may have given up by now.
fn tell(waiting: Option<tokio::sync::oneshot::Sender<Written>>, written: Written) {
    if let Some(waiting) = waiting {
        let _ = waiting.send(written);
    }
}
