//! Whether this process may read and write its volume: storage that ignores `fsGroup` gives it to root alone.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::process::geteuid;

/// What may not be read or written.
#[derive(Debug, PartialEq, Eq)]
pub struct Denied {
    path: PathBuf,
    cause: io::ErrorKind,
    said: String,
}

impl fmt::Display for Denied {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, cause, said } = self;
        let path = path.display();
        if *cause != io::ErrorKind::PermissionDenied {
            return write!(formatter, "{path} can't be written: {said}");
        }
        let user = geteuid().as_raw();
        write!(formatter, "user {user} may not read and write {path}{}", owner(&self.path))?;
        write!(
            formatter,
            ": the storage does not honour fsGroup, mostly: set spec.runAsRoot: true, or give the volume's files to \
             user {user}"
        )
    }
}

fn owner(path: &Path) -> String {
    fs::symlink_metadata(path).map_or_else(
        |_| String::new(),
        |found| format!(" (of {}:{}, mode {:04o})", found.uid(), found.gid(), found.mode() & 0o7777),
    )
}

/// The first thing in a volume that may not be read and written: the volume itself, or what etcd's data directory and
/// its two below hold.
pub fn denied(root: &Path, data: &Path) -> Option<Denied> {
    let parts = [data.to_owned(), data.join("member"), data.join("member/wal"), data.join("member/snap")];
    let mut directories = std::iter::once(root.to_owned()).chain(parts);
    directories.find_map(|directory| directory_denied(&directory, root))
}

fn directory_denied(directory: &Path, root: &Path) -> Option<Denied> {
    let wanted = Access::READ_OK | Access::WRITE_OK;
    let of_directory = path_denied(directory, wanted | Access::EXEC_OK);
    let files = || {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        // Beside etcd's data stand files that are none of ours, such as a file system's own.
        let mut ours = files.filter(|entry| directory != root || is_ours(&entry.file_name()));
        ours.find_map(|entry| path_denied(&entry.path(), wanted))
    };
    of_directory.or_else(files)
}

fn is_ours(name: &std::ffi::OsStr) -> bool {
    name.to_string_lossy().starts_with("etcd")
}

fn path_denied(path: &Path, wanted: Access) -> Option<Denied> {
    let error = io::Error::from(accessat(CWD, path, wanted, AtFlags::EACCESS).err()?);
    let cause = error.kind();
    (cause != io::ErrorKind::NotFound).then(|| Denied {
        path: path.to_owned(),
        cause,
        said: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ones_own_may_be_used_and_what_is_missing_is_no_fault() {
        let root = tempfile::tempdir().unwrap();
        let data = root.path().join("new.etcd");
        assert_eq!(denied(root.path(), &data), None);
        fs::create_dir_all(data.join("member/wal")).unwrap();
        fs::write(data.join("member/wal/0.wal"), "").unwrap();
        assert_eq!(denied(root.path(), &data), None);
    }

    #[test]
    fn what_can_t_be_written_is_named_with_its_remedy() {
        let denied = Denied {
            path: PathBuf::from("/nonexistent/new.etcd"),
            cause: io::ErrorKind::PermissionDenied,
            said: String::new(),
        };
        let said = denied.to_string();
        assert!(said.contains("/nonexistent/new.etcd") && said.contains("spec.runAsRoot"), "{said}");
        let read_only = Denied {
            cause: io::ErrorKind::ReadOnlyFilesystem,
            said: "Read-only file system".to_owned(),
            ..denied
        };
        assert!(read_only.to_string().contains("Read-only file system"));
    }
}
