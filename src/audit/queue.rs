//! Lines on their way to the writer: bounded in bytes, so that a hung disk can't let memory grow.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::Failure;

/// Told to whoever waits for a record: written, or why it is not.
pub(super) type Written = Result<(), Failure>;

/// One line, ending in a newline, and who waits for it.
#[derive(Debug)]
pub(super) struct Entry {
    /// Its place among all lines ever handed in, from 1; given by [`Queue::push`].
    pub(super) number: u64,
    pub(super) line: Vec<u8>,
    pub(super) waiting: Option<oneshot::Sender<Written>>,
}

#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    arrived: Condvar,
    limit_bytes: usize,
}

#[derive(Debug, Default)]
struct State {
    entries: VecDeque<Entry>,
    /// Bytes of `entries`, and of what the writer has taken and not done with.
    bytes: usize,
    /// How many lines were ever handed in.
    pushed: u64,
    closed: bool,
}

/// Why a line did not get in, and the number of the last one that did.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refused(pub(super) Failure, pub(super) u64);

/// What the writer woke up to.
#[derive(Debug)]
pub(super) enum Taken {
    /// Lines, in their order; at least one.
    Some(Vec<Entry>),
    /// Nothing came in the time it wanted to wait.
    Nothing,
    /// Nothing is left, and nothing will come any more.
    Closed,
}

impl Queue {
    pub(super) fn new(limit_bytes: usize) -> Self {
        Self { state: Mutex::default(), arrived: Condvar::new(), limit_bytes }
    }

    /// Adds a line and says its number, unless the bytes in the queue would pass the limit.
    pub(super) fn push(
        &self,
        line: Vec<u8>,
        waiting: Option<oneshot::Sender<Written>>,
    ) -> Result<u64, Refused> {
        let mut state = self.state();
        if state.closed {
            return Err(Refused(Failure::closed, state.pushed));
        }
        if state.bytes + line.len() > self.limit_bytes {
            return Err(Refused(Failure::queue_full, state.pushed));
        }
        state.pushed += 1;
        state.bytes += line.len();
        let number = state.pushed;
        state.entries.push_back(Entry { number, line, waiting });
        self.arrived.notify_one();
        Ok(number)
    }

    /// Lines of up to `batch_bytes` together (one line at least), waiting for the first up to `wait`.
    /// Their bytes count until [`Queue::done`].
    pub(super) fn take(&self, batch_bytes: usize, wait: Option<Duration>) -> Taken {
        let mut state = self.wait(wait);
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while let Some(next) = state.entries.front() {
            if !batch.is_empty() && bytes + next.line.len() > batch_bytes {
                break;
            }
            bytes += next.line.len();
            batch.extend(state.entries.pop_front());
        }
        match (batch.is_empty(), state.closed) {
            (false, _) => Taken::Some(batch),
            (true, true) => Taken::Closed,
            (true, false) => Taken::Nothing,
        }
    }

    /// Gives `bytes` that were taken free for others.
    pub(super) fn done(&self, bytes: usize) {
        let mut state = self.state();
        state.bytes = state.bytes.saturating_sub(bytes);
    }

    /// Nothing is added from here on; the writer ends when it has taken the rest.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.arrived.notify_all();
    }

    fn wait(&self, wait: Option<Duration>) -> MutexGuard<'_, State> {
        let nothing = |state: &mut State| state.entries.is_empty() && !state.closed;
        let state = self.state();
        match wait {
            None => self.arrived.wait_while(state, nothing).unwrap_or_else(PoisonError::into_inner),
            Some(wait) => {
                let waited = self.arrived.wait_timeout_while(state, wait, nothing);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        }
    }

    // No code that can panic runs while the lock is held: a poisoned lock is as good as any.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(queue: &Queue, bytes: usize) -> Result<u64, Failure> {
        queue.push(vec![b'x'; bytes], None).map_err(|Refused(failure, _)| failure)
    }

    fn taken(queue: &Queue, batch_bytes: usize) -> usize {
        match queue.take(batch_bytes, Some(Duration::ZERO)) {
            Taken::Some(batch) => batch.len(),
            Taken::Nothing | Taken::Closed => 0,
        }
    }

    #[test]
    fn bytes_count_until_the_writer_is_done_with_them() {
        let queue = Queue::new(10);
        assert_eq!(push(&queue, 6), Ok(1));
        assert_eq!(push(&queue, 6), Err(Failure::queue_full));
        assert_eq!(taken(&queue, 100), 1);
        assert_eq!(push(&queue, 6), Err(Failure::queue_full), "taken is not done");
        queue.done(6);
        assert_eq!(push(&queue, 6), Ok(2));
    }

    #[test]
    fn a_batch_is_bounded_and_never_empty() {
        let queue = Queue::new(100);
        for bytes in [4, 4, 4, 20] {
            assert!(push(&queue, bytes).is_ok());
        }
        assert_eq!(taken(&queue, 8), 2);
        assert_eq!(taken(&queue, 8), 1);
        assert_eq!(taken(&queue, 8), 1, "a line longer than a batch goes alone");
        assert_eq!(taken(&queue, 8), 0);
    }

    #[test]
    fn a_closed_queue_is_emptied_first() {
        let queue = Queue::new(100);
        assert_eq!(push(&queue, 4), Ok(1));
        queue.close();
        assert_eq!(push(&queue, 4), Err(Failure::closed));
        assert!(matches!(queue.take(8, None), Taken::Some(_)));
        assert!(matches!(queue.take(8, None), Taken::Closed));
    }
}
