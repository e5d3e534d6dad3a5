//! A member's volume: etcd's data directory, and what stands beside it.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::access::{self, Denied};
use super::facts::Data;
use super::record::{RecordFile, sync_parent};
use super::wal;

/// Name of etcd's data directory, as etcd-druid has it.
const DATA: &str = "new.etcd";

/// A member's volume.
#[derive(Clone, Debug)]
pub struct Volume {
    root: PathBuf,
}

impl Volume {
    /// The volume that is mounted at `root`.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Where it is mounted.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// etcd's data directory.
    pub fn data(&self) -> PathBuf {
        self.root.join(DATA)
    }

    /// The record beside it.
    pub fn record(&self) -> RecordFile {
        RecordFile::in_volume(&self.root)
    }

    /// Keeps other agents out for as long as it is held. The kernel gives it back when its holder ends, however that is.
    pub fn lock(&self) -> Result<File, TryLockError> {
        let root = File::open(&self.root).map_err(TryLockError::Error)?;
        root.try_lock()?;
        Ok(root)
    }

    /// What is in etcd's data directory.
    pub fn look(&self) -> Data {
        match wal::read(&self.data()) {
            Ok(Some((member, cluster))) => Data::Log { member, cluster },
            Ok(None) => self.without_log(),
            Err(error) => Data::Unreadable(error.to_string()),
        }
    }

    fn without_log(&self) -> Data {
        let path = self.data();
        match fs::read_dir(&path).and_then(|mut entries| entries.next().transpose()) {
            Ok(Some(_)) => Data::Half,
            Ok(None) => Data::None,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Data::None,
            Err(error) => Data::Unreadable(format!("can't read {}: {error}", path.display())),
        }
    }

    /// What in it may not be read and written.
    pub fn denied(&self) -> Option<Denied> {
        access::denied(&self.root, &self.data())
    }

    /// Bytes of the snapshots that were received, or are being received, as far as they tell that something moves.
    pub fn received(&self) -> u64 {
        self.snapshots().filter_map(|entry| entry.metadata().ok()).map(|found| found.len()).sum()
    }

    /// The newest snapshot of the log: their names are in the order of its entries.
    pub fn newest_snapshot(&self) -> Option<PathBuf> {
        let paths = self.snapshots().map(|entry| entry.path());
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "snap")).max()
    }

    fn snapshots(&self) -> impl Iterator<Item = fs::DirEntry> {
        fs::read_dir(self.data().join("member/snap")).into_iter().flatten().flatten()
    }

    /// Renames the data directory; an older copy makes room, so that a volume never fills up with copies.
    pub fn set_aside(&self) -> io::Result<()> {
        let (data, aside) = (self.data(), self.root.join(format!("{DATA}.aside")));
        match fs::remove_dir_all(&aside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => fs::rename(&data, &aside)?,
        }
        sync_parent(&data)
    }

    /// Bytes that can still be written.
    pub fn free(&self) -> io::Result<u64> {
        let statistics = rustix::fs::statvfs(&self.root)?;
        Ok(statistics.f_bavail.saturating_mul(statistics.f_frsize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_volume_and_half_a_directory_are_told_apart() {
        let root = tempfile::tempdir().unwrap();
        let volume = Volume::new(root.path());
        assert_eq!(volume.look(), Data::None);
        fs::create_dir_all(volume.data()).unwrap();
        assert_eq!(volume.look(), Data::None);
        fs::create_dir_all(volume.data().join("member/snap")).unwrap();
        assert_eq!(volume.look(), Data::Half);
        fs::create_dir_all(volume.data().join("member/wal")).unwrap();
        assert!(matches!(volume.look(), Data::Unreadable(_)));
    }

    #[test]
    fn data_is_renamed_and_one_copy_is_kept() {
        let root = tempfile::tempdir().unwrap();
        let volume = Volume::new(root.path());
        for life in ["first", "second"] {
            fs::create_dir_all(volume.data().join("member")).unwrap();
            fs::write(volume.data().join("member/life"), life).unwrap();
            volume.set_aside().unwrap();
            assert_eq!(volume.look(), Data::None);
        }
        let kept = fs::read_to_string(root.path().join("new.etcd.aside/member/life")).unwrap();
        assert_eq!((kept.as_str(), fs::read_dir(root.path()).unwrap().count()), ("second", 1));
        assert!(volume.free().unwrap() > 0);
    }

    #[test]
    fn one_agent_at_a_time_has_a_volume() {
        let root = tempfile::tempdir().unwrap();
        let volume = Volume::new(root.path());
        let held = volume.lock().unwrap();
        assert!(matches!(volume.lock(), Err(TryLockError::WouldBlock)));
        drop(held);
        volume.lock().unwrap();
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0, "an empty volume stays one");
    }

    #[test]
    fn a_snapshot_that_is_received_grows() {
        let root = tempfile::tempdir().unwrap();
        let volume = Volume::new(root.path());
        assert_eq!(volume.received(), 0);
        let snapshots = volume.data().join("member/snap");
        fs::create_dir_all(&snapshots).unwrap();
        fs::write(snapshots.join("tmp123"), "half").unwrap();
        fs::write(snapshots.join("db"), "db").unwrap();
        assert_eq!(volume.received(), 6);
        assert_eq!(volume.newest_snapshot(), None);
        let named = ["0000000000000002-0000000000000021.snap", "0000000000000002-0000000000000011.snap"]
            .map(|name| snapshots.join(name));
        for path in &named {
            fs::write(path, "").unwrap();
        }
        assert_eq!(volume.newest_snapshot().as_ref(), Some(&named[0]));
    }
}
