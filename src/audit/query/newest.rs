//! The newest of many, in bounded memory.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::item::Recorded;

/// The newest records, in whatever order they come: at most so many, and of their lines at most so many bytes.
#[derive(Debug)]
pub struct Newest {
    most: usize,
    bytes_max: usize,
    /// By time; those of one time in the order in which they came.
    kept: BTreeMap<(Timestamp, u64), Recorded>,
    came: u64,
    bytes: usize,
}

impl Newest {
    /// Of none yet.
    pub fn new(most: usize, bytes_max: usize) -> Self {
        Self { most, bytes_max, kept: BTreeMap::new(), came: 0, bytes: 0 }
    }

    /// One more.
    pub fn add(&mut self, mut recorded: Recorded) {
        recorded.shrink();
        self.bytes += recorded.line().len();
        self.kept.insert((recorded.entry.time.at, self.came), recorded);
        self.came += 1;
        while self.kept.len() > self.most || self.bytes > self.bytes_max {
            let Some((_, oldest)) = self.kept.pop_first() else { return };
            self.bytes -= oldest.line().len();
        }
    }

    /// Those that were kept, the oldest first.
    pub fn kept(&self) -> impl DoubleEndedIterator<Item = &Recorded> {
        self.kept.values()
    }

    /// How many older ones were left out.
    pub fn left_out(&self) -> u64 {
        self.came - self.kept.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::query::item::tests::recorded;

    /// Of four, of which the third came last.
    fn newest(most: usize, bytes_max: usize) -> (Vec<String>, u64) {
        let mut newest = Newest::new(most, bytes_max);
        for (uid, minute) in [("1", 1), ("2", 2), ("4", 3), ("3", 2)] {
            newest.add(recorded(|record| {
                uid.clone_into(&mut record.uid);
                record.time = format!("2026-11-29T16:{minute:02}:00.000Z");
            }));
        }
        (newest.kept().map(|recorded| recorded.entry.uid.clone()).collect(), newest.left_out())
    }

    #[test]
    fn the_oldest_go_first() {
        let length = recorded(|record| "1".clone_into(&mut record.uid)).line().len();
        assert_eq!(newest(9, usize::MAX), (["1", "2", "3", "4"].map(String::from).to_vec(), 0));
        assert_eq!(newest(2, usize::MAX), (["3", "4"].map(String::from).to_vec(), 2));
        assert_eq!(newest(9, 3 * length), (["2", "3", "4"].map(String::from).to_vec(), 1));
        assert_eq!(newest(0, usize::MAX), (vec![], 4));
    }
}
