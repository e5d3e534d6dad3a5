//! The id that somebody asks for, and the nearest one where it isn't there.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, Error};

use crate::rules::{Entry, entries};
use crate::text::quoted;

/// Most names that are offered: more would be a list, and there is one.
const OFFERED_MAX: usize = 5;
/// How alike two names are that are taken for one, from 0 to 1: two letters may be wrong in ten.
const ALIKE: f64 = 0.7;

/// Reads the id of a rule or a warning, also with the brackets that messages have around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdParser;

impl TypedValueParser for IdParser {
    type Value = Entry;

    fn parse_ref(&self, command: &Command, _: Option<&Arg>, value: &OsStr) -> Result<Entry, Error> {
        let asked = value.to_string_lossy();
        let id = asked.trim_start_matches('[').trim_end_matches(']');
        entries().find(|entry| entry.id == id).ok_or_else(|| {
            Error::raw(ErrorKind::InvalidValue, format!("{}\n", unknown(id))).with_cmd(command)
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(entries().map(|entry| PossibleValue::new(entry.id).help(entry.summary))))
    }
}

fn unknown(asked: &str) -> String {
    let names = offered(asked);
    let hint = match names.as_slice() {
        [] => String::new(),
        names => format!("; did you mean {}?", names.join(" or ")),
    };
    format!("no rule or warning is called {}{hint} `etcd-warden explain` lists all", quoted(asked))
        .replacen("\" `", "\"; `", 1)
}

/// The names that were meant, perhaps: those that hold what was asked for, else the most alike first.
fn offered(asked: &str) -> Vec<&'static str> {
    let asked = asked.to_lowercase().replace(['_', ' '], "-");
    let holding: Vec<&str> =
        entries().map(|entry| entry.id).filter(|id| asked.len() > 2 && id.contains(&asked)).collect();
    if (1..=OFFERED_MAX).contains(&holding.len()) {
        return holding;
    }
    let likeness = |id: &str| strsim::normalized_damerau_levenshtein(&asked, id);
    let mut alike: Vec<(f64, &str)> =
        entries().map(|entry| (likeness(entry.id), entry.id)).filter(|(how, _)| *how >= ALIKE).collect();
    alike.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    alike.into_iter().take(3).map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_id_is_offered_first() {
        for (asked, first) in [
            ("bootstrap-peer-url-scheem", Some("bootstrap-peer-url-scheme")),
            ("bootstrap_peer_url_scheme", Some("bootstrap-peer-url-scheme")),
            ("Replicas-No-Shrink", Some("replicas-no-shrink")),
            ("shrink", Some("replicas-no-shrink")),
            ("port", Some("ports")),
            ("quota", Some("large-quota")),
            ("xyzzy", None),
            ("", None),
        ] {
            assert_eq!(offered(asked).first().copied(), first, "{asked}");
        }
    }

    #[test]
    fn what_is_unknown_is_shown_with_what_to_do() {
        assert_eq!(
            unknown("prts"),
            "no rule or warning is called \"prts\"; did you mean ports? `etcd-warden explain` lists all"
        );
        assert_eq!(
            unknown("xyzzy\u{1b}"),
            "no rule or warning is called \"xyzzy\\u{1b}\"; `etcd-warden explain` lists all"
        );
    }

    #[test]
    fn an_id_may_be_copied_with_its_brackets() {
        let command = Command::new("test").arg(Arg::new("rule").value_parser(IdParser));
        for given in ["ports", "[ports]"] {
            let found = command.clone().try_get_matches_from(["test", given]).unwrap();
            assert_eq!(found.get_one::<Entry>("rule").unwrap().id, "ports");
        }
        let error = command.try_get_matches_from(["test", "port"]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
    }
}
