//! A log, read from its oldest record to its newest, and on while it is written.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::item::{Recorded, Skipped};
use super::lines::{Line, Lines};
use super::series::{self, Id, Opened};

/// Read at once: few system calls, and still little.
const BUFFER_BYTES: usize = 256 * 1024;

/// What a log is made of.
pub type Item = Result<Recorded, Skipped>;

/// Why a log can't be read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// Nothing is there.
    #[error("there is no audit log {path}: name the file that the server's --audit-log names, or - for standard input", path = .0.display())]
    Missing(PathBuf),
    /// What is there may not be read, or can't be.
    #[error("can't read the audit log {path}: {cause}", path = .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// A folder was named.
    #[error("{path} is a folder: name the audit log in it, {example} for instance", path = .0.display(), example = .0.join("audit.log").display())]
    Folder(PathBuf),
    /// What is there has to go through another program first.
    #[error("{} is compressed: read it with `{program} {} | etcd-warden audit ... -`", named(.file), if .file == STDIN { "FILE" } else { .file })]
    Compressed {
        /// The file, or `-`.
        file: String,
        /// The program that reads it.
        program: &'static str,
    },
}

/// The name of standard input.
const STDIN: &str = "-";

fn named(file: &str) -> &str {
    if file == STDIN { "standard input" } else { file }
}

/// What compressed files begin with, and the program that reads them.
const COMPRESSED: [(&[u8], &str); 4] =
    [(b"\x1f\x8b", "zcat"), (b"\x28\xb5\x2f\xfd", "zstdcat"), (b"\xfd7zXZ\x00", "xzcat"), (b"BZh", "bzcat")];

/// One log: a file with those that were set aside beside it, or a stream.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    current: Option<Reading>,
    waiting: VecDeque<Opened>,
    /// Which files of the log have been handed out, of those that are still there.
    known: Vec<Id>,
    /// The file that standard input is, where it is one.
    stdin: Option<Id>,
    /// Whether the end of the last file is only the end for now.
    follows: bool,
}

/// The file that is read.
#[derive(Debug)]
struct Reading {
    name: String,
    lines: Lines<BufReader<Input>>,
    /// Where it is a file: for whoever follows it.
    file: Option<(Arc<File>, Id)>,
}

#[derive(Debug)]
enum Input {
    File(Arc<File>),
    Stdin(io::Stdin),
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer),
            Self::Stdin(stdin) => stdin.read(buffer),
        }
    }
}

impl Reading {
    fn new(name: String, input: Input, file: Option<(Arc<File>, Id)>) -> Self {
        Self { name, lines: Lines::new(BufReader::with_capacity(BUFFER_BYTES, input)), file }
    }

    fn of(Opened { path, file, id }: Opened) -> Self {
        Self::new(path.display().to_string(), Input::File(Arc::clone(&file)), Some((file, id)))
    }

    /// Refuses what isn't text, before its first line.
    fn check(&mut self) -> Result<(), LogError> {
        if self.lines.read() != (0, 0) {
            return Ok(());
        }
        let begins =
            self.lines.ahead().map_err(|cause| LogError::unreadable(Path::new(&self.name), cause))?;
        match COMPRESSED.iter().find(|(magic, _)| begins.starts_with(magic)) {
            Some((_, program)) => Err(LogError::Compressed { file: self.name.clone(), program }),
            None => Ok(()),
        }
    }

    fn item(&self, line: Line) -> Option<Item> {
        let named = |why| Skipped { file: self.name.clone(), line: self.lines.number(), why };
        Recorded::read(line).map_err(named).transpose()
    }
}

impl LogError {
    fn unreadable(path: &Path, cause: io::Error) -> Self {
        Self::Unreadable { path: path.to_owned(), cause }
    }
}

impl Log {
    /// Files beside the log that look like older parts of it, and aren't read: the server sets none aside so.
    pub fn passed_over(&self) -> Vec<PathBuf> {
        if self.path == Path::new(STDIN) {
            return Vec::new();
        }
        // The log itself can be read: that its folder can't be listed hides nothing that was asked for.
        series::passed_over(&self.path).unwrap_or_default()
    }

    /// The log at `path`, with the files that were set aside; `-` is standard input.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        let unreadable = |cause| LogError::unreadable(path, cause);
        let mut log = Self {
            path: path.to_owned(),
            current: None,
            waiting: VecDeque::new(),
            known: Vec::new(),
            stdin: None,
            follows: false,
        };
        if path.as_os_str() == STDIN {
            log.stdin = Id::behind(&io::stdin());
            log.current = Some(Reading::new(STDIN.to_owned(), Input::Stdin(io::stdin()), None));
            return Ok(log);
        }
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => return Err(LogError::Folder(path.to_owned())),
            // A pipe has no files beside it.
            Ok(found) if !found.is_file() => {
                let file = Arc::new(File::open(path).map_err(unreadable)?);
                log.current = Some(Reading::new(path.display().to_string(), Input::File(file), None));
            }
            _ => {
                let found = series::open(path).or_else(|error| match error.kind() {
                    // Nor is its folder.
                    io::ErrorKind::NotFound => Ok(Vec::new()),
                    _ => Err(unreadable(error)),
                });
                log.waiting = found?.into();
            }
        }
        if log.current.is_none() && log.waiting.is_empty() {
            return Err(LogError::Missing(path.to_owned()));
        }
        log.known = log.waiting.iter().map(|opened| opened.id).collect();
        Ok(log)
    }

    /// Whether a name leads to one of its files.
    pub fn reads(&self, path: &Path) -> bool {
        Id::at(path).is_ok_and(|id| self.has(id))
    }

    /// Whether standard output leads to one of its files.
    pub fn reads_stdout(&self) -> bool {
        Id::behind(&io::stdout()).is_some_and(|id| self.has(id))
    }

    fn has(&self, id: Id) -> bool {
        self.known.contains(&id) || self.stdin == Some(id)
    }

    /// Whether the server that writes the log has use for a name, although nothing may be there yet.
    pub fn claims(&self, path: &Path) -> bool {
        let log = if self.stdin.is_some() { Path::new("/dev/stdin") } else { &self.path };
        series::claims(log, path)
    }

    /// Leaves out the files that another log reads: a shell's `audit.log*` names those that were set aside once more.
    pub fn leave_to(&mut self, other: &Self) {
        self.waiting.retain(|opened| !other.known.contains(&opened.id));
    }

    /// Reads on where the log is written on; also over rotations.
    pub fn follow(mut self) -> Self {
        self.follows = true;
        self
    }

    /// The next record or foreign line. Nothing: the end; of a log that is followed, the end for now.
    pub fn next_item(&mut self) -> Result<Option<Item>, LogError> {
        loop {
            let Some(current) = &mut self.current else {
                let Some(opened) = self.waiting.pop_front() else { return Ok(None) };
                self.current = Some(Reading::of(opened));
                continue;
            };
            current.check()?;
            let next = current.lines.next_whole().map_err(|cause| LogError::unreadable(&self.path, cause))?;
            let Some(line) = next else {
                match self.at_the_end().map_err(|cause| LogError::unreadable(&self.path, cause))? {
                    End::More => continue,
                    End::ForNow => return Ok(None),
                    End::OfFile => {}
                }
                if let Some(item) = self.leave() {
                    return Ok(Some(item));
                }
                continue;
            };
            if let Some(item) = current.item(line) {
                return Ok(Some(item));
            }
        }
    }

    /// Whether nothing can come any more, although the log is followed: the end of a stream.
    pub fn is_over(&self) -> bool {
        self.current.is_none() && self.waiting.is_empty()
    }

    /// Leaves the current file; what stands behind its last newline is a line, too.
    fn leave(&mut self) -> Option<Item> {
        let mut left = self.current.take()?;
        let line = left.lines.rest()?;
        left.item(line)
    }

    fn at_the_end(&mut self) -> io::Result<End> {
        match &mut self.current {
            Some(Reading { lines, file: Some((file, id)), .. })
                if self.follows && self.waiting.is_empty() =>
            {
                if let Some(end) = changed_length(file, lines)? {
                    return Ok(end);
                }
                self.waiting = newer(&self.path, *id, &mut self.known)?.into();
                // Once more: lines may have come between its end and its being set aside.
                Ok(if self.waiting.is_empty() { End::ForNow } else { End::More })
            }
            _ => Ok(End::OfFile),
        }
    }
}

/// What the end of a file means.
enum End {
    /// Nothing more is in it, and another one may wait.
    OfFile,
    /// It may be written on.
    ForNow,
    /// It has more by now.
    More,
}

/// Whether a file is longer than what was read of it, or shorter: the writer took back half a line then, or somebody
/// emptied it.
fn changed_length(file: &File, lines: &mut Lines<BufReader<Input>>) -> io::Result<Option<End>> {
    let (whole, read) = lines.read();
    let length = file.metadata()?.len();
    if length < read {
        let start = if length < whole { 0 } else { whole };
        { file }.seek(SeekFrom::Start(start))?;
        lines.go_on_from(start);
        return Ok(Some(if length > start { End::More } else { End::ForNow }));
    }
    Ok((length > read).then_some(End::More))
}

/// The files of the log at `path` that are newer than the current one. Where that is gone, those that aren't known.
fn newer(path: &Path, current: Id, known: &mut Vec<Id>) -> io::Result<Vec<Opened>> {
    // Between the two renames of a rotation nothing has the name.
    if Id::at(path).map_or(true, |now| now == current) {
        return Ok(Vec::new());
    }
    let mut files = series::open(path)?;
    let present: Vec<Id> = files.iter().map(|opened| opened.id).collect();
    match present.iter().position(|id| *id == current) {
        Some(at) => drop(files.drain(..=at)),
        None => files.retain(|opened| !known.contains(&opened.id)),
    }
    *known = present;
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::query::item::tests::recorded;
    use std::fs::OpenOptions;
    use std::io::Write;

    fn line(uid: &str) -> String {
        let record = recorded(|record| uid.clone_into(&mut record.uid));
        String::from_utf8(record.line().to_vec()).unwrap() + "\n"
    }

    fn append(path: &Path, text: &str) {
        let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    /// What can be read now: uids, and the places of foreign lines.
    fn read(log: &mut Log) -> Vec<String> {
        let mut found = Vec::new();
        while let Some(item) = log.next_item().unwrap() {
            found.push(match item {
                Ok(recorded) => recorded.entry.uid,
                Err(skipped) => {
                    let file = Path::new(&skipped.file).file_name().unwrap().to_string_lossy().into_owned();
                    format!("{file}:{} {}", skipped.line, skipped.why)
                }
            });
        }
        found
    }

    fn in_directory() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.log");
        (directory, path)
    }

    fn old(path: &Path, number: u32) -> PathBuf {
        PathBuf::from(format!("{}.{number}", path.display()))
    }

    #[test]
    fn files_are_read_from_the_oldest_on_and_foreign_lines_are_named() {
        let (_directory, path) = in_directory();
        append(&old(&path, 2), &line("1"));
        append(&old(&path, 1), &format!("{}\nhello\n{}", line("2"), line("3").trim_end()));
        append(&path, &format!("{}{{\"time\":", line("4")));
        let mut log = Log::open(&path).unwrap();
        let torn = "audit.log:2 torn: it ends in the middle of a record";
        assert_eq!(read(&mut log), ["1", "2", "audit.log.1:3 not JSON", "3", "4", torn]);
        assert!(log.is_over());
    }

    #[test]
    fn what_is_not_there_or_a_folder_is_named() {
        let (directory, path) = in_directory();
        let error = Log::open(&path).unwrap_err().to_string();
        assert!(error.starts_with("there is no audit log ") && error.contains("audit.log: name"), "{error}");
        let error = Log::open(&directory.path().join("no-folder/audit.log")).unwrap_err().to_string();
        assert!(error.starts_with("there is no audit log "), "{error}");
        let error = Log::open(directory.path()).unwrap_err().to_string();
        assert!(error.contains("is a folder: name the audit log in it"), "{error}");
    }

    #[test]
    fn a_log_is_followed_over_half_lines_and_rotations() {
        let (_directory, path) = in_directory();
        append(&path, &line("1"));
        let mut log = Log::open(&path).unwrap().follow();
        assert_eq!(read(&mut log), ["1"]);
        let second = line("2");
        append(&path, &second[..20]);
        assert!(read(&mut log).is_empty() && !log.is_over());
        append(&path, &second[20..]);
        assert_eq!(read(&mut log), ["2"]);
        // Two rotations between two looks, with a line in each file.
        append(&path, &line("3"));
        fs::rename(&path, old(&path, 1)).unwrap();
        assert_eq!(read(&mut log), ["3"]);
        append(&path, &line("4"));
        fs::rename(old(&path, 1), old(&path, 2)).unwrap();
        fs::rename(&path, old(&path, 1)).unwrap();
        append(&path, &line("5"));
        assert_eq!(read(&mut log), ["4", "5"]);
        // The file that was read is gone altogether.
        fs::remove_file(&path).unwrap();
        append(&path, &line("6"));
        assert_eq!(read(&mut log), ["6"]);
        assert!(read(&mut log).is_empty());
    }

    #[test]
    fn a_line_that_is_taken_back_is_forgotten_and_an_emptied_file_is_begun_anew() {
        let (_directory, path) = in_directory();
        append(&path, &format!("{}{{\"half", line("1")));
        let mut log = Log::open(&path).unwrap().follow();
        assert_eq!(read(&mut log), ["1"]);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(line("1").len() as u64).unwrap();
        assert!(read(&mut log).is_empty());
        append(&path, &line("2"));
        assert_eq!(read(&mut log), ["2"]);
        file.set_len(0).unwrap();
        assert!(read(&mut log).is_empty());
        append(&path, &format!("{}x\n", line("3")));
        assert_eq!(read(&mut log), ["3", "audit.log:2 not JSON"]);
    }
}
