//! Counts by name, in bounded memory.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::text::shortened;

/// Names that are kept after the rare ones were folded. The answer is exact up to twice as many.
const KEPT: usize = 5000;

/// Longest name that is told from another, in characters.
const NAME_MAX: usize = 256;

/// How often each name was seen. Where there are too many names, the rarest are folded into one count: what is told
/// of a name is then at least so much.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    counts: HashMap<String, u64>,
    folded: u64,
}

/// A name and how often it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The name.
    pub name: String,
    /// How often it was seen.
    pub count: u64,
}

impl Tally {
    /// The name was seen once more.
    pub fn add(&mut self, name: &str) {
        if let Some(count) = self.counts.get_mut(name) {
            *count += 1;
            return;
        }
        if self.counts.len() >= 2 * KEPT {
            self.fold();
        }
        *self.counts.entry(shortened(name, NAME_MAX)).or_default() += 1;
    }

    /// The names that are told apart, the most frequent first, equal ones by name.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows: Vec<Row> =
            self.counts.iter().map(|(name, count)| Row { name: name.clone(), count: *count }).collect();
        rows.sort_unstable_by(|one, other| {
            (Reverse(one.count), &one.name).cmp(&(Reverse(other.count), &other.name))
        });
        rows
    }

    /// How often any of the names was seen that are no longer told apart.
    pub fn folded(&self) -> u64 {
        self.folded
    }

    fn fold(&mut self) {
        let rare = self.rows().split_off(KEPT);
        for row in rare {
            self.counts.remove(&row.name);
            self.folded += row.count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, count: u64) -> Row {
        Row { name: name.into(), count }
    }

    #[test]
    fn the_most_frequent_come_first() {
        let mut tally = Tally::default();
        for name in ["b", "a", "c", "c", "a", "c"] {
            tally.add(name);
        }
        assert_eq!((tally.rows(), tally.folded()), (vec![row("c", 3), row("a", 2), row("b", 1)], 0));
    }

    #[test]
    fn memory_is_bounded_nothing_is_lost_and_who_is_frequent_is_kept() {
        let mut tally = Tally::default();
        for number in 0..100_000 {
            tally.add(&format!("rare-{number}"));
            if number % 10 == 0 {
                tally.add("frequent");
            }
        }
        let rows = tally.rows();
        assert!(rows.len() <= 2 * KEPT);
        assert_eq!(rows[0], row("frequent", 10_000));
        assert_eq!(rows.iter().map(|row| row.count).sum::<u64>() + tally.folded(), 110_000);
    }

    #[test]
    fn a_name_has_a_bounded_length() {
        let mut tally = Tally::default();
        let long = "x".repeat(10_000);
        tally.add(&long);
        tally.add(&long);
        assert_eq!((tally.rows()[0].count, tally.rows()[0].name.chars().count()), (2, NAME_MAX));
    }
}
