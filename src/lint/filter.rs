//! Which rules are asked.

use super::own::ALWAYS;
use crate::rules::Entry;

/// Which rules are asked. Without any, all of them.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    only: Vec<&'static str>,
    skipped: Vec<&'static str>,
}

impl Filter {
    /// Only some rules, where any are named, and not others.
    pub fn new(only: &[Entry], skipped: &[Entry]) -> Self {
        let ids = |entries: &[Entry]| entries.iter().map(|entry| entry.id).collect();
        Self { only: ids(only), skipped: ids(skipped) }
    }

    /// Whether what a rule says is told. That something isn't told, or can't be read, always is.
    pub(super) fn lets(&self, rule: &str) -> bool {
        ALWAYS.contains(&rule)
            || ((self.only.is_empty() || self.only.contains(&rule)) && !self.skipped.contains(&rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::find;

    #[test]
    fn rules_are_chosen_and_left_out() {
        let entries = |ids: &[&str]| ids.iter().map(|id| find(id).unwrap()).collect::<Vec<_>>();
        let filter = Filter::new(&entries(&["ports", "labels"]), &entries(&["labels", "left-out"]));
        let told = ["ports", "labels", "name", "syntax", "left-out"].map(|rule| filter.lets(rule));
        assert_eq!(told, [true, false, false, true, true]);
        assert!(Filter::default().lets("name"));
    }
}
