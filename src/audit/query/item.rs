//! What a line of a log is: a record, or something else that is passed over and named.

use std::fmt;

use serde::Deserialize;

use crate::text::{escaped, shortened};

use super::entry::{Entry, Evidence};
use super::lines::Line;

/// Longest part of a parser's words that is shown: it quotes what it read.
const SHOWN_MAX: usize = 160;

/// What some programs put before a text: a byte order mark. It may stand at the beginning of each file of several that
/// come one behind the other.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// A record, with the line that it was read from.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// What it says.
    pub entry: Entry,
    line: Vec<u8>,
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
    /// The record in a line; nothing where the line is blank, or one of the server's own log, which a container's log
    /// collector mixes in.
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
        match serde_json::from_slice(&line) {
            Ok(entry) => Ok(Some(Self { entry, line })),
            Err(error) if error.is_data() && LogLine::is(&line) => Ok(None),
            Err(error) => Err(why(&error)),
        }
    }

    /// The record as it stands in the log, without its newline.
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

fn why(error: &serde_json::Error) -> Why {
    match error.classify() {
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
