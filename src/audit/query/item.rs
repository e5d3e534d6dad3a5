//! What a line of a log is: a record, or something else that is passed over and named.

use std::fmt;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::text::{escaped, shortened};

use super::entry::{Entry, Evidence};
use super::lines::Line;

/// Longest part of a parser's words that is shown: it quotes what it read.
const SHOWN_MAX: usize = 160;

/// What some programs put before a text: a byte order mark. It may stand at the beginning of each file of several that
/// come one behind the other.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// How the server begins every record.
const BEGINNING: &[u8] = br#"{"time":"#;

/// A record, with the line that it was read from.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// What it says.
    pub entry: Entry,
    line: Vec<u8>,
    prefix: String,
}

/// A line that is no record.
#[derive(Debug)]
pub struct Skipped {
    /// The file, as it was named; `-` for standard input.
    pub file: String,
    /// The line's number in it, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub why: Why,
}

/// Why a line is no record.
#[derive(Debug, PartialEq, Eq)]
pub enum Why {
    /// Longer than any record.
    TooLong(u64),
    /// Cut off before its end.
    Torn,
    /// Something else than JSON.
    NotJson,
    /// JSON that lacks what a record has.
    NotRecord(String),
}

impl fmt::Display for Why {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(bytes) => write!(formatter, "{bytes} bytes long, which no record is"),
            Self::Torn => formatter.write_str("torn: it ends in the middle of a record"),
            Self::NotJson => formatter.write_str("not JSON"),
            Self::NotRecord(why) => write!(formatter, "not a record: {why}"),
        }
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", escaped(&self.file), self.line, self.why)
    }
}

impl Recorded {
    /// The record in a line, also behind other text: who collects logs puts the pod or the time before each. Nothing
    /// where the line is blank, or one of the server's own log, which a container's log collector mixes in.
    pub fn read(line: Line) -> Result<Option<Self>, Why> {
        let mut line = match line {
            Line::TooLong(bytes) => return Err(Why::TooLong(bytes)),
            Line::Whole(line) => line,
        };
        if line.starts_with(MARK) {
            line.drain(..MARK.len());
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        let why = match entry(&line) {
            Ok(entry) => return Ok(entry.map(|entry| Self { entry, line, prefix: String::new() })),
            Err(why) => why,
        };
        let Some((prefix, rest)) = behind_text(&line) else { return Err(why) };
        match entry(rest) {
            Ok(entry) => {
                let prefix = shortened(String::from_utf8_lossy(prefix).trim(), SHOWN_MAX);
                let line = rest.to_vec();
                Ok(entry.map(|entry| Self { entry, line, prefix }))
            }
            Err(Why::Torn) if rest.starts_with(BEGINNING) => Err(Why::Torn),
            Err(_) => Err(why),
        }
    }

    /// What stood before the record in its line.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The record as it stands in the log, without its newline and without what a collector put before it.
    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// Gives back memory that it doesn't need, for whoever holds many.
    pub(super) fn shrink(&mut self) {
        self.line.shrink_to_fit();
    }

    /// What was judged. Where that can't be read, there is nothing of it.
    pub fn evidence(&self) -> Evidence {
        serde_json::from_slice(&self.line).unwrap_or_default()
    }
}

/// What a text of JSON alone says; nothing where it is a line of the server's own log.
fn entry(text: &[u8]) -> Result<Option<Entry>, Why> {
    match serde_json::from_slice(text) {
        Ok(entry) => Ok(Some(entry)),
        Err(error) if error.is_data() && LogLine::is(text) => Ok(None),
        Err(error) => Err(why(text, &error)),
    }
}

/// What stands before the first object of a line, with the space between, and the line from there on.
fn behind_text(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(b'{', line)?;
    let (prefix, rest) = line.split_at_checked(at)?;
    let is_apart = prefix.last().is_some_and(u8::is_ascii_whitespace);
    (is_apart && !prefix.trim_ascii().is_empty()).then_some((prefix, rest))
}

/// What the server says of itself, on standard error.
#[derive(Deserialize)]
struct LogLine<'l> {
    #[serde(rename = "timestamp")]
    _timestamp: &'l str,
    #[serde(rename = "level")]
    _level: &'l str,
    target: &'l str,
}

impl LogLine<'_> {
    fn is(line: &[u8]) -> bool {
        let read = serde_json::from_slice::<LogLine<'_>>(line);
        read.is_ok_and(|line| line.target.starts_with(env!("CARGO_CRATE_NAME")))
    }
}

fn why(text: &[u8], error: &serde_json::Error) -> Why {
    // Read as a record, a date begins with a number, which is no object: whether it is JSON at all comes first.
    let syntax = serde_json::from_slice::<IgnoredAny>(text).err();
    match syntax.as_ref().unwrap_or(error).classify() {
        serde_json::error::Category::Eof => Why::Torn,
        serde_json::error::Category::Data => {
            let words = error.to_string();
            // A record is one line: where in it is what counts.
            let words = words.replace(" at line 1 column ", ", at byte ");
            Why::NotRecord(shortened(&escaped(&words), SHOWN_MAX))
        }
        serde_json::error::Category::Syntax | serde_json::error::Category::Io => Why::NotJson,
    }
}

#[cfg(test)]
pub(in crate::audit) mod tests {
    use super::*;
    use crate::audit::Sink;
    use crate::audit::record::tests::record;

    /// A record in the log.
    pub(in crate::audit) fn recorded(change: impl FnOnce(&mut crate::audit::Record)) -> Recorded {
        let mut record = record();
        change(&mut record);
        let mut line = Sink::line(&record).unwrap();
        line.pop();
        Recorded::read(Line::Whole(line)).unwrap().unwrap()
    }

    fn why_of(text: &str) -> String {
        Recorded::read(Line::Whole(text.into())).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_record_says_why() {
        let whole = String::from_utf8(recorded(|_| {}).line().to_vec()).unwrap();
        assert_eq!(why_of(&whole[..whole.len() - 5]), "torn: it ends in the middle of a record");
        assert_eq!(why_of("I1129 16:00:00 starting"), "not JSON");
        assert_eq!(why_of("\u{fffd}"), "not JSON");
        assert_eq!(why_of(r#"{"level":"INFO"}"#), "not a record: missing field `time`, at byte 16");
        let odd = whole.replace("rejected", "\\u001b[31m");
        assert!(why_of(&odd).contains("unknown variant `\\u{1b}[31m`"), "{}", why_of(&odd));
        let later = why_of(&whole.replace("2026-", "+10000-"));
        assert!(later.starts_with("not a record: its time \"+10000-"), "{later}");
        assert!(later.contains("isn't RFC 3339, up to 9999-12-30T22:00:00Z"), "{later}");
        for (text, said) in [
            (
                "1",
                "not a record: invalid type: integer `1`, expected a record, which is an object, at byte 1",
            ),
            ("[]", "not a record: invalid length 0, expected a record, which is an object"),
        ] {
            assert!(why_of(text).starts_with(said), "{}", why_of(text));
        }
        let odd = whole.replace("\"user\":{", "\"user\":1,\"x\":{");
        assert!(why_of(&odd).contains("expected an object with name and groups"), "{}", why_of(&odd));
        let long = Recorded::read(Line::TooLong(9)).unwrap_err();
        assert_eq!(long.to_string(), "9 bytes long, which no record is");
    }

    #[test]
    fn a_blank_line_and_one_of_the_servers_own_log_are_nothing() {
        let log_line = r#"{"timestamp":"2026-11-29T16:00:00Z","level":"INFO","message":"listening","target":"etcd_warden::cli"}"#;
        for blank in ["", " \r", log_line] {
            assert!(Recorded::read(Line::Whole(blank.into())).unwrap().is_none());
        }
    }

    #[test]
    fn a_log_line_of_another_program_is_foreign() {
        let other = r#"{"timestamp":"2026-11-29T16:00:00Z","level":"INFO","target":"kube::client"}"#;
        assert!(why_of(other).starts_with("not a record"));
    }

    #[test]
    fn text_before_a_record_is_kept_apart() {
        let whole = recorded(|_| {}).line().to_vec();
        let read = |text: &[u8]| Recorded::read(Line::Whole([text, &whole].concat()));
        let behind = read(b"[pod/a/b] 2026-11-29T16:00:00Z ").unwrap().unwrap();
        assert_eq!((behind.line(), behind.prefix()), (&*whole, "[pod/a/b] 2026-11-29T16:00:00Z"));
        assert_eq!(read(b"  ").unwrap().unwrap().prefix(), "");
        assert_eq!(read(b"spec=").unwrap_err(), Why::NotJson);
        let long = read(&[b"x".repeat(1000), b" ".to_vec()].concat()).unwrap().unwrap();
        assert_eq!(long.prefix().chars().count(), SHOWN_MAX);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_a_record() {
        let whole = recorded(|_| {}).line().to_vec();
        let marked = [MARK, &whole].concat();
        assert_eq!(Recorded::read(Line::Whole(marked)).unwrap().unwrap().line(), whole);
        assert!(Recorded::read(Line::Whole(MARK.to_vec())).unwrap().is_none());
    }

    #[test]
    fn the_line_is_kept_as_it_is() {
        let recorded = recorded(|record| record.manifest = Some(serde_json::json!({"kind": "Etcd"})));
        assert!(String::from_utf8_lossy(recorded.line()).contains(r#""manifest":{"kind":"Etcd"}"#));
        assert_eq!(recorded.evidence().manifest.unwrap()["kind"], "Etcd");
    }
}
