//! Which rules are asked.

use super::own::{ALWAYS, OWN};
use crate::rules;

/// Which rules are asked. Without any id, all of them.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    only: Vec<String>,
    skipped: Vec<String>,
}

/// An id that no rule and no warning bears.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no rule is called {id:?}{}", meant.map(|id| format!(": is {id} meant?")).unwrap_or_default())]
pub struct UnknownId {
    id: String,
    /// The id that is most like it.
    meant: Option<&'static str>,
}

impl Filter {
    /// Only some rules, where any are named, and not others.
    pub fn new(only: Vec<String>, skipped: Vec<String>) -> Result<Self, UnknownId> {
        only.iter().chain(&skipped).try_for_each(|id| known(id))?;
        Ok(Self { only, skipped })
    }

    /// Whether what a rule says is told. That something can't be read always is.
    pub(super) fn lets(&self, rule: &str) -> bool {
        let is_in = |ids: &[String]| ids.iter().any(|id| id == rule);
        ALWAYS.contains(&rule) || ((self.only.is_empty() || is_in(&self.only)) && !is_in(&self.skipped))
    }
}

/// The ids of all that may be said.
pub(super) fn ids() -> impl Iterator<Item = &'static str> {
    rules::ids().chain(OWN.iter().map(|rule| rule.id))
}

fn known(id: &str) -> Result<(), UnknownId> {
    const ALIKE: f64 = 0.8;
    if ids().any(|known| known == id) {
        return Ok(());
    }
    let alike =
        ids().map(|known| (strsim::jaro_winkler(id, known), known)).filter(|(likeness, _)| *likeness > ALIKE);
    let meant = alike.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, known)| known);
    Err(UnknownId { id: id.to_owned(), meant })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn rules_are_chosen_and_left_out() {
        let filter = Filter::new(owned(&["ports", "labels"]), owned(&["labels"])).unwrap();
        let told = ["ports", "labels", "name", "syntax"].map(|rule| filter.lets(rule));
        assert_eq!(told, [true, false, false, true]);
        assert!(Filter::default().lets("name"));
    }

    #[test]
    fn a_mistyped_id_is_told_with_the_nearest() {
        let error = Filter::new(owned(&["bootstrap-peer-url-schema"]), vec![]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no rule is called \"bootstrap-peer-url-schema\": is bootstrap-peer-url-scheme meant?"
        );
        let error = Filter::new(vec![], owned(&["xyz"])).unwrap_err();
        assert_eq!(error.to_string(), "no rule is called \"xyz\"");
    }
}
