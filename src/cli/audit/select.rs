//! Which logs are read, and which of their records are wanted.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use jiff::Timestamp;

use crate::audit::Decision;
use crate::audit::query::{Filter, Log, LogError, Merged, Pattern, Recorded, Skipped, Window, moment};
use crate::cli::Failure;
use crate::lint::{UnknownId, find, without_brackets};

/// The chapter of the help.
const WHICH: &str = "Which records";

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

/// Which records are wanted. Several flags must all fit; of one that is repeated, one value.
#[derive(Debug, Default, clap::Args)]
pub(super) struct Selection {
    /// Not older than 2h, 7d (ago), or a time: 2026-11-29T16:00:00Z, 2026-11-29 (UTC)
    #[arg(long, value_name = "TIME", help_heading = WHICH, value_parser = time)]
    since: Option<Timestamp>,
    /// Older than that
    #[arg(long, value_name = "TIME", help_heading = WHICH, value_parser = time)]
    until: Option<Timestamp>,
    /// Namespace of the object; in this and the next three, * stands for anything
    #[arg(long, short, value_name = "NAMESPACE", help_heading = WHICH)]
    namespace: Vec<String>,
    /// Name of the object
    #[arg(long, value_name = "NAME", help_heading = WHICH)]
    name: Vec<String>,
    /// Who asked
    #[arg(long, value_name = "USER", help_heading = WHICH)]
    user: Vec<String>,
    /// A rule that was broken
    #[arg(long, value_name = "RULE", help_heading = WHICH)]
    rule: Vec<String>,
    /// Uid of the review, or its beginning
    #[arg(long, value_name = "UID", help_heading = WHICH)]
    uid: Vec<String>,
    /// What was decided (found: /mutate saw violations and let the review go on to be refused)
    #[arg(long, value_name = "DECISION", help_heading = WHICH, value_delimiter = ',')]
    decision: Vec<Decided>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Decided {
    Rejected,
    Warned,
    Found,
    Allowed,
}

impl From<Decided> for Decision {
    fn from(decided: Decided) -> Self {
        match decided {
            Decided::Rejected => Self::Rejected,
            Decided::Warned => Self::Warned,
            Decided::Found => Self::Found,
            Decided::Allowed => Self::Allowed,
        }
    }
}

fn time(text: &str) -> Result<Timestamp, String> {
    moment(text, Timestamp::now()).ok_or_else(|| {
        "write how long ago (90s, 2h, 7d), or a time (2026-11-29T16:00:00Z, 2026-11-29T16:00 or 2026-11-29, which are \
         UTC; up to 9999-12-30)"
            .to_owned()
    })
}

impl Selection {
    /// The decisions that are asked for; these where none is.
    pub(super) fn decisions(&self, usual: &[Decision]) -> Vec<Decision> {
        if self.decision.is_empty() {
            usual.to_vec()
        } else {
            self.decision.iter().map(|d| Decision::from(*d)).collect()
        }
    }

    /// Everything but the decision.
    pub(super) fn filter(&self) -> Result<Filter, Failure> {
        if let (Some(since), Some(until)) = (self.since, self.until)
            && since >= until
        {
            return Err(Failure::Usage(format!(
                "--since {since} is not before --until {until}: no record can be both, exchange them"
            )));
        }
        for unknown in self.rule.iter().filter_map(|rule| unknown(rule)) {
            warn(&format!("--rule: {unknown}; only records of another release can have it"));
        }
        let patterns = |texts: &[String]| texts.iter().map(|text| Pattern::from(text.as_str())).collect();
        Ok(Filter {
            since: self.since,
            until: self.until,
            decisions: Vec::new(),
            namespaces: patterns(&self.namespace),
            names: patterns(&self.name),
            users: patterns(&self.user),
            rules: self.rule.iter().map(|rule| Pattern::from(without_brackets(rule))).collect(),
            uids: self.uid.clone(),
        })
    }

    /// In words: the flags that were given.
    pub(super) fn words(&self, decisions: &[Decision]) -> String {
        let mut words = vec![decisions.iter().map(|decision| decision.word()).collect::<Vec<_>>().join(", ")];
        words.extend(self.since.map(|since| format!("since {since}")));
        words.extend(self.until.map(|until| format!("until {until}")));
        for (flag, values) in self.texts() {
            if !values.is_empty() {
                words.push(format!("{flag} {}", values.join(" or ")));
            }
        }
        words.join("; ")
    }

    /// As flags, for a command that selects the same.
    pub(super) fn flags(&self, decisions: &[Decision]) -> String {
        let decisions: Vec<_> = decisions.iter().map(|decision| decision.word()).collect();
        let mut flags = format!("--decision {}", decisions.join(","));
        for (flag, moment) in [("since", self.since), ("until", self.until)] {
            flags += &moment.map(|moment| format!(" --{flag} {moment}")).unwrap_or_default();
        }
        for (flag, value) in
            self.texts().iter().flat_map(|(flag, values)| values.iter().map(move |v| (flag, v)))
        {
            let _ = write!(flags, " --{flag} {}", in_shell(value));
        }
        flags
    }

    fn texts(&self) -> [(&'static str, &[String]); 5] {
        [
            ("namespace", &self.namespace),
            ("name", &self.name),
            ("user", &self.user),
            ("rule", &self.rule),
            ("uid", &self.uid),
        ]
    }
}

/// A log may hold rules of another release, but most such words are mistyped.
fn unknown(rule: &str) -> Option<UnknownId> {
    if rule.contains('*') { None } else { find(rule).err() }
}

/// A word that a shell hands on as it is.
fn in_shell(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
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
        let logs = each_once(logs.map_err(|error| unreadable(&error))?);
        let logs = logs.into_iter().map(|log| if follow { log.follow() } else { log });
        Ok(Reader::new(Merged::new(logs.collect()), filter))
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
    /// Records that were read, and those of them that are wanted.
    read: u64,
    wanted: u64,
}

impl Reader {
    fn new(merged: Merged, filter: Filter) -> Self {
        Self { merged, filter, window: Window::default(), skipped: 0, read: 0, wanted: 0 }
    }

    /// Whether a name leads to one of the files that are read.
    pub(super) fn reads(&self, path: &Path) -> bool {
        self.merged.reads(path)
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
        if self.window.late() > 0 {
            warn(&not_by_time(self.window.late()));
        }
        self.skipped
    }

    /// Says so where no record is wanted.
    pub(super) fn warn_of_nothing(&self) {
        if self.wanted == 0 {
            warn(&no_record_fits(self.read));
        }
    }
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
    fn a_selection_can_be_told_and_repeated() {
        let selection = Selection {
            since: Some("2026-11-29T16:00:00Z".parse().unwrap()),
            user: vec!["system:*".into(), "it's".into()],
            namespace: vec!["shop".into()],
            ..Selection::default()
        };
        let decisions = selection.decisions(&[Decision::Rejected, Decision::Warned]);
        assert_eq!(
            selection.words(&decisions),
            "rejected, warned; since 2026-11-29T16:00:00Z; namespace shop; user system:* or it's"
        );
        assert_eq!(
            selection.flags(&decisions),
            "--decision rejected,warned --since 2026-11-29T16:00:00Z --namespace shop --user 'system:*' --user 'it'\\''s'"
        );
    }

    #[test]
    fn a_time_that_is_none_says_how_to_write_one() {
        assert!(time("2h").is_ok());
        assert!(time("yesterday").unwrap_err().contains("2h"));
    }

    #[test]
    fn a_rule_that_is_none_is_remarked_on() {
        for (rule, is_unknown) in
            [("ports", false), ("[ports]", false), ("port", true), ("port*", false), ("even-voters", false)]
        {
            assert_eq!(unknown(rule).is_some(), is_unknown, "{rule}");
        }
    }

    #[test]
    fn what_is_missing_or_out_of_order_is_said_with_its_number() {
        for (read, said) in [(0, "there is none"), (1, "the one in the log"), (7, "none of the 7 in the log")]
        {
            assert!(no_record_fits(read).contains(said), "{}", no_record_fits(read));
        }
        assert!(not_by_time(1).starts_with("1 record came") && not_by_time(2).starts_with("2 records came"));
    }

    #[test]
    fn no_record_is_both_younger_and_older() {
        let at = |text: &str| Some(text.parse().unwrap());
        let selection = |since, until| Selection { since, until, ..Selection::default() };
        assert!(selection(at("2026-11-29T16:00:00Z"), at("2026-11-29T17:00:00Z")).filter().is_ok());
        let failure = selection(at("2026-11-29T17:00:00Z"), at("2026-11-29T17:00:00Z")).filter().unwrap_err();
        assert_eq!(failure.status(), 2);
    }
}
