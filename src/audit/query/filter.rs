//! Which records are wanted.

use jiff::Timestamp;

use crate::audit::Decision;

use super::entry::Entry;

/// Which records are wanted: those that every part takes. An empty part takes all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Not before this moment.
    pub since: Option<Timestamp>,
    /// Before this moment.
    pub until: Option<Timestamp>,
    /// One of these decisions.
    pub decisions: Vec<Decision>,
    /// One of these namespaces.
    pub namespaces: Vec<Pattern>,
    /// One of these names.
    pub names: Vec<Pattern>,
    /// One of these users.
    pub users: Vec<Pattern>,
    /// At least one of these rules was broken, or one of the warnings given.
    pub rules: Vec<Pattern>,
    /// Ids of warnings: they stand at the end of each.
    pub warnings: Vec<&'static str>,
    /// Review uids that begin so.
    pub uids: Vec<String>,
}

impl Filter {
    /// Whether a record is wanted.
    pub fn takes(&self, entry: &Entry) -> bool {
        let any =
            |patterns: &[Pattern], text: &str| patterns.is_empty() || patterns.iter().any(|p| p.takes(text));
        self.since.is_none_or(|since| entry.time.at >= since)
            && self.until.is_none_or(|until| entry.time.at < until)
            && (self.decisions.is_empty() || self.decisions.contains(&entry.decision))
            && any(&self.namespaces, &entry.object.namespace)
            && any(&self.names, &entry.object.name)
            && any(&self.users, &entry.user.name)
            && self.takes_findings(entry)
            && (self.uids.is_empty() || self.uids.iter().any(|uid| entry.uid.starts_with(uid)))
    }

    fn takes_findings(&self, entry: &Entry) -> bool {
        let is_broken = |rule: &str| self.rules.iter().any(|pattern| pattern.takes(rule));
        let is_given = |text: &str| id_at_the_end(text).is_some_and(|id| self.warnings.contains(&id));
        self.rules.is_empty() && self.warnings.is_empty()
            || entry.violations.iter().any(|found| is_broken(&found.rule))
            || entry.warnings.iter().any(|text| is_given(text))
    }
}

/// The id in the brackets with which a warning ends.
fn id_at_the_end(text: &str) -> Option<&str> {
    text.strip_suffix(']')?.rsplit_once('[').map(|(_, id)| id)
}

/// A text in which `*` stands for anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl From<&str> for Pattern {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl Pattern {
    /// Whether the whole of a text is as the pattern says.
    pub fn takes(&self, text: &str) -> bool {
        let mut pieces = self.0.split('*');
        let Some(mut rest) = pieces.next().and_then(|first| text.strip_prefix(first)) else { return false };
        let mut pieces: Vec<&str> = pieces.collect();
        let Some(last) = pieces.pop() else { return rest.is_empty() };
        for piece in pieces {
            let Some(at) = rest.find(piece) else { return false };
            rest = rest.get(at + piece.len()..).unwrap_or_default();
        }
        rest.ends_with(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::query::entry::tests::entry;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, text, takes) in [
            ("shop", "shop", true),
            ("shop", "shops", false),
            ("", "", true),
            ("*", "", true),
            ("shop-*", "shop-1", true),
            ("*-shop", "my-shop", true),
            ("*-shop", "my-shop-", false),
            ("a*b*c", "a--b--c", true),
            ("a*b*c", "a--c--b", false),
            ("ab*ba", "aba", false),
            ("system:serviceaccount:*:flux", "system:serviceaccount:x:flux", true),
        ] {
            assert_eq!(Pattern::from(pattern).takes(text), takes, "{pattern} {text}");
        }
    }

    type Change = fn(&mut Filter);

    #[test]
    fn every_part_can_turn_a_record_away() {
        let mut entry = entry("2026-11-29T16:00:00Z", "shop", "alice", &["ports", "type"]);
        entry.warnings = vec!["odd [of] all [even-replicas]".into()];
        let at = |text: &str| Some(text.parse::<Timestamp>().unwrap());
        let cases: [(Change, bool); 18] = [
            (|_| {}, true),
            (|f| f.decisions = vec![Decision::Found, Decision::Rejected], true),
            (|f| f.decisions = vec![Decision::Found], false),
            (|f| f.namespaces = vec!["x".into(), "shop".into()], true),
            (|f| f.namespaces = vec!["x".into()], false),
            (|f| f.names = vec!["main".into()], true),
            (|f| f.names = vec!["mai".into()], false),
            (|f| f.users = vec!["al*".into()], true),
            (|f| f.users = vec!["bob".into()], false),
            (|f| f.rules = vec!["type".into()], true),
            (|f| f.rules = vec!["labels".into()], false),
            (|f| f.warnings = vec!["even-replicas"], true),
            (|f| (f.rules, f.warnings) = (vec!["labels".into()], vec!["of", "even-replicas"]), true),
            (|f| (f.rules, f.warnings) = (vec!["labels".into()], vec!["of", "odd", "ports"]), false),
            (|f| f.uids = vec!["705a".into()], true),
            (|f| f.uids = vec!["05ab".into()], false),
            (|f| (f.namespaces, f.rules) = (vec!["shop".into()], vec!["labels".into()]), false),
            (|f| (f.namespaces, f.rules) = (vec!["shop".into()], vec!["ports".into()]), true),
        ];
        for (number, (change, takes)) in cases.into_iter().enumerate() {
            let mut filter = Filter::default();
            change(&mut filter);
            assert_eq!(filter.takes(&entry), takes, "{number}");
        }
        for (since, until, takes) in [
            (at("2026-11-29T16:00:00Z"), None, true),
            (at("2026-11-29T16:00:01Z"), None, false),
            (None, at("2026-11-29T16:00:01Z"), true),
            (None, at("2026-11-29T16:00:00Z"), false),
        ] {
            let filter = Filter { since, until, ..Filter::default() };
            assert_eq!(filter.takes(&entry), takes, "{since:?} {until:?}");
        }
    }
}
