//! The newest of many, in bounded memory.

use std::collections::VecDeque;

use super::item::Recorded;

/// The newest records: at most so many, and of their lines at most so many bytes.
#[derive(Debug)]
pub struct Newest {
    most: usize,
    bytes_max: usize,
    kept: VecDeque<Recorded>,
    bytes: usize,
    left_out: u64,
}

impl Newest {
    /// Of none yet.
    pub fn new(most: usize, bytes_max: usize) -> Self {
        Self { most, bytes_max, kept: VecDeque::new(), bytes: 0, left_out: 0 }
    }

    /// One more, newer than those before.
    pub fn add(&mut self, recorded: Recorded) {
        self.bytes += recorded.line().len();
        self.kept.push_back(recorded);
        while self.kept.len() > self.most || self.bytes > self.bytes_max {
            let Some(oldest) = self.kept.pop_front() else { return };
            self.bytes -= oldest.line().len();
            self.left_out += 1;
        }
    }

    /// Those that were kept, the oldest first.
    pub fn kept(&self) -> impl DoubleEndedIterator<Item = &Recorded> {
        self.kept.iter()
    }

    /// How many older ones were left out.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::query::item::tests::recorded;

    fn newest(most: usize, bytes_max: usize) -> (Vec<String>, u64) {
        let mut newest = Newest::new(most, bytes_max);
        for uid in ["1", "2", "3", "4"] {
            newest.add(recorded(|record| uid.clone_into(&mut record.uid)));
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
