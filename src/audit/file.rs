//! The medium of an audit log: a file with rotation, a lock and re-opening; or standard output.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::Medium;

/// Its owner writes, its group (a log collector's, say) reads.
const MODE: u32 = 0o640;

/// How much of the file's end is read at once to find its last newline.
const TAIL_BYTES: u64 = 64 * 1024;

/// Where records go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Standard output, for a container's log collector.
    Stdout,
    /// A file, with old ones beside it.
    File(PathBuf, Rotation),
}

/// When a file is set aside, and how many of those are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// Bytes from which on the file is set aside before the next batch.
    pub max_bytes: u64,
    /// Old files kept, as `<file>.1` (the newest) to `<file>.<n>`; with 0 the file is begun anew.
    pub max_files: u32,
}

/// Why an audit log can't be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file can't be opened, read to its end, or mended.
    #[error("can't open the audit log {path}: {cause}: make it writable, or give another with --audit-log", path = .path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// Another server holds its lock.
    #[error("the audit log {path} is in use by another server (lock file {lock}): give each its own with --audit-log", path = .path.display(), lock = .lock.display())]
    InUse {
        /// The file.
        path: PathBuf,
        /// The file that is locked in its place.
        lock: PathBuf,
    },
}

impl Target {
    /// Opens the target: the file is created, locked, and mended where its last line is torn.
    pub fn open(&self) -> Result<Box<dyn Medium>, OpenError> {
        match self {
            Self::Stdout => stdout(),
            Self::File(path, rotation) => open(path, *rotation),
        }
    }
}

// Rust's own handle buffers; a write(2) of the batch as it is keeps its lines together.
fn stdout() -> Result<Box<dyn Medium>, OpenError> {
    let unusable = |cause| OpenError::Unusable { path: "-".into(), cause };
    let stdout = io::stdout().as_fd().try_clone_to_owned().map_err(unusable)?;
    Ok(Box::new(Stream(File::from(stdout))))
}

fn open(path: &Path, rotation: Rotation) -> Result<Box<dyn Medium>, OpenError> {
    let unusable = |cause| OpenError::Unusable { path: path.to_owned(), cause };
    // A terminal, a pipe or /dev/null has neither an end nor a size.
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        let stream = OpenOptions::new().append(true).open(path).map_err(unusable)?;
        return Ok(Box::new(Stream(stream)));
    }
    let file = append_to(path).map_err(unusable)?;
    let lock = lock(path)?;
    mend(path, &file).map_err(unusable)?;
    Ok(Box::new(LogFile { path: path.to_owned(), rotation, file, _lock: lock }))
}

/// The lock is on a file of its own: the log itself changes its name when it is rotated.
fn lock(path: &Path) -> Result<File, OpenError> {
    let lock_path = with_suffix(path, ".lock");
    let unusable = |cause| OpenError::Unusable { path: lock_path.clone(), cause };
    let mut options = OpenOptions::new();
    let file =
        options.write(true).create(true).truncate(false).mode(MODE).open(&lock_path).map_err(unusable)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse { path: path.to_owned(), lock: lock_path }),
        Err(TryLockError::Error(cause)) => Err(unusable(cause)),
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create(true).mode(MODE).open(path)
}

/// A line without its newline at the end was cut off by the end of its server: nobody got its answer.
fn mend(path: &Path, file: &File) -> io::Result<()> {
    let length = file.metadata()?.len();
    let whole = after_last_newline(file, length)?;
    if whole < length {
        file.set_len(whole)?;
        tracing::warn!(file = %path.display(), bytes = length - whole, "audit log ended in a torn line: taken away");
    }
    Ok(())
}

fn after_last_newline(file: &File, length: u64) -> io::Result<u64> {
    let mut end = length;
    while end > 0 {
        let start = end.saturating_sub(TAIL_BYTES);
        let mut tail = vec![0; usize::try_from(end - start).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut tail, start)?;
        if let Some(newline) = memchr::memrchr(b'\n', &tail) {
            return Ok(start + newline as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    rotation: Rotation,
    file: File,
    _lock: File,
}

impl LogFile {
    /// Whether the name still leads to the open file: logrotate, or a person, may have moved it away.
    fn is_in_place(&self, open: &Metadata) -> bool {
        fs::metadata(&self.path).is_ok_and(|named| (named.dev(), named.ino()) == (open.dev(), open.ino()))
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.shift_old_files()?;
        self.file = append_to(&self.path)?;
        tracing::info!(file = %self.path.display(), "audit log rotated");
        Ok(())
    }

    fn shift_old_files(&self) -> io::Result<()> {
        if self.rotation.max_files == 0 {
            return fs::remove_file(&self.path);
        }
        for number in (1..self.rotation.max_files).rev() {
            rename_if_there(&self.old(number), &self.old(number + 1))?;
        }
        fs::rename(&self.path, self.old(1))
    }

    fn old(&self, number: u32) -> PathBuf {
        with_suffix(&self.path, &format!(".{number}"))
    }
}

fn rename_if_there(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

impl Medium for LogFile {
    fn prepare(&mut self, bytes: usize) -> io::Result<bool> {
        let open = self.file.metadata()?;
        if !self.is_in_place(&open) {
            self.file = append_to(&self.path)?;
            mend(&self.path, &self.file)?;
            return Ok(false);
        }
        let full = open.len() > 0 && open.len() + bytes as u64 > self.rotation.max_bytes;
        if full {
            self.rotate()?;
        }
        Ok(full)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn take_back(&mut self, bytes: usize) -> io::Result<bool> {
        let length = self.file.metadata()?.len();
        self.file.set_len(length.saturating_sub(bytes as u64))?;
        Ok(true)
    }
}

/// A medium that only takes bytes: a pipe, a terminal, a device.
struct Stream(File);

impl Medium for Stream {
    fn prepare(&mut self, _: usize) -> io::Result<bool> {
        Ok(false)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn take_back(&mut self, _: usize) -> io::Result<bool> {
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const ROTATION: Rotation = Rotation { max_bytes: 10, max_files: 2 };

    fn in_directory() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.log");
        (directory, path)
    }

    fn append(log: &mut Box<dyn Medium>, line: &str) -> bool {
        let rotated = log.prepare(line.len()).unwrap();
        assert_eq!(log.write(line.as_bytes()).unwrap(), line.len());
        rotated
    }

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap_or_default()
    }

    #[test]
    fn a_torn_last_line_is_taken_away_at_the_start() {
        let (_directory, path) = in_directory();
        let filler = "x".repeat(usize::try_from(TAIL_BYTES).unwrap());
        for (found, kept) in
            [("a\nto", "a\n"), ("torn", ""), ("", ""), ("a\n", "a\n"), (&format!("a\n{filler}"), "a\n")]
        {
            fs::write(&path, found).unwrap();
            let mut log = open(&path, ROTATION).unwrap();
            assert_eq!(text(&path), kept, "{found:.20}");
            append(&mut log, "b\n");
            assert_eq!(text(&path), format!("{kept}b\n"));
        }
    }

    #[test]
    fn files_are_set_aside_by_size_and_the_oldest_goes() {
        let (_directory, path) = in_directory();
        let mut log = open(&path, ROTATION).unwrap();
        let rotated: Vec<bool> = ["1aaaaaa\n", "2\n", "3aaaaaa\n", "4aaaaaa\n", "5aaaaaa\n"]
            .map(|line| append(&mut log, line))
            .into();
        assert_eq!(rotated, [false, false, true, true, true]);
        let old = |number: u32| text(&with_suffix(&path, &format!(".{number}")));
        assert_eq!([text(&path), old(1), old(2), old(3)], ["5aaaaaa\n", "4aaaaaa\n", "3aaaaaa\n", ""]);
    }

    #[test]
    fn without_old_files_the_log_begins_anew() {
        let (_directory, path) = in_directory();
        let mut log = open(&path, Rotation { max_bytes: 3, max_files: 0 }).unwrap();
        append(&mut log, "one\n");
        append(&mut log, "two\n");
        assert_eq!((text(&path).as_str(), with_suffix(&path, ".1").exists()), ("two\n", false));
    }

    #[test]
    fn a_file_that_was_moved_away_or_deleted_is_opened_anew() {
        let (directory, path) = in_directory();
        let mut log = open(&path, Rotation { max_bytes: 100, max_files: 2 }).unwrap();
        append(&mut log, "one\n");
        fs::rename(&path, directory.path().join("moved")).unwrap();
        append(&mut log, "two\n");
        fs::remove_file(&path).unwrap();
        append(&mut log, "three\n");
        assert_eq!([text(&directory.path().join("moved")), text(&path)], ["one\n", "three\n"]);
    }

    #[test]
    fn two_servers_never_share_a_file() {
        let (_directory, path) = in_directory();
        let _first = open(&path, ROTATION).unwrap();
        let error = open(&path, ROTATION).map(|_| ()).unwrap_err();
        assert!(matches!(&error, OpenError::InUse { .. }), "{error}");
        assert!(error.to_string().contains(path.to_str().unwrap()));
    }

    #[test]
    fn the_group_may_read_and_nobody_else() {
        let (_directory, path) = in_directory();
        let _log = open(&path, ROTATION).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & !0o640, 0, "{mode:o}");
    }

    #[test]
    fn a_device_has_no_size() {
        let mut log = open(Path::new("/dev/null"), ROTATION).unwrap();
        assert!(!append(&mut log, "longer than the rotation allows\n"));
        let mut full = open(Path::new("/dev/full"), ROTATION).unwrap();
        assert_eq!(full.write(b"x").unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
