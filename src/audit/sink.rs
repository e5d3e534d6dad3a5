//! What the server holds of the audit log: it hands lines in, and waits for the word that they are written.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

use super::lines::Medium;
use super::queue::{Queue, Refused, Written};
use super::writer::Writer;
use super::{Counters, Failure, Record};

/// Longest line that is kept. A review has at most 7 MiB, and its manifest is part of it.
pub(super) const RECORD_BYTES: usize = 8 * 1024 * 1024;

/// How much may wait for the disk, and who.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes of records that are not written yet.
    pub queue_bytes: usize,
    /// Reviews that may wait for their record at once; others count as failed.
    pub waiters: usize,
}

/// An audit log and the thread that writes it.
#[derive(Debug)]
pub struct Sink {
    queue: Arc<Queue>,
    waiters: Semaphore,
    counters: Counters,
}

impl Sink {
    /// Starts the writing thread. The second value resolves when that thread has ended.
    pub fn start(medium: impl Medium + 'static, bounds: Bounds) -> io::Result<(Self, oneshot::Receiver<()>)> {
        let (queue, counters) = (Arc::new(Queue::new(bounds.queue_bytes)), Counters::new());
        let writer = Writer::new(medium, Arc::clone(&queue), counters.clone());
        let (ended, end) = oneshot::channel();
        thread::Builder::new().name("audit".into()).spawn(move || {
            // Dropped when the thread ends, also by a panic.
            let _ended: oneshot::Sender<()> = ended;
            writer.run();
        })?;
        Ok((Self { queue, waiters: Semaphore::new(bounds.waiters), counters }, end))
    }

    /// What became of the records so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Hands `line` (from [`Sink::line`]) to the writer and waits up to `wait` until it is in the log.
    /// An error has been counted; the answer goes out all the same.
    pub async fn write(&self, line: Vec<u8>, wait: Duration) -> Result<(), Failure> {
        let written = self.hand_in_and_wait(line, wait).await;
        if let Err(failure) = written {
            self.counters.failed(failure);
        }
        written
    }

    async fn hand_in_and_wait(&self, line: Vec<u8>, wait: Duration) -> Written {
        if line.len() > RECORD_BYTES {
            return Err(Failure::too_large);
        }
        let Ok(_place) = self.waiters.try_acquire() else {
            let number = self.hand_in(line, None)?;
            self.counters.is_behind(number);
            return Err(Failure::waiters_full);
        };
        let (tell, told) = oneshot::channel();
        let number = self.hand_in(line, Some(tell))?;
        match timeout(wait, told).await {
            Err(_) => {
                self.counters.is_behind(number);
                Err(Failure::timeout)
            }
            Ok(Err(_)) => Err(Failure::closed),
            Ok(Ok(written)) => written,
        }
    }

    fn hand_in(&self, line: Vec<u8>, tell: Option<oneshot::Sender<Written>>) -> Result<u64, Failure> {
        self.queue.push(line, tell).map_err(|Refused(failure, last)| {
            self.counters.is_behind(last);
            failure
        })
    }

    /// One record as a line of JSON with its newline.
    pub fn line(record: &Record) -> serde_json::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        Ok(line)
    }

    /// Takes no more records; the thread ends once the rest is written.
    pub fn close(&self) {
        self.queue.close();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Mutex, PoisonError, mpsc};

    use super::*;

    const SOON: Duration = Duration::from_secs(10);
    const BOUNDS: Bounds = Bounds { queue_bytes: 64, waiters: 2 };

    #[derive(Default)]
    struct Disk {
        held: Mutex<Vec<u8>>,
        full: AtomicBool,
    }

    impl Disk {
        fn text(&self) -> String {
            String::from_utf8(self.held.lock().unwrap_or_else(PoisonError::into_inner).clone()).unwrap()
        }
    }

    impl Medium for Arc<Disk> {
        fn prepare(&mut self, _: usize) -> io::Result<bool> {
            Ok(false)
        }

        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.full.load(Ordering::SeqCst) {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.held.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn take_back(&mut self, _: usize) -> io::Result<bool> {
            Ok(true)
        }
    }

    /// Hangs in every write until its gate opens or is dropped.
    struct Hung(mpsc::Receiver<()>);

    impl Medium for Hung {
        fn prepare(&mut self, _: usize) -> io::Result<bool> {
            Ok(false)
        }

        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            Ok(bytes.len())
        }

        fn take_back(&mut self, _: usize) -> io::Result<bool> {
            Ok(true)
        }
    }

    #[tokio::test]
    async fn a_record_is_in_the_log_when_the_wait_is_over() {
        let disk = Arc::new(Disk::default());
        let (sink, end) = Sink::start(Arc::clone(&disk), BOUNDS).unwrap();
        assert_eq!(sink.write(b"one\n".to_vec(), SOON).await, Ok(()));
        assert_eq!(disk.text(), "one\n");
        assert_eq!((sink.counters().written.get(), sink.counters().degraded()), (1, false));
        sink.close();
        assert!(timeout(SOON, end).await.is_ok());
        assert_eq!(sink.write(b"two\n".to_vec(), SOON).await, Err(Failure::closed));
    }

    #[tokio::test]
    async fn a_full_disk_recovers_by_itself_and_loses_nothing() {
        let disk = Arc::new(Disk::default());
        disk.full.store(true, Ordering::SeqCst);
        let (sink, _end) = Sink::start(Arc::clone(&disk), BOUNDS).unwrap();
        assert_eq!(sink.write(b"one\n".to_vec(), SOON).await, Err(Failure::io));
        assert!(sink.counters().degraded());
        disk.full.store(false, Ordering::SeqCst);
        let recovered = async {
            while sink.counters().degraded() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        assert!(timeout(SOON, recovered).await.is_ok(), "the writer tries again by itself");
        assert_eq!(disk.text(), "one\n");
        assert_eq!((sink.counters().written.get(), sink.counters().failures(Failure::io)), (1, 1));
    }

    #[tokio::test]
    async fn a_hung_disk_costs_a_bounded_wait_and_bounded_memory() {
        let (gate, hung) = mpsc::channel();
        let (sink, _end) = Sink::start(Hung(hung), BOUNDS).unwrap();
        let short = Duration::from_millis(20);
        assert_eq!(sink.write(vec![b'a'; 32], short).await, Err(Failure::timeout));
        assert_eq!(sink.write(vec![b'b'; 32], short).await, Err(Failure::timeout));
        assert_eq!(sink.write(vec![b'c'; 32], short).await, Err(Failure::queue_full));
        drop(gate);
        while sink.counters().written.get() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(!sink.counters().degraded());
        assert_eq!(sink.write(vec![b'd'; 32], SOON).await, Ok(()));
    }

    #[tokio::test]
    async fn more_waiters_than_allowed_count_as_failed_at_once() {
        let (_gate, hung) = mpsc::channel();
        let (sink, _end) = Sink::start(Hung(hung), BOUNDS).unwrap();
        let sink = Arc::new(sink);
        let waiting: Vec<_> = (0..2)
            .map(|_| {
                let sink = Arc::clone(&sink);
                tokio::spawn(async move { sink.write(b"x\n".to_vec(), SOON).await })
            })
            .collect();
        while sink.waiters.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(sink.write(b"y\n".to_vec(), SOON).await, Err(Failure::waiters_full));
        for task in waiting {
            task.abort();
        }
    }

    #[tokio::test]
    async fn a_record_beyond_every_bound_is_refused() {
        let (sink, _end) = Sink::start(Arc::new(Disk::default()), BOUNDS).unwrap();
        assert_eq!(sink.write(vec![b'x'; RECORD_BYTES + 1], SOON).await, Err(Failure::too_large));
        assert_eq!(sink.counters().failures(Failure::too_large), 1);
    }
}
