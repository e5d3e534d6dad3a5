//! Records by time, as far as bounded memory allows.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::item::Recorded;

/// Most that is held back: the logs of several containers, one behind the other, as a kubelet keeps them (10 MiB each).
const BYTES: usize = 32 * 1024 * 1024;

/// What a record takes beside its line.
const RECORD_BYTES: usize = 1024;

/// Holds records back until so many wait that the oldest has to go. What comes late by no more than that is put in its
/// place; what comes later than that is counted.
#[derive(Debug)]
pub struct Window {
    bytes_max: usize,
    bytes: usize,
    /// By time; those of one time in the order in which they came.
    held: BTreeMap<(Timestamp, u64), Box<Recorded>>,
    came: u64,
    /// The newest that has gone.
    gone: Option<Timestamp>,
    late: u64,
}

impl Default for Window {
    fn default() -> Self {
        Self::new(BYTES)
    }
}

impl Window {
    /// Of so many bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes_max, bytes: 0, held: BTreeMap::new(), came: 0, gone: None, late: 0 }
    }

    /// One record more.
    pub fn add(&mut self, mut recorded: Recorded) {
        recorded.shrink();
        self.bytes += size(&recorded);
        self.held.insert((recorded.entry.time.at, self.came), Box::new(recorded));
        self.came += 1;
    }

    /// The oldest, where there is no room for all.
    pub fn overflow(&mut self) -> Option<Recorded> {
        if self.bytes > self.bytes_max { self.oldest() } else { None }
    }

    /// The oldest.
    pub fn oldest(&mut self) -> Option<Recorded> {
        let ((at, _), recorded) = self.held.pop_first()?;
        self.bytes -= size(&recorded);
        if self.gone.is_some_and(|gone| at < gone) {
            self.late += 1;
        } else {
            self.gone = Some(at);
        }
        Some(*recorded)
    }

    /// How many came too late to stand in their place.
    pub fn late(&self) -> u64 {
        self.late
    }
}

fn size(recorded: &Recorded) -> usize {
    recorded.line().len() + RECORD_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::query::item::tests::recorded;

    /// The minutes in which records come that came in these, with room for so many; and how many are late.
    fn through(minutes: &[u32], room: usize) -> (Vec<String>, u64) {
        let of = |minute: u32, uid: usize| {
            recorded(|record| {
                record.time = format!("2026-11-29T16:{minute:02}:00.000Z");
                record.uid = format!("{uid:03}");
            })
        };
        let mut window = Window::new(room * size(&of(0, 0)));
        let mut came = Vec::new();
        let told =
            |recorded: Recorded| format!("{}/{}", &recorded.entry.time.text[14..16], recorded.entry.uid);
        for (uid, minute) in minutes.iter().enumerate() {
            window.add(of(*minute, uid));
            came.extend(std::iter::from_fn(|| window.overflow()).map(told));
        }
        assert!(window.held.len() <= room);
        came.extend(std::iter::from_fn(|| window.oldest()).map(told));
        (came, window.late())
    }

    #[test]
    fn records_come_by_time_and_those_of_one_time_as_they_came() {
        let (came, late) = through(&[3, 4, 5, 1, 4, 6], 9);
        assert_eq!(came, ["01/003", "03/000", "04/001", "04/004", "05/002", "06/005"]);
        assert_eq!(late, 0);
    }

    #[test]
    fn what_comes_too_late_for_the_window_is_counted() {
        let (came, late) = through(&[2, 3, 4, 5, 1, 2, 6], 2);
        assert_eq!(came, ["02/000", "03/001", "01/004", "02/005", "04/002", "05/003", "06/006"]);
        assert_eq!(late, 2);
        assert_eq!(through(&[1, 2, 3, 1], 0).1, 1);
    }
}
