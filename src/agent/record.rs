//! The agent's own record beside etcd's data: what this volume has been through, so that an empty data directory is
//! never mistaken for a new one.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::member::{ClusterId, Config, MemberId};

use super::facts::Noted;

/// A volume's past.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Record {
    /// UID of the Etcd that it is a volume of.
    pub etcd: String,
    /// The pod that it is a volume of: another pod's record came with another pod's volume.
    pub pod: String,
    /// How often etcd was executed.
    pub starts: u64,
    /// Where the member in it stands.
    pub life: Life,
    /// Release of etcd that ran last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// How the member runs, as it was read last: a start needs no API server.
    pub config: Config,
}

/// Where a volume's member stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Life {
    /// It took this word to form; the ids are in the log as soon as there is one.
    Forming {
        /// The word's token.
        token: String,
    },
    /// It is in the member list, and etcd was never executed for it.
    Prepared {
        /// Its id.
        id: MemberId,
        /// Its cluster's id.
        cluster: ClusterId,
    },
    /// etcd was executed.
    Running {
        /// Its id.
        id: MemberId,
        /// Its cluster's id.
        cluster: ClusterId,
    },
    /// It removes itself, or has, to join anew with another id.
    Rejoining {
        /// The id that it gives up.
        id: MemberId,
        /// Its cluster's id.
        cluster: ClusterId,
    },
    /// It left on the loop's word, for good.
    Left {
        /// The id that it had.
        id: MemberId,
        /// The cluster that it left.
        cluster: ClusterId,
    },
}

impl Life {
    /// The member's id, where it is known.
    pub const fn id(&self) -> Option<MemberId> {
        match self {
            Self::Forming { .. } => None,
            Self::Prepared { id, .. }
            | Self::Running { id, .. }
            | Self::Rejoining { id, .. }
            | Self::Left { id, .. } => Some(*id),
        }
    }

    /// The cluster's id, where it is known.
    pub const fn cluster(&self) -> Option<ClusterId> {
        match self {
            Self::Forming { .. } => None,
            Self::Prepared { cluster, .. }
            | Self::Running { cluster, .. }
            | Self::Rejoining { cluster, .. }
            | Self::Left { cluster, .. } => Some(*cluster),
        }
    }
}

/// The file that holds a record: it stands beside the data directory.
#[derive(Clone, Debug)]
pub struct RecordFile {
    path: PathBuf,
}

impl RecordFile {
    /// The record of a volume.
    pub fn in_volume(volume: &Path) -> Self {
        Self { path: volume.join("etcd-warden.json") }
    }

    /// Reads it.
    pub fn read(&self) -> Noted {
        let unreadable = |fault: String| Noted::Unreadable(format!("{}: {fault}", self.path.display()));
        match fs::read(&self.path) {
            Ok(bytes) => match serde_json::from_slice(&bytes) {
                Ok(record) => Noted::Record(Box::new(record)),
                Err(error) => unreadable(error.to_string()),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Noted::None,
            Err(error) => unreadable(error.to_string()),
        }
    }

    /// Writes it: after a loss of power, either the old one is there or the new one, whole.
    pub fn write(&self, record: &Record) -> io::Result<()> {
        let new = self.path.with_extension("json.new");
        let mut file = File::create(&new)?;
        file.write_all(&serde_json::to_vec(record)?)?;
        file.sync_all()?;
        fs::rename(&new, &self.path)?;
        sync_parent(&self.path)
    }

    /// Takes it away, where it is there.
    pub fn forget(&self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Ok(()) => sync_parent(&self.path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Makes a rename or a removal outlast a loss of power.
pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::record;

    #[test]
    fn a_record_is_read_as_it_was_written_and_forgotten_once() {
        let volume = tempfile::tempdir().unwrap();
        let file = RecordFile::in_volume(volume.path());
        assert_eq!(file.read(), Noted::None);
        let written = record(Life::Running { id: MemberId(7), cluster: ClusterId(9) });
        file.write(&written).unwrap();
        assert_eq!(file.read(), Noted::Record(Box::new(written)));
        file.forget().unwrap();
        file.forget().unwrap();
        assert_eq!(file.read(), Noted::None);
    }

    #[test]
    fn half_a_record_is_an_earlier_life() {
        let volume = tempfile::tempdir().unwrap();
        fs::write(volume.path().join("etcd-warden.json"), "{\"etcd\":").unwrap();
        let Noted::Unreadable(fault) = RecordFile::in_volume(volume.path()).read() else { panic!() };
        assert!(fault.contains("etcd-warden.json"), "{fault}");
    }
}
