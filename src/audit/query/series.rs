//! The files of one log: the one that is written, and those that were set aside.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::AsFd;
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

    /// Of the file that a stream leads to; nothing where it is a pipe or a device.
    pub(super) fn behind(stream: &impl AsFd) -> Option<Self> {
        let file = File::from(stream.as_fd().try_clone_to_owned().ok()?);
        let metadata = file.metadata().ok()?;
        metadata.is_file().then(|| Self::from(&metadata))
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
    let (Some(name), Some(folder)) = (path.file_name(), folder(path)) else { return Ok(Vec::new()) };
    let prefix = format!("{}.", name.to_string_lossy());
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        numbers.extend(name.to_str().and_then(|name| number(name.strip_prefix(&prefix)?)));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Files beside the log that another rotation has named, such as `audit.log.2.gz` or `audit.log-20261129`; by name.
pub(super) fn passed_over(path: &Path) -> io::Result<Vec<PathBuf>> {
    let (Some(log), Some(folder)) = (path.file_name(), folder(path)) else { return Ok(Vec::new()) };
    let log = log.to_string_lossy();
    let is_another = |name: &str| {
        let end = name.strip_prefix(log.as_ref()).and_then(|end| end.strip_prefix(['.', '-']));
        end.is_some_and(|end| end.starts_with(|c: char| c.is_ascii_digit())) && !belongs(&log, name)
    };
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        names.extend(is_another(&name.to_string_lossy()).then(|| path.with_file_name(&name)));
    }
    names.sort_unstable();
    Ok(names)
}

/// Whether the server that writes the log has use for a name: for the log, for the files that are set aside, for its
/// lock. What is written there is taken for a part of the log, or goes with the next rotation.
pub(super) fn claims(log: &Path, name: &Path) -> bool {
    let wanted = places(name);
    places(log).iter().any(|(folder, log)| {
        let taken = |name: &str| [log.as_str(), live(log)].iter().any(|log| belongs(log, name));
        wanted.iter().any(|(wanted, name)| wanted == folder && taken(name))
    })
}

/// Folder and name of a path, as it is written and as its links lead.
fn places(path: &Path) -> Vec<(PathBuf, String)> {
    let split = |path: &Path| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        Some((fs::canonicalize(folder(path)?).ok()?, name))
    };
    let led = fs::canonicalize(path).ok();
    split(path).into_iter().chain(led.as_deref().and_then(split)).collect()
}

/// The name of the log that is written, of that or of a file that was set aside.
fn live(name: &str) -> &str {
    name.rsplit_once('.').filter(|(_, end)| number(end).is_some()).map_or(name, |(live, _)| live)
}

fn belongs(log: &str, name: &str) -> bool {
    let end = name.strip_prefix(log);
    end.is_some_and(|end| matches!(end, "" | ".lock") || end.strip_prefix('.').and_then(number).is_some())
}

fn folder(path: &Path) -> Option<&Path> {
    let folder = path.parent()?;
    Some(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
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
        fs::write(directory.path().join("a.log-20261129"), "").unwrap();
        fs::write(directory.path().join("a.log.html"), "").unwrap();
        let others = ["a.log-20261129", "a.log.01", "a.log.2.gz"].map(|name| directory.path().join(name));
        assert_eq!(passed_over(&directory.path().join("a.log")).unwrap(), others);
    }

    #[test]
    fn a_log_has_use_for_its_own_name_its_numbers_and_its_lock() {
        for (log, name, is_claimed) in [
            ("a.log", "a.log", true),
            ("a.log", "a.log.1", true),
            ("a.log", "a.log.123", true),
            ("a.log", "a.log.lock", true),
            ("a.log", "a.log.01", false),
            ("a.log", "a.log.html", false),
            ("a.log", "a.log1", false),
            ("a.log", "b.log.1", false),
            ("a.log.2", "a.log", true),
            ("a.log.2", "a.log.7", true),
            ("a.log.2", "a.log.lock", true),
            ("a.log.2", "a.log.2.1", true),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let in_it = |name| directory.path().join(name);
            assert_eq!(claims(&in_it(log), &in_it(name)), is_claimed, "{log} {name}");
            assert!(!claims(&in_it(log), Path::new(name)), "another folder");
        }
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
