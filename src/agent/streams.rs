//! Which members reach this one: etcd's own log tells, by member id, whose connection it has for what it sends. Each
//! member dials those that it hears from, so such a connection is the proof that the other side gets through, which
//! etcd itself never asks for. It holds behind address translation too, where an address would prove nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::member::MemberId;

/// In every message about such a connection.
const MARK: &str = "TCP streaming connection with remote peer";
/// In those about connections that the other side made.
const INBOUND: &str = "stream-writer-type";

/// Connections that other members have made, by the kind of stream.
#[derive(Debug, Default)]
pub struct Streams {
    open: BTreeMap<MemberId, BTreeSet<String>>,
}

impl Streams {
    /// Takes a line of etcd's log.
    pub fn line(&mut self, line: &str) {
        if line.contains(MARK) && line.contains(INBOUND) {
            self.event(line);
        }
    }

    fn event(&mut self, line: &str) -> Option<()> {
        let parsed: Value = serde_json::from_str(line).ok()?;
        let field = |name| parsed.get(name).and_then(Value::as_str);
        let (message, kind) = (field("msg")?, field(INBOUND)?.to_owned());
        let member = field("remote-peer-id")?.parse().ok()?;
        let kinds = self.open.entry(member).or_default();
        match message.split(' ').next()? {
            "established" => {
                kinds.insert(kind);
            }
            // The writer itself is gone, whatever it held.
            "stopped" => kinds.clear(),
            _ => {
                kinds.remove(&kind);
            }
        }
        Some(())
    }

    /// Whether a member holds a connection to this one.
    pub fn is_reached_by(&self, member: MemberId) -> bool {
        self.open.get(&member).is_some_and(|kinds| !kinds.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(word: &str, field: &str) -> String {
        format!(
            r#"{{"level":"info","msg":"{word} {MARK}","{field}":"stream Message","local-member-id":"1","remote-peer-id":"d1b2"}}"#
        )
    }

    #[test]
    fn only_what_the_other_side_dialled_counts() {
        let (mut streams, other) = (Streams::default(), MemberId(0xd1b2));
        streams.line(&line("established", "stream-reader-type"));
        assert!(!streams.is_reached_by(other));
        streams.line(&line("established", INBOUND));
        assert!(streams.is_reached_by(other) && !streams.is_reached_by(MemberId(1)));
    }

    #[test]
    fn a_connection_that_was_lost_counts_no_more() {
        for word in ["lost", "closed", "stopped"] {
            let mut streams = Streams::default();
            streams.line(&line("established", INBOUND));
            streams.line(&line(word, INBOUND));
            assert!(!streams.is_reached_by(MemberId(0xd1b2)), "{word}");
        }
    }
}
