//! What etcd said: its last lines, and which of them tells. Its own last word is seldom the useful one.

use std::collections::VecDeque;

use crate::member::Why;

use super::quote::quote;
use super::streams::Streams;

/// Lines that are kept.
const KEPT: usize = 50;
/// Longest line that is kept, in bytes.
const LINE_MAX: usize = 4096;

/// The last lines, fed with bytes as they come.
#[derive(Debug, Default)]
pub struct Lines {
    /// Who reaches this member, as far as the lines told.
    pub streams: Streams,
    whole: VecDeque<String>,
    part: Vec<u8>,
}

/// What a line says, in messages of etcd 3.4 to 3.7; what tells most comes first.
const MEANINGS: &[(&str, Why, &str)] = &[
    ("permanently removed from the cluster", Why::Removed, "the member was removed"),
    (
        "incompatible with current running cluster",
        Why::Version,
        "use an image of the cluster's minor, or one above",
    ),
    ("is not compatible; too high", Why::Version, "use an image of the cluster's minor, or one above"),
    ("invalid downgrade", Why::Version, "use an image of the cluster's minor, or one above"),
    // Entries of the v2 API, in which 3.5 stores what it is, are not known to 3.7 any more (tried with 3.7.3).
    (
        "unmarshal should never fail",
        Why::Version,
        "the log still holds what etcd 3.5 wrote, which 3.7 can't read: 3.6 is needed until it has taken some 10000 writes",
    ),
    ("unknown authority", Why::Certificate, "compare the peer CA of both sides"),
    (
        "does not match any of DNSNames",
        Why::Certificate,
        "put the member's host names into its peer certificate",
    ),
    ("certificate is valid for", Why::Certificate, "put the member's host names into its peer certificate"),
    (
        "doesn't contain any IP SANs",
        Why::Certificate,
        "put the member's host names into its peer certificate",
    ),
    ("incompatible key usage", Why::Certificate, "the peer certificate must be for servers and clients"),
    ("expired certificate", Why::Certificate, "renew the peer certificate"),
    ("certificate has expired", Why::Certificate, "renew the peer certificate"),
    ("bad certificate", Why::Certificate, "the other side refuses the peer certificate: see its log"),
    (
        "first record does not look like a TLS handshake",
        Why::Certificate,
        "one side has TLS, the other has not",
    ),
    ("cluster ID mismatch", Why::ForeignData, "two clusters meet: look where the peer URLs lead to"),
    ("has already been bootstrapped", Why::LostData, "the member was there before, and its data is lost"),
    ("tocommit", Why::LostData, "the member's data is older than its vote: delete the claim and the pod"),
    ("crc mismatch", Why::LostData, "the log is damaged: delete the claim and the pod"),
    ("no space left on device", Why::Space, "enlarge the volume"),
    ("member count is unequal", Why::SourceDiffers, "the membership changed in between; tried again"),
    (
        "no match found for existing member",
        Why::SourceDiffers,
        "the membership changed in between; tried again",
    ),
    ("address already in use", Why::Configuration, "another process listens on that port"),
    ("couldn't find local name", Why::Configuration, "the word to form does not name this member"),
    ("failed to verify flags", Why::Configuration, "correct the setting that is named"),
    ("no such file or directory", Why::Configuration, "is the Secret there, with this key?"),
    ("permission denied", Why::Configuration, "let the pod's user write the volume"),
    ("cannot fetch cluster info", Why::Unreachable, "no member answers at its peer URL"),
];

impl Lines {
    /// Takes what etcd wrote.
    pub fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if *byte == b'\n' {
                self.end_line();
            } else if self.part.len() < LINE_MAX {
                self.part.push(*byte);
            }
        }
    }

    fn end_line(&mut self) {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.part)).into_owned();
        self.streams.line(&line);
        self.whole.push_back(line);
        if self.whole.len() > KEPT {
            self.whole.pop_front();
        }
    }

    /// Why it ended, as far as it said: the kind, and a message with its own words and the remedy.
    pub fn reason(&self) -> Option<(Why, String)> {
        let tells = |needle: &str| self.whole.iter().rev().find(|line| line.contains(needle));
        let known = MEANINGS.iter().find_map(|(needle, why, remedy)| Some((tells(needle)?, *why, *remedy)));
        known.map(|(line, why, remedy)| (why, format!("{} ({remedy})", short(line))))
    }

    /// The last line about a peer's connection that was refused.
    pub fn rejected(&self) -> Option<String> {
        let refused = |line: &&String| line.contains("rejected connection on peer endpoint");
        self.whole.iter().rev().find(refused).map(|line| short(line))
    }

    /// The last thing that it said.
    pub fn last(&self) -> Option<String> {
        self.whole.iter().rev().find(|line| !line.trim().is_empty()).map(|line| short(line))
    }
}

/// The message and the error of a structured line; another line as it is.
fn short(line: &str) -> String {
    let Ok(parsed) = serde_json::from_str::<serde_json::Value>(line) else { return quote(line) };
    let field = |name| parsed.get(name).and_then(serde_json::Value::as_str);
    match (field("msg"), field("error")) {
        (Some(message), Some(error)) => quote(&format!("{message}: {error}")),
        (Some(message), None) => quote(message),
        _ => quote(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Lines {
        let mut lines = Lines::default();
        lines.feed(text.as_bytes());
        lines
    }

    #[test]
    fn the_line_that_tells_is_found_before_the_last_one() {
        let lines = lines(concat!(
            r#"{"level":"warn","msg":"failed to get cluster response","error":"x509: certificate signed by unknown authority"}"#,
            "\n",
            r#"{"level":"fatal","msg":"discovery failed","error":"cannot fetch cluster info from peer urls: could not"}"#,
            "\n"
        ));
        let (why, message) = lines.reason().unwrap();
        assert_eq!(why, Why::Certificate);
        assert!(message.starts_with("failed to get cluster response: x509"), "{message}");
        assert!(message.contains("peer CA"), "{message}");
    }

    #[test]
    fn a_panic_is_told_from_the_trace_below_it() {
        let panic =
            "panic: unmarshal should never fail (proto: cannot parse invalid wire-format data) [recovered]\n";
        let trace = "go.etcd.io/etcd/pkg/v3/schedule.(*fifo).run(0xc000)\n".repeat(40);
        let (why, message) = lines(&format!("{panic}{trace}")).reason().unwrap();
        assert_eq!(why, Why::Version);
        assert!(message.contains("invalid wire-format") && message.contains("etcd 3.5 wrote"), "{message}");
    }

    #[test]
    fn lines_are_put_together_from_pieces_and_bounded() {
        let mut lines = Lines::default();
        for piece in ["panic: to", "commit(8) is out of range\n", "goroutine 1\n"] {
            lines.feed(piece.as_bytes());
        }
        assert_eq!(lines.reason().unwrap().0, Why::LostData);
        assert_eq!(lines.last().unwrap(), "goroutine 1");
        lines.feed("x".repeat(LINE_MAX * 2).as_bytes());
        for _ in 0..KEPT * 2 {
            lines.feed(b"\n");
        }
        assert_eq!((lines.whole.len(), lines.part.len()), (KEPT, 0));
    }

    #[test]
    fn nothing_known_is_no_reason() {
        assert_eq!(lines("all is well\n").reason(), None);
    }
}
