//! What many records say together.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::audit::Decision;

use super::entry::{Entry, Time};
use super::tally::{Row, Tally};
use super::timeline::Timeline;

/// How many records there are, of whom, about what, and when. Its size is bounded, whatever is in the log.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The decisions that are counted below; the others are only counted as such.
    counts: Vec<Decision>,
    /// Records by decision.
    pub decisions: BTreeMap<Decision, u64>,
    /// Records that are counted below.
    pub records: u64,
    /// How many of them were dry runs.
    pub dry_runs: u64,
    /// The first of them.
    pub first: Option<Time>,
    /// The last of them.
    pub last: Option<Time>,
    /// By broken rule. A record can break several.
    pub rules: Tally,
    /// By namespace.
    pub namespaces: Tally,
    /// By user.
    pub users: Tally,
    /// By `namespace/name`.
    pub objects: Tally,
    /// Over time.
    pub times: Timeline,
}

impl Summary {
    /// A summary of the records with these decisions.
    pub fn of(decisions: &[Decision]) -> Self {
        Self { counts: decisions.to_vec(), ..Self::default() }
    }

    /// One record more. Whether it is one of those that are counted.
    pub fn add(&mut self, entry: &Entry) -> bool {
        *self.decisions.entry(entry.decision).or_default() += 1;
        if !self.counts.contains(&entry.decision) {
            return false;
        }
        self.records += 1;
        self.dry_runs += u64::from(entry.dry_run);
        let (earliest, latest) = (self.first.as_ref(), self.last.as_ref());
        if earliest.is_none_or(|first| entry.time.at < first.at) {
            self.first = Some(entry.time.clone());
        }
        if latest.is_none_or(|last| entry.time.at >= last.at) {
            self.last = Some(entry.time.clone());
        }
        for rule in why(entry) {
            self.rules.add(&rule);
        }
        self.namespaces.add(&entry.object.namespace);
        self.users.add(&entry.user.name);
        self.objects.add(&entry.object());
        self.times.add(entry.time.at);
        true
    }

    /// As programs read it. `skipped` lines were no records.
    pub fn told(&self, skipped: u64) -> Told<'_> {
        let text = |time: &Option<Time>| time.as_ref().map(|time| time.text.clone());
        Told {
            records: self.records,
            first: text(&self.first),
            last: text(&self.last),
            dry_runs: self.dry_runs,
            decisions: &self.decisions,
            skipped_lines: skipped,
            by_rule: Counted::of(&self.rules),
            by_namespace: Counted::of(&self.namespaces),
            by_user: Counted::of(&self.users),
            by_object: Counted::of(&self.objects),
            by_time: OverTime::of(&self.times),
        }
    }
}

/// The rules that a record names, or why it names none.
fn why(entry: &Entry) -> Vec<String> {
    match (entry.rules(), entry.code) {
        (rules, _) if !rules.is_empty() => rules.into_iter().map(str::to_owned).collect(),
        (_, Some(code)) => vec![format!("no rule (code {code})")],
        _ => Vec::new(),
    }
}

/// A summary as JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Told<'s> {
    records: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<String>,
    dry_runs: u64,
    decisions: &'s BTreeMap<Decision, u64>,
    skipped_lines: u64,
    by_rule: Counted,
    by_namespace: Counted,
    by_user: Counted,
    by_object: Counted,
    by_time: OverTime,
}

/// A table of counts as JSON.
#[derive(Debug, Serialize)]
struct Counted {
    items: Vec<Item>,
    /// Records of names that are too many and too rare to be told apart.
    others: u64,
}

#[derive(Debug, Serialize)]
struct Item {
    name: String,
    records: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct OverTime {
    span_seconds: i64,
    items: Vec<Spell>,
}

#[derive(Debug, Serialize)]
struct Spell {
    start: String,
    records: u64,
}

impl Counted {
    fn of(tally: &Tally) -> Self {
        let items =
            tally.rows().into_iter().map(|Row { name, count }| Item { name, records: count }).collect();
        Self { items, others: tally.folded() }
    }
}

impl OverTime {
    fn of(times: &Timeline) -> Self {
        let spell =
            |span: super::timeline::Span| Spell { start: span.start.to_string(), records: span.count };
        Self { span_seconds: times.seconds(), items: times.spans().into_iter().map(spell).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::query::entry::tests::entry;
    use serde_json::json;

    #[test]
    fn records_are_counted_by_all_that_is_asked_for() {
        let mut summary = Summary::of(&[Decision::Rejected]);
        let mut overload = entry("2026-11-29T17:30:00Z", "shop", "bob", &[]);
        (overload.code, overload.dry_run) = (Some(504), true);
        let mut found = entry("2026-11-29T15:00:00Z", "shop", "bob", &["type"]);
        found.decision = Decision::Found;
        for entry in [
            entry("2026-11-29T16:10:00Z", "shop", "alice", &["ports", "type"]),
            entry("2026-11-29T16:05:00.5Z", "bank", "alice", &["type"]),
            overload,
            found,
        ] {
            summary.add(&entry);
        }
        let table = |rows: &[(&str, u64)]| {
            let items: Vec<_> =
                rows.iter().map(|(name, records)| json!({"name": name, "records": records})).collect();
            json!({"items": items, "others": 0})
        };
        assert_eq!(
            serde_json::to_value(summary.told(7)).unwrap(),
            json!({
                "records": 3,
                "first": "2026-11-29T16:05:00.5Z",
                "last": "2026-11-29T17:30:00Z",
                "dryRuns": 1,
                "decisions": {"rejected": 3, "found": 1},
                "skippedLines": 7,
                "byRule": table(&[("type", 2), ("no rule (code 504)", 1), ("ports", 1)]),
                "byNamespace": table(&[("shop", 2), ("bank", 1)]),
                "byUser": table(&[("alice", 2), ("bob", 1)]),
                "byObject": table(&[("shop/main", 2), ("bank/main", 1)]),
                "byTime": {"spanSeconds": 3600, "items": [
                    {"start": "2026-11-29T16:00:00Z", "records": 2},
                    {"start": "2026-11-29T17:00:00Z", "records": 1},
                ]},
            })
        );
    }
}
