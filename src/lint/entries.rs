//! Everything that has an id: the rules and warnings of the catalogue, and what only `lint` says.

use super::own::OWN;
use crate::rules::{self, Entry};
use crate::text::quoted;

/// Most ids that are offered for one that isn't there: more would be a list, and there is one.
const OFFERED_MAX: usize = 5;
/// How alike two ids are that are taken for one, from 0 to 1: two letters may be wrong in ten.
const ALIKE: f64 = 0.7;

/// Every rule, then every warning, then what only `lint` says, in the order of the tables.
pub fn entries() -> impl Iterator<Item = Entry> {
    rules::entries().chain(OWN.iter().map(Entry::from))
}

/// An id that nothing bears.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no rule or warning is called {}{}", quoted(asked), remedy(offered))]
pub struct UnknownId {
    asked: String,
    /// The ids that are most like it.
    offered: Vec<&'static str>,
}

/// What bears an id, also where that comes with the brackets that messages have around it.
pub fn find(asked: &str) -> Result<Entry, UnknownId> {
    let id = without_brackets(asked);
    let found = entries().find(|entry| entry.id == id);
    found.ok_or_else(|| UnknownId { asked: id.to_owned(), offered: offered(id) })
}

/// An id alone, without the brackets that messages have around it.
pub fn without_brackets(asked: &str) -> &str {
    asked.trim().trim_start_matches('[').trim_end_matches(']')
}

fn remedy(offered: &[&str]) -> String {
    const LIST: &str = "`etcd-warden explain` lists all";
    match offered {
        [] => format!("; {LIST}"),
        names => format!("; did you mean {}? {LIST}", names.join(" or ")),
    }
}

/// The ids that were meant, perhaps: those that hold what was asked for, else the most alike first.
fn offered(asked: &str) -> Vec<&'static str> {
    let asked = asked.to_lowercase().replace(['_', ' '], "-");
    let ids = || entries().map(|entry| entry.id);
    let holding: Vec<&str> = ids().filter(|id| asked.len() > 2 && id.contains(&asked)).collect();
    if (1..=OFFERED_MAX).contains(&holding.len()) {
        return holding;
    }
    let likeness = |id: &str| strsim::normalized_damerau_levenshtein(&asked, id);
    let mut alike: Vec<(f64, &str)> =
        ids().map(|id| (likeness(id), id)).filter(|(how, _)| *how >= ALIKE).collect();
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
            ("sintax", Some("syntax")),
            ("unknown-fields", Some("unknown-field")),
            ("xyzzy", None),
            ("", None),
        ] {
            assert_eq!(offered(asked).first().copied(), first, "{asked}");
        }
    }

    #[test]
    fn what_is_unknown_is_shown_with_what_to_do() {
        for (asked, said) in [
            ("prts", "\"prts\"; did you mean ports? `etcd-warden explain` lists all"),
            ("xyzzy\u{1b}", "\"xyzzy\\u{1b}\"; `etcd-warden explain` lists all"),
            ("[prts]", "\"prts\"; did you mean ports? `etcd-warden explain` lists all"),
        ] {
            let expected = format!("no rule or warning is called {said}");
            assert_eq!(find(asked).map(|entry| entry.id).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn an_id_may_be_copied_with_its_brackets() {
        for (asked, id) in [("ports", "ports"), ("[ports]", "ports"), (" [syntax]", "syntax")] {
            assert_eq!(find(asked).unwrap().id, id);
        }
    }
}
