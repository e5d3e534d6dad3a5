//! Whether a log still holds requests of the v2 API. etcd 3.5 wrote such ones whenever a member started; 3.6 reads them, and
//! 3.7 ends at the first (tried with 3.7.3). They are passed over once a snapshot that is newer than they are stands in
//! the log, which is the case some `snapshotCount` writes later.

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use prost::Message;

use super::pb::walpb::{Entry, Record, Snapshot, V2Request};
use super::version::Release;
use super::volume::Volume;
use super::wal::{self, WalError};

/// Longest record that is read, in bytes: etcd takes requests of 1.5 MiB, or what it is told.
const RECORD_MAX: u64 = 1 << 30;

const ENTRY: i64 = 2;
const SNAPSHOT: i64 = 5;

/// A log that holds such requests is read again with each snapshot, and in between too: the file of a snapshot is there a
/// moment before the log has it.
const AGAIN: Duration = Duration::from_mins(5);
/// One that holds none is read again in case there is another member that runs 3.5 yet.
const SELDOM: Duration = Duration::from_hours(1);

/// Whether the log in a data directory holds, behind its newest snapshot, a request of the v2 API.
pub fn holds_v2(data: &Path) -> Result<bool, WalError> {
    let mut latest = Latest::default();
    for file in wal::files(data)?.unwrap_or_default() {
        let mut reader = BufReader::new(wal::open(&file)?);
        // A file ends in zeros, or in a record that is being written.
        while let Ok(record) = wal::record(&mut reader, RECORD_MAX) {
            latest.note(&record);
        }
    }
    Ok(latest.request > latest.snapshot)
}

/// The highest indices in a log.
#[derive(Default)]
struct Latest {
    snapshot: u64,
    request: u64,
}

impl Latest {
    fn note(&mut self, record: &Record) {
        let (kind, data) = (record.r#type, record.data.as_slice());
        if let (SNAPSHOT, Ok(snapshot)) = (kind, Snapshot::decode(data)) {
            self.snapshot = self.snapshot.max(snapshot.index);
        }
        if let (ENTRY, Ok(entry)) = (kind, Entry::decode(data))
            && is_v2(&entry)
        {
            self.request = self.request.max(entry.index);
        }
    }
}

fn is_v2(entry: &Entry) -> bool {
    const NORMAL: i64 = 0;
    const METHODS: [&str; 5] = ["DELETE", "POST", "PUT", "QGET", "SYNC"];
    let request = V2Request::decode(entry.data.as_slice());
    entry.r#type == NORMAL && request.is_ok_and(|request| METHODS.contains(&request.method.as_str()))
}

/// What is known of the log while etcd runs on it: it is read rarely, for it has hundreds of megabytes.
#[derive(Debug, Default)]
pub struct Watched {
    last: Option<Seen>,
}

#[derive(Debug)]
struct Seen {
    at: Instant,
    snapshot: Option<PathBuf>,
    holds: bool,
}

impl Watched {
    /// What is known; nothing where it was not read.
    pub fn holds(&self) -> Option<bool> {
        self.last.as_ref().map(|seen| seen.holds)
    }

    /// Reads the log, where it may have changed what it is read for. Only of 3.6 it matters: the minors below it aren't
    /// followed by 3.7, and those above it don't run on such a log.
    pub async fn look(&mut self, etcd: Release, volume: &Volume) {
        if (etcd.major, etcd.minor) != (3, 6) {
            return;
        }
        let (now, data, snapshot) = (Instant::now(), volume.data(), volume.newest_snapshot());
        if !self.is_due(now, snapshot.as_deref()) {
            return;
        }
        let read = tokio::task::spawn_blocking(move || holds_v2(&data)).await;
        match read {
            Ok(Ok(holds)) => self.last = Some(Seen { at: now, snapshot, holds }),
            Ok(Err(error)) => tracing::warn!(%error, "can't tell whether etcd 3.7 could read the log"),
            Err(error) => tracing::warn!(%error, "can't tell whether etcd 3.7 could read the log"),
        }
    }

    fn is_due(&self, now: Instant, snapshot: Option<&Path>) -> bool {
        self.last.as_ref().is_none_or(|seen| {
            let lasts = if seen.holds { AGAIN } else { SELDOM };
            let has_another = seen.holds && seen.snapshot.as_deref() != snapshot;
            has_another || now.duration_since(seen.at) >= lasts
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::wal::tests::framed;

    fn entry(index: u64, data: Vec<u8>) -> Record {
        let entry = Entry { r#type: 0, term: 2, index, data };
        Record { r#type: ENTRY, crc: 0, data: entry.encode_to_vec() }
    }

    fn published(index: u64) -> Record {
        let path = "/0/members/8e9e05c52164694d/attributes".to_owned();
        entry(index, V2Request { method: "PUT".to_owned(), path }.encode_to_vec())
    }

    /// A put of v3: its field 4, a message, and the header's, whose number is 100.
    fn put(index: u64) -> Record {
        entry(index, vec![0x22, 0x06, 0x0a, 0x01, b'k', 0x12, 0x01, b'v', 0xa2, 0x06, 0x02, 0x08, 0x07])
    }

    fn snapshot(index: u64) -> Record {
        Record { r#type: SNAPSHOT, crc: 0, data: Snapshot { index, term: 2 }.encode_to_vec() }
    }

    fn holds(files: &[&[Record]]) -> bool {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("member/wal");
        std::fs::create_dir_all(&log).unwrap();
        for (sequence, records) in files.iter().enumerate() {
            let mut bytes: Vec<u8> = records.iter().flat_map(framed).collect();
            bytes.extend([0; 64]);
            std::fs::write(log.join(format!("{sequence:016x}-{:016x}.wal", sequence * 9)), bytes).unwrap();
        }
        holds_v2(directory.path()).unwrap()
    }

    #[test]
    fn only_what_stands_behind_the_newest_snapshot_counts() {
        let first = [snapshot(0), published(4), put(5)];
        assert!(holds(&[&first]));
        assert!(holds(&[&first, &[put(6)]]));
        assert!(holds(&[&first, &[snapshot(3)]]));
        assert!(!holds(&[&first, &[put(6), snapshot(4)]]));
        assert!(!holds(&[&first, &[snapshot(5), put(6)]]));
        assert!(holds(&[&first, &[snapshot(5), put(6), published(7)]]));
    }

    #[test]
    fn what_3_6_writes_is_none() {
        let change = Entry { r#type: 1, term: 2, index: 3, data: V2Request::default().encode_to_vec() };
        let change = Record { r#type: ENTRY, crc: 0, data: change.encode_to_vec() };
        assert!(!holds(&[&[snapshot(0), put(1), entry(2, Vec::new()), change]]));
        assert!(!holds(&[]));
    }

    #[test]
    fn a_log_is_read_again_with_each_snapshot_while_it_holds_some_and_seldom_else() {
        let (now, old) = (Instant::now(), Path::new("1.snap"));
        let seen = |holds| Watched { last: Some(Seen { at: now, snapshot: Some(old.to_owned()), holds }) };
        assert!(Watched::default().is_due(now, None));
        assert!(!seen(true).is_due(now, Some(old)));
        assert!(seen(true).is_due(now, Some(Path::new("2.snap"))));
        assert!(seen(true).is_due(now + AGAIN, Some(old)));
        assert!(!seen(false).is_due(now + AGAIN, Some(Path::new("2.snap"))));
        assert!(seen(false).is_due(now + SELDOM, Some(old)));
    }
}
