//! Whether a join goes on. It has failed when nothing moves any more, or when voters can't reach the joiner; how long it
//! takes says nothing: a large database over a slow line may take an hour.

use std::time::{Duration, Instant};

/// What a look at a joiner showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Nothing can be said: what it waits for isn't its own.
    Excused,
    /// It has not caught up. One of these rises while it does.
    Behind {
        /// Bytes of the snapshot that it receives, or has received.
        received: u64,
        /// Index of the last entry that it has applied.
        applied: u64,
    },
    /// It has caught up, and voters hold no connection to it.
    Unreached,
}

/// Remembers since when nothing has moved.
#[derive(Debug)]
pub struct Stall {
    patience: Duration,
    since: Option<(Stage, Instant)>,
}

impl Stall {
    /// With this patience for a join that stands still.
    pub const fn new(patience: Duration) -> Self {
        Self { patience, since: None }
    }

    /// Whether the join has failed, with this look.
    pub fn has_failed(&mut self, stage: Stage, now: Instant) -> bool {
        match self.since {
            _ if stage == Stage::Excused => self.since = None,
            Some((before, since)) if before == stage => return now.duration_since(since) >= self.patience,
            _ => self.since = Some((stage, now)),
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_mins(2);

    fn at(applied: u64) -> Stage {
        Stage::Behind { received: 7, applied }
    }

    /// Looks half the patience apart; whether the last one says that the join has failed.
    fn failed(stages: &[Stage]) -> bool {
        let (mut stall, start) = (Stall::new(PATIENCE), Instant::now());
        let looks = (0..).zip(stages).map(|(number, stage)| (start + PATIENCE / 2 * number, *stage));
        looks.map(|(now, stage)| stall.has_failed(stage, now)).last().unwrap()
    }

    #[test]
    fn a_join_that_stands_still_has_failed() {
        assert!(failed(&[at(1), at(1), at(1)]));
        assert!(!failed(&[at(1), at(1)]));
    }

    #[test]
    fn a_join_that_moves_takes_as_long_as_it_takes() {
        let moving: Vec<Stage> = (0..100).map(at).collect();
        assert!(!failed(&moving));
        let receives: Vec<Stage> = (0..100).map(|received| Stage::Behind { received, applied: 0 }).collect();
        assert!(!failed(&receives));
    }

    #[test]
    fn voters_that_never_reach_it_fail_a_join() {
        assert!(failed(&[at(1), Stage::Unreached, Stage::Unreached, Stage::Unreached]));
        assert!(!failed(&[Stage::Unreached, at(1), Stage::Unreached]));
    }

    #[test]
    fn a_cluster_that_is_not_well_is_no_fault_of_the_joiner() {
        assert!(!failed(&[Stage::Excused; 5]));
        assert!(!failed(&[at(1), Stage::Excused, at(1), at(1)]));
    }
}
