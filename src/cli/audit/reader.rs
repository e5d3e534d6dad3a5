//! Which logs are read, and the records of them that are wanted, one after the other.

use std::path::{Path, PathBuf};

use crate::audit::query::{Filter, Log, LogError, Merged, Recorded, Skipped, Window};
use crate::cli::Failure;
use crate::text::quoted;

/// Foreign lines that are named one by one; more are only counted.
const NAMED_MAX: u64 = 10;

/// Which logs are read.
#[derive(Debug, clap::Args)]
pub(super) struct Logs {
    /// Audit logs, read with the files set aside beside each (LOG.1 and so on), several by time; - is standard input
    /// [default: that of the variable `ETCD_WARDEN_AUDIT_LOG`]
    #[arg(value_name = "LOG", env = "ETCD_WARDEN_AUDIT_LOG", hide_env = true)]
    logs: Vec<PathBuf>,
}

impl Logs {
    /// The logs in words of a shell.
    pub(super) fn in_shell(&self) -> String {
        self.logs.iter().map(|log| in_shell(&log.to_string_lossy())).collect::<Vec<_>>().join(" ")
    }

    /// Opens the logs, to be read from the oldest record on; with `follow`, and on while it is written.
    pub(super) fn open(&self, filter: Filter, follow: bool) -> Result<Reader, Failure> {
        let none_named = "no log is named: give its file, or - to read what comes in (kubectl logs ... | etcd-warden \
                          audit ... -)";
        if self.logs.is_empty() {
            return Err(Failure::Usage(none_named.to_owned()));
        }
        if follow && self.logs.len() > 1 {
            return Err(Failure::Usage("--follow takes one log: give each its own command".to_owned()));
        }
        let logs = self.logs.iter().map(|path| Log::open(path)).collect::<Result<Vec<_>, _>>();
        let logs = logs.map_err(|error| unreadable(&error))?;
        let mut others: Vec<PathBuf> = logs.iter().flat_map(Log::passed_over).collect();
        let logs = each_once(logs);
        let logs = logs.into_iter().map(|log| if follow { log.follow() } else { log });
        let merged = Merged::new(logs.collect());
        if merged.reads_stdout() {
            return Err(Failure::Usage(
                "standard output is a log that is read: the answer would be in the log; write it to another file"
                    .to_owned(),
            ));
        }
        others.retain(|path| !merged.reads(path));
        others.sort_unstable();
        others.dedup();
        if !others.is_empty() {
            warn(&passed_over_text(&others));
        }
        Ok(Reader::new(merged, filter))
    }
}

/// A word that a shell hands on as it is.
pub(super) fn in_shell(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// No file is read twice, however often it is named.
fn each_once(logs: Vec<Log>) -> Vec<Log> {
    let mut kept: Vec<Log> = Vec::with_capacity(logs.len());
    for mut log in logs {
        for earlier in &kept {
            log.leave_to(earlier);
        }
        kept.push(log);
    }
    kept
}

fn unreadable(error: &LogError) -> Failure {
    Failure::Unreadable(error.to_string())
}

/// The records that are wanted, one after the other.
#[derive(Debug)]
pub(super) struct Reader {
    merged: Merged,
    filter: Filter,
    window: Window,
    skipped: u64,
    /// Records behind other text, and the first such text.
    behind: u64,
    prefix: String,
    /// Records that were read, and those of them that are wanted.
    read: u64,
    wanted: u64,
}

impl Reader {
    fn new(merged: Merged, filter: Filter) -> Self {
        Self {
            merged,
            filter,
            window: Window::default(),
            skipped: 0,
            behind: 0,
            prefix: String::new(),
            read: 0,
            wanted: 0,
        }
    }

    /// Whether a name leads to one of the files that are read.
    pub(super) fn reads(&self, path: &Path) -> bool {
        self.merged.reads(path)
    }

    /// Whether the server that writes one of the logs has use for a name.
    pub(super) fn claims(&self, path: &Path) -> bool {
        self.merged.claims(path)
    }

    /// The next record that is wanted; nothing at the end, which may be one for now. Foreign lines are named on
    /// standard error.
    pub(super) fn next_record(&mut self) -> Result<Option<Recorded>, Failure> {
        let skipped = &mut self.skipped;
        loop {
            let next = self
                .merged
                .next_record(&mut |line| name(&line, skipped))
                .map_err(|error| unreadable(&error))?;
            let Some(recorded) = next else { return Ok(None) };
            self.read += 1;
            if !recorded.prefix().is_empty() {
                self.behind += 1;
                if self.behind == 1 {
                    recorded.prefix().clone_into(&mut self.prefix);
                }
            }
            if self.filter.takes(&recorded.entry) {
                self.wanted += 1;
                return Ok(Some(recorded));
            }
        }
    }

    /// The same by time. A record is held back until bounded memory is full, or the end is there.
    pub(super) fn next_by_time(&mut self) -> Result<Option<Recorded>, Failure> {
        loop {
            if let Some(oldest) = self.window.overflow() {
                return Ok(Some(oldest));
            }
            match self.next_record()? {
                Some(recorded) => self.window.add(recorded),
                None => return Ok(self.window.oldest()),
            }
        }
    }

    /// Whether nothing can come any more.
    pub(super) fn is_over(&self) -> bool {
        self.merged.is_over()
    }

    /// Says how many lines were skipped, and what isn't in its place. How many were skipped.
    pub(super) fn finish(&self) -> u64 {
        if self.skipped > NAMED_MAX {
            warn(&format!("{} lines in all were no records and were skipped", self.skipped));
        }
        if self.behind > 0 {
            warn(&behind_text(self.behind, &self.prefix));
        }
        if self.window.late() > 0 {
            warn(&not_by_time(self.window.late()));
        }
        self.skipped
    }

    /// Says so where no record is wanted.
    pub(super) fn warn_of_nothing(&self) {
        if self.wanted == 0 {
            warn(&(no_record_fits(self.read) + &only_warned(&self.filter.warnings)));
        }
    }
}

fn behind_text(count: u64, prefix: &str) -> String {
    let (records, stand) = if count == 1 { ("record", "stands") } else { ("records", "stand") };
    format!(
        "{count} {records} {stand} behind other text, which is passed over: {} for instance",
        quoted(prefix)
    )
}

fn passed_over_text(paths: &[PathBuf]) -> String {
    let are = if paths.len() == 1 { "is" } else { "are" };
    let names = paths.iter().map(|path| in_shell(&path.to_string_lossy())).collect::<Vec<_>>().join(", ");
    format!(
        "{names} {are} beside the log and not read, since the server calls what it sets aside LOG.1 and so on: what else \
         belongs to the log is given as a log of its own, compressed files by zcat FILE | etcd-warden audit ... -"
    )
}

/// Why records may be missing that were warned of.
fn only_warned(ids: &[&str]) -> String {
    let (are, refuse) = match ids {
        [] => return String::new(),
        [_] => ("is a warning, which", "refuses"),
        _ => ("are warnings, which", "refuse"),
    };
    let ids = ids.join(", ");
    format!("; {ids} {are} {refuse} nothing: what was allowed is in the log only with --audit all")
}

fn not_by_time(late: u64) -> String {
    let (records, are) = if late == 1 { ("record", "is") } else { ("records", "are") };
    format!(
        "{late} {records} came too late to be put in order of time, and {are} listed after newer ones: the log is \
         several, one behind the other; give each as a file of its own, and they are put together by time"
    )
}

fn no_record_fits(read: u64) -> String {
    match read {
        0 => "no record fits: there is none in the log".to_owned(),
        1 => "no record fits: the one in the log isn't of those that the flags select".to_owned(),
        read => format!("no record fits: none of the {read} in the log is of those that the flags select"),
    }
}

fn name(line: &Skipped, skipped: &mut u64) {
    *skipped += 1;
    if *skipped <= NAMED_MAX {
        warn(&format!("{line}: skipped"));
    }
}

/// A remark on standard error: standard output is for what was asked.
#[allow(clippy::print_stderr, reason = "a remark of a command")]
pub(super) fn warn(text: &str) {
    eprintln!("warning: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_or_out_of_order_is_said_with_its_number() {
        for (read, said) in [(0, "there is none"), (1, "the one in the log"), (7, "none of the 7 in the log")]
        {
            assert!(no_record_fits(read).contains(said), "{}", no_record_fits(read));
        }
        assert!(not_by_time(1).starts_with("1 record came") && not_by_time(2).starts_with("2 records came"));
    }

    #[test]
    fn one_is_told_as_one() {
        assert!(
            behind_text(1, "[pod/a/b]")
                .starts_with("1 record stands behind other text, which is passed over: \"[pod")
        );
        assert!(behind_text(2, "x").starts_with("2 records stand"));
        assert_eq!(only_warned(&[]), "");
        assert!(
            only_warned(&["even-voters"]).starts_with("; even-voters is a warning, which refuses nothing")
        );
        assert!(only_warned(&["a", "b"]).starts_with("; a, b are warnings, which refuse nothing"));
    }
}
