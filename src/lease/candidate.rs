//! The decision: what is stored and the time in, the next step out.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::store::Record;

/// How long things take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long a Lease must not have been seen to change before somebody else may take it.
    pub lease: Duration,
    /// How long after its last renewal a leader acts.
    pub renew_deadline: Duration,
    /// How often a leader renews and a candidate looks.
    pub retry: Duration,
}

impl Default for Timing {
    /// client-go's.
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        }
    }
}

/// One who stands for election, or leads.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    identity: String,
    timing: Timing,
    /// The Lease as it was last seen to change, and when that was.
    seen: Option<(Record, Instant)>,
    /// When the last renewal that was accepted was sent.
    renewed: Option<Instant>,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Look again later: somebody else leads.
    Wait,
    /// Write this, if what is stored is still what was decided on.
    Write(Record),
}

impl Candidate {
    pub(super) fn new(identity: String, timing: Timing) -> Self {
        Self { identity, timing, seen: None, renewed: None }
    }

    /// What to do about what is stored.
    pub(super) fn step(&mut self, stored: Option<&Record>, now: Instant, wall: Timestamp) -> Step {
        if let Some(stored) = stored
            && self.seen.as_ref().is_none_or(|(seen, _)| seen != stored)
        {
            self.seen = Some((stored.clone(), now));
        }
        if self.must_wait(now) { Step::Wait } else { Step::Write(self.record(stored, wall)) }
    }

    /// Whether somebody else may still act. A Lease that was deleted stops nobody who held it.
    fn must_wait(&self, now: Instant) -> bool {
        self.seen.as_ref().is_some_and(|(seen, since)| {
            let is_free = seen.holder.is_empty() || seen.holder == self.identity;
            !is_free && now.saturating_duration_since(*since) < self.timing.lease.max(seen.duration)
        })
    }

    /// A write that was sent then was accepted: leads, or goes on leading.
    pub(super) fn accepted(&mut self, sent: Instant) {
        self.renewed = Some(sent);
    }

    /// Leads no more.
    pub(super) fn stopped(&mut self) {
        self.renewed = None;
    }

    /// Until when it may act.
    pub(super) fn acts_until(&self) -> Option<Instant> {
        Some(self.renewed? + self.timing.renew_deadline)
    }

    /// The Lease given back, so that nobody has to wait for it; nothing where it is somebody else's.
    pub(super) fn released(&self, stored: &Record, wall: Timestamp) -> Option<Record> {
        let free = Record {
            holder: String::new(),
            duration: Duration::from_secs(1),
            ..self.record(Some(stored), wall)
        };
        (stored.holder == self.identity).then_some(free)
    }

    fn record(&self, stored: Option<&Record>, wall: Timestamp) -> Record {
        let held = stored.filter(|stored| stored.holder == self.identity);
        let acquired = held.and_then(|stored| stored.acquired).unwrap_or(wall);
        let transitions = stored
            .map_or(0, |stored| stored.transitions.saturating_add(i32::from(stored.holder != self.identity)));
        Record {
            holder: self.identity.clone(),
            duration: self.timing.lease,
            acquired: Some(acquired),
            renewed: Some(later(wall, stored.and_then(|stored| stored.renewed))),
            transitions,
        }
    }
}

/// The others see a renewal by its time only: it must change although a clock stands still or was set back.
fn later(wall: Timestamp, last: Option<Timestamp>) -> Timestamp {
    let tick = jiff::SignedDuration::from_micros(1);
    let wall = microseconds(wall);
    match last {
        Some(last) if last == wall => wall.checked_add(tick).unwrap_or(wall),
        _ => wall,
    }
}

/// What a Lease can hold.
fn microseconds(time: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(time.as_microsecond()).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn wall(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn held(by: &str, renewed: i64) -> Record {
        Record {
            holder: by.to_owned(),
            duration: 15 * SECOND,
            acquired: Some(wall(0)),
            renewed: Some(wall(renewed)),
            transitions: 4,
        }
    }

    fn candidate() -> Candidate {
        Candidate::new("me".to_owned(), Timing::default())
    }

    fn takes(step: &Step) -> bool {
        matches!(step, Step::Write(record) if record.holder == "me")
    }

    #[test]
    fn a_lease_that_nobody_holds_is_taken_at_once() {
        let now = Instant::now();
        for stored in [None, Some(held("", 1)), Some(held("me", 1))] {
            assert!(takes(&candidate().step(stored.as_ref(), now, wall(9))), "{stored:?}");
        }
    }

    #[test]
    fn a_held_lease_is_taken_when_it_has_not_been_seen_to_change_for_its_duration() {
        let (mut candidate, start) = (candidate(), Instant::now());
        // The wall clock says that it expired years ago, which nobody believes.
        for (second, renewed, taken) in
            [(0, 1, false), (14, 1, false), (14, 2, false), (28, 2, false), (29, 2, true)]
        {
            let now = start + second * SECOND;
            let step = candidate.step(Some(&held("other", renewed)), now, wall(1_000_000));
            assert_eq!(takes(&step), taken, "second {second}");
        }
    }

    #[test]
    fn a_deleted_lease_does_not_stop_its_holder() {
        let (mut candidate, start) = (candidate(), Instant::now());
        assert_eq!(candidate.step(Some(&held("other", 1)), start, wall(9)), Step::Wait);
        assert_eq!(candidate.step(None, start + 14 * SECOND, wall(9)), Step::Wait);
        assert!(takes(&candidate.step(None, start + 15 * SECOND, wall(9))));
    }

    #[test]
    fn only_its_own_lease_is_given_back() {
        let candidate = candidate();
        assert_eq!(candidate.released(&held("other", 1), wall(9)), None);
        assert_eq!(candidate.released(&held("me", 1), wall(9)).unwrap().holder, "");
    }

    #[test]
    fn a_longer_duration_that_the_holder_wrote_counts() {
        let (mut candidate, start) = (candidate(), Instant::now());
        let stored = Record { duration: 60 * SECOND, ..held("other", 1) };
        for (second, taken) in [(0, false), (59, false), (60, true)] {
            let step = candidate.step(Some(&stored), start + second * SECOND, wall(9));
            assert_eq!(takes(&step), taken, "second {second}");
        }
    }

    #[test]
    fn taking_counts_a_transition_and_renewing_does_not() {
        let now = Instant::now();
        let of = |stored: &Record| match candidate().step(Some(stored), now, wall(9)) {
            Step::Write(record) => (record.transitions, record.acquired),
            Step::Wait => panic!("waits"),
        };
        assert_eq!(of(&held("", 1)), (5, Some(wall(9))));
        assert_eq!(of(&held("me", 1)), (4, Some(wall(0))));
    }

    #[test]
    fn a_renewal_changes_the_time_also_under_a_clock_that_stands_still() {
        let Step::Write(record) = candidate().step(Some(&held("me", 9)), Instant::now(), wall(9)) else {
            panic!("does not renew")
        };
        assert_ne!(record.renewed, Some(wall(9)));
    }

    #[test]
    fn a_leader_acts_until_the_deadline_after_its_last_renewal_was_sent() {
        let (mut candidate, start) = (candidate(), Instant::now());
        assert_eq!(candidate.acts_until(), None);
        candidate.accepted(start);
        assert_eq!(candidate.acts_until(), Some(start + 10 * SECOND));
        candidate.stopped();
        assert_eq!(candidate.acts_until(), None);
    }
}
