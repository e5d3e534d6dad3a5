//! Which records are wanted.

use std::cmp::Ordering;
use std::fmt::Write;
use std::sync::LazyLock;

use clap::ValueEnum;
use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;

use crate::audit::Decision;
use crate::audit::query::{Filter, Pattern, moment};
use crate::cli::Failure;
use crate::cli::ids::RecordedIdParser;
use crate::lint::{OWN, find, without_brackets};
use crate::rules::{RULES, WARNINGS};

use super::reader::{in_shell, warn};

/// The chapter of the help.
const WHICH: &str = "Which records (several values: a,b or the flag again)";

/// Which records are wanted. Several flags must all fit; of one that is repeated, one value.
#[derive(Debug, Default, clap::Args)]
pub(super) struct Selection {
    /// Not older than 2h, 7d (ago), or a time: 2026-11-29T16:00:00Z, 2026-11-29 (UTC)
    #[arg(long, value_name = "TIME", help_heading = WHICH, value_parser = time, allow_hyphen_values = true)]
    since: Option<Timestamp>,
    /// Older than that; itself left out: the records of the 29th are --since 2026-11-29 --until 2026-11-30
    #[arg(long, value_name = "TIME", help_heading = WHICH, value_parser = time, allow_hyphen_values = true)]
    until: Option<Timestamp>,
    /// Namespace of the object; in this and the next three, * stands for anything
    #[arg(long, short, value_name = "NAMESPACE", help_heading = WHICH, value_delimiter = ',')]
    namespace: Vec<String>,
    /// Name of the object
    #[arg(long, value_name = "NAME", help_heading = WHICH, value_delimiter = ',')]
    name: Vec<String>,
    /// Who asked
    #[arg(long, value_name = "USER", help_heading = WHICH)]
    user: Vec<String>,
    /// A rule that was broken, or a warning that was given
    #[arg(long, value_name = "RULE", help_heading = WHICH, value_delimiter = ',', value_parser = RecordedIdParser, hide_possible_values = true)]
    rule: Vec<String>,
    /// Uid of the review, or its beginning
    #[arg(long, value_name = "UID", help_heading = WHICH, value_delimiter = ',')]
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
    // One moment for all flags: of `--since 2h --until 2h`, both are the same.
    static NOW: LazyLock<Timestamp> = LazyLock::new(Timestamp::now);
    moment(text, *NOW).ok_or_else(|| {
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
        if let (Some(since), Some(until)) = (self.since, self.until) {
            in_order(since, until).map_err(Failure::Usage)?;
        }
        for remark in self.rule.iter().filter_map(|rule| no_rule(rule)) {
            warn(&format!("--rule: {remark}"));
        }
        let patterns = |texts: &[String]| texts.iter().map(|text| Pattern::from(text.as_str())).collect();
        let rules: Vec<_> = self.rule.iter().map(|rule| Pattern::from(without_brackets(rule))).collect();
        Ok(Filter {
            since: self.since,
            until: self.until,
            decisions: Vec::new(),
            namespaces: patterns(&self.namespace),
            names: patterns(&self.name),
            users: self.user.iter().flat_map(|user| whole_and_parts(user)).map(Pattern::from).collect(),
            warnings: rules.iter().flat_map(warnings).collect(),
            rules,
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

/// Says why no record can be between two moments, if that is so.
fn in_order(since: Timestamp, until: Timestamp) -> Result<(), String> {
    match since.cmp(&until) {
        Ordering::Less => Ok(()),
        Ordering::Greater => Err(format!(
            "--since {since} is not before --until {until}: no record can be both, exchange them"
        )),
        Ordering::Equal => Err(format!(
            "--since and --until are both {since}, and --until is exclusive: no record can be both, {}",
            later(until)
        )),
    }
}

/// What to write for a moment that itself was to be taken: midnight is what a date is read as.
fn later(until: Timestamp) -> String {
    let until = until.to_zoned(TimeZone::UTC);
    match until.date().tomorrow() {
        Ok(day) if until.time() == Time::midnight() => format!("write --until {day} for the whole day"),
        _ => "write a later --until".to_owned(),
    }
}

/// A distinguished name is one user with commas in it; other names with commas between are several.
fn whole_and_parts(user: &str) -> Vec<&str> {
    let parts = user.split(',').filter(|_| user.contains(','));
    std::iter::once(user).chain(parts).collect()
}

/// The warnings that a pattern means. One that fits a rule means rules: `*` is any rule that was broken.
fn warnings(pattern: &Pattern) -> Vec<&'static str> {
    if RULES.iter().any(|rule| pattern.takes(rule.id)) {
        return Vec::new();
    }
    WARNINGS.iter().map(|warning| warning.id).filter(|id| pattern.takes(id)).collect()
}

/// Why no record of this release has a rule of this id, if that is so.
fn no_rule(rule: &str) -> Option<String> {
    let id = without_brackets(rule);
    if OWN.iter().any(|own| own.id == id) {
        return Some(format!("{id} is said by lint alone, of files: no record has it"));
    }
    // A log may hold rules of another release, but most such words are mistyped.
    let unknown = if rule.contains('*') { None } else { find(rule).err() };
    unknown.map(|unknown| format!("{unknown}; only records of another release can have it"))
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
        for (rule, remark) in [
            ("ports", ""),
            ("[ports]", ""),
            ("port", "no rule or warning is called"),
            ("port*", ""),
            ("even-voters", ""),
            ("syntax", "said by lint alone"),
        ] {
            let said = no_rule(rule).unwrap_or_default();
            assert!(said.contains(remark) && said.is_empty() == remark.is_empty(), "{rule}: {said}");
        }
    }

    #[test]
    fn a_pattern_means_warnings_where_it_fits_no_rule() {
        for (pattern, expected) in
            [("ports", &[][..]), ("*", &[]), ("even-voters", &["even-voters"]), ("no-such", &[])]
        {
            assert_eq!(warnings(&Pattern::from(pattern)), expected, "{pattern}");
        }
        assert_eq!(warnings(&Pattern::from("even-*")).len(), 2);
    }

    #[test]
    fn several_users_and_one_with_commas_are_read_alike() {
        assert_eq!(whole_and_parts("bob"), ["bob"]);
        assert_eq!(whole_and_parts("CN=bob,OU=etcd"), ["CN=bob,OU=etcd", "CN=bob", "OU=etcd"]);
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
