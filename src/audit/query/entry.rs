//! A record as it is read back from a log, of this release or of another.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::audit::{Before, Decision, Object, Stage, User};
use crate::text::quoted;

/// A record without its manifest, which is most of its length and seldom asked for: see [`Evidence`]. Fields that
/// this release doesn't know are passed over, and those that only some records have may be missing.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a record, which is an object")]
pub struct Entry {
    /// When the answer was ready.
    pub time: Time,
    /// The webhook that was asked.
    pub stage: Stage,
    /// What came of it.
    pub decision: Decision,
    /// `request.uid` of the review.
    pub uid: String,
    /// `CREATE`, `UPDATE`, `DELETE`, or whatever the review said.
    pub operation: String,
    /// `status`, `scale`, or nothing.
    #[serde(default)]
    pub subresource: Option<String>,
    /// The object that was judged.
    pub object: Object,
    /// Who asked for it.
    #[serde(default)]
    pub user: User,
    /// Whether nothing would have been stored.
    #[serde(default)]
    pub dry_run: bool,
    /// `warn` where the request was allowed only because violations are warnings.
    #[serde(default)]
    pub enforcement: Option<String>,
    /// The HTTP-like code of a refusal.
    #[serde(default)]
    pub code: Option<u16>,
    /// The refusal's text where no rule spoke.
    #[serde(default)]
    pub message: Option<String>,
    /// What was wrong.
    #[serde(default)]
    pub violations: Vec<Found>,
    /// How many violations the record leaves out.
    #[serde(default)]
    pub violations_left_out: usize,
    /// What was warned of.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// How long the decision took.
    #[serde(default)]
    pub duration_micros: u64,
}

/// One violation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(expecting = "a violation, which is an object")]
pub struct Found {
    /// The rule's id, perhaps of a rule that this release no longer has.
    pub rule: String,
    /// Kubernetes field path.
    pub field: String,
    /// Cause type.
    #[serde(default)]
    pub cause: String,
    /// What the user was told.
    pub message: String,
}

/// A moment, and how the record writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Time {
    /// RFC 3339, UTC: as it stands in the record, unless that is a time of another zone.
    pub text: String,
    /// The moment.
    pub at: Timestamp,
}

/// What was judged: the long parts of a record.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Evidence {
    /// The manifest.
    #[serde(default)]
    pub manifest: Option<Value>,
    /// Where something else was stored; nothing where it isn't an update, or the record is of an earlier release.
    #[serde(default)]
    pub before: Option<Vec<Before>>,
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let no_time = |_| {
            let (shown, last) = (quoted(&text), Timestamp::MAX);
            <D::Error as serde::de::Error>::custom(format!(
                "its time {shown} isn't RFC 3339, up to {last:.0}"
            ))
        };
        let at: Timestamp = text.parse().map_err(no_time)?;
        let is_utc = text.ends_with('Z') && text.contains('T');
        Ok(Self { text: if is_utc { text } else { at.to_string() }, at })
    }
}

impl Time {
    /// To the second, which is what a column has room for.
    pub fn to_the_second(&self) -> String {
        format!("{:.0}", self.at)
    }
}

impl Entry {
    /// Ids of the rules that were broken, sorted, each once.
    pub fn rules(&self) -> Vec<&str> {
        let mut rules: Vec<&str> = self.violations.iter().map(|violation| violation.rule.as_str()).collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }

    /// `UPDATE`, or with its subresource `UPDATE/scale`.
    pub fn operation(&self) -> String {
        match &self.subresource {
            Some(subresource) => format!("{}/{subresource}", self.operation),
            None => self.operation.clone(),
        }
    }

    /// `namespace/name`.
    pub fn object(&self) -> String {
        format!("{}/{}", self.object.namespace, self.object.name)
    }
}

impl Decision {
    /// Every decision, the gravest first.
    pub const ALL: [Self; 4] = [Self::Rejected, Self::Warned, Self::Found, Self::Allowed];

    /// As it stands in a record.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Rejected => "rejected",
            Self::Warned => "warned",
            Self::Found => "found",
        }
    }
}

#[cfg(test)]
pub(in crate::audit) mod tests {
    use super::*;
    use crate::audit::record::tests::record;
    use crate::audit::{Finding, Record};
    use serde_json::json;

    /// An entry with a violation of each of these rules.
    pub(in crate::audit) fn entry(time: &str, namespace: &str, user: &str, rules: &[&'static str]) -> Entry {
        let mut record = Record { time: time.into(), ..record() };
        record.object.namespace = namespace.into();
        record.user.name = user.into();
        record.violations = rules.iter().map(|rule| finding(rule)).collect();
        serde_json::from_value(serde_json::to_value(record).unwrap()).unwrap()
    }

    fn finding(rule: &'static str) -> Finding {
        Finding { rule, field: "spec.replicas".into(), cause: "FieldValueInvalid", message: "no".into() }
    }

    /// A record with every field set.
    fn full() -> Record {
        Record {
            subresource: Some("status".into()),
            object: Object {
                namespace: "shop".into(),
                name: "main".into(),
                uid: Some("u".into()),
                generation: Some(3),
                hash: "00".into(),
            },
            user: User { name: "alice".into(), groups: vec!["admins".into()] },
            dry_run: true,
            enforcement: Some("warn"),
            message: Some("text".into()),
            violations: vec![finding("replicas-range")],
            violations_left_out: 2,
            warnings: vec!["w".into()],
            manifest: Some(json!({"a": 1})),
            before: Some(vec![]),
            ..record()
        }
    }

    #[test]
    fn everything_that_is_written_is_read() {
        let line = serde_json::to_string(&full()).unwrap();
        let entry: Entry = serde_json::from_str(&line).unwrap();
        let evidence: Evidence = serde_json::from_str(&line).unwrap();
        let written = full();
        assert_eq!((entry.stage, entry.decision), (written.stage, written.decision));
        assert_eq!((entry.time.text.clone(), entry.uid.clone()), (written.time, written.uid));
        assert_eq!((entry.operation(), entry.object()), ("CREATE/status".into(), "shop/main".into()));
        assert_eq!((entry.object, entry.user), (written.object, written.user));
        assert_eq!((entry.dry_run, entry.enforcement.as_deref()), (true, written.enforcement));
        assert_eq!((entry.code, entry.message), (written.code, written.message));
        assert_eq!(entry.violations[0].rule, written.violations[0].rule);
        assert_eq!(entry.violations_left_out, written.violations_left_out);
        assert_eq!((entry.warnings, entry.duration_micros), (written.warnings, written.duration_micros));
        assert_eq!((evidence.manifest, evidence.before), (written.manifest, written.before));
    }

    #[test]
    fn records_of_other_releases_are_read() {
        let least = json!({
            "time": "2026-11-29T16:00:00Z", "stage": "validate", "decision": "rejected", "uid": "u",
            "operation": "CREATE", "object": {}, "of-the-future": {"a": []},
        });
        let entry: Entry = serde_json::from_value(least).unwrap();
        assert_eq!((entry.rules(), entry.time.to_the_second().as_str()), (vec![], "2026-11-29T16:00:00Z"));
    }

    #[test]
    fn a_word_is_the_one_in_the_record() {
        for decision in Decision::ALL {
            assert_eq!(serde_json::to_value(decision).unwrap(), decision.word());
        }
    }

    #[test]
    fn times_are_utc() {
        for (written, text) in [
            ("2026-11-29T16:00:00.000Z", "2026-11-29T16:00:00.000Z"),
            ("2026-11-29T18:00:00.120+02:00", "2026-11-29T16:00:00.12Z"),
            ("2026-11-29T16:00:00+00:00", "2026-11-29T16:00:00Z"),
            ("2026-11-29t16:00:00z", "2026-11-29T16:00:00Z"),
        ] {
            assert_eq!(entry(written, "shop", "alice", &[]).time.text, text);
        }
    }

    #[test]
    fn a_rule_is_named_once() {
        let entry = entry("2026-11-29T16:00:00Z", "shop", "alice", &["type", "ports", "type"]);
        assert_eq!(entry.rules(), ["ports", "type"]);
    }
}
