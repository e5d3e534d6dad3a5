//! The files of one log: the one that is written, and those that were set aside.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// An open file of a log.
#[derive(Debug)]
pub(super) struct Opened {
    /// How it was called when it was opened.
    pub(super) path: PathBuf,
    /// The file.
    pub(super) file: Arc<File>,
    /// What stays the same while its name changes.
    pub(super) id: Id,
}

/// Device, inode and, where the file system knows it, the time of its making: an inode that is free is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Id(u64, u64, Option<SystemTime>);

impl Id {
    /// Of an open file.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        file.metadata().map(|metadata| Self::from(&metadata))
    }

    /// Of the file that a name leads to now.
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(|metadata| Self::from(&metadata))
    }
}

impl From<&Metadata> for Id {
    fn from(metadata: &Metadata) -> Self {
        Self(metadata.dev(), metadata.ino(), metadata.created().ok())
    }
}

/// Every file of the log at `path`, the oldest first. They are opened from the newest on: a rotation in between then
/// hands out a file twice, which shows, where the other way round it would hide one.
pub(super) fn open(path: &Path) -> io::Result<Vec<Opened>> {
    let mut files: Vec<Opened> = Vec::new();
    let old = numbers(path)?.into_iter().map(|number| with_number(path, number));
    for path in std::iter::once(path.to_owned()).chain(old) {
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            result => result?,
        };
        let id = Id::of(&file)?;
        if files.iter().all(|opened| opened.id != id) {
            files.push(Opened { path, file: Arc::new(file), id });
        }
    }
    files.reverse();
    Ok(files)
}

/// The numbers of the files that were set aside, the newest (and least) first.
fn numbers(path: &Path) -> io::Result<Vec<u64>> {
    let (Some(name), Some(folder)) = (path.file_name(), path.parent()) else { return Ok(Vec::new()) };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let prefix = format!("{}.", name.to_string_lossy());
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        numbers.extend(name.to_str().and_then(|name| number(name.strip_prefix(&prefix)?)));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// `1`, and not `01` or `+1`: the server writes no such name.
fn number(text: &str) -> Option<u64> {
    text.parse::<u64>().ok().filter(|number| number.to_string() == text)
}

fn with_number(path: &Path, number: u64) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &Path) -> Vec<String> {
        let name = |opened: Opened| opened.path.file_name().unwrap().to_string_lossy().into_owned();
        open(path).unwrap().into_iter().map(name).collect()
    }

    #[test]
    fn the_oldest_comes_first_by_number() {
        let directory = tempfile::tempdir().unwrap();
        for name in
            ["a.log", "a.log.1", "a.log.2", "a.log.10", "a.log.lock", "a.log.01", "a.log.2.gz", "b.log.1"]
        {
            fs::write(directory.path().join(name), name).unwrap();
        }
        assert_eq!(names(&directory.path().join("a.log")), ["a.log.10", "a.log.2", "a.log.1", "a.log"]);
        assert_eq!(names(&directory.path().join("a.log.2")), ["a.log.2"]);
        fs::remove_file(directory.path().join("a.log")).unwrap();
        assert_eq!(names(&directory.path().join("a.log")), ["a.log.10", "a.log.2", "a.log.1"]);
        assert!(names(&directory.path().join("c.log")).is_empty());
    }

    #[test]
    fn a_file_with_two_names_is_read_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.log");
        fs::write(&path, "").unwrap();
        fs::hard_link(&path, directory.path().join("a.log.1")).unwrap();
        assert_eq!(names(&path), ["a.log"]);
    }
}
