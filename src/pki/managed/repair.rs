//! How soon an overwritten bundle is put right.

use std::time::Duration;

use tokio::time::Instant;

/// Repairs that are older than this are forgotten.
const WINDOW: Duration = Duration::from_mins(10);

/// So many at once: a person, or a tool that applies its files anew.
const FREE: usize = 3;

/// The first wait of a fight; each further one is twice as long.
const FIRST: Duration = Duration::from_secs(5);

/// The longest wait of a fight: API servers can't reach the webhook in between.
const LONGEST: Duration = Duration::from_mins(2);

/// The repairs of one configuration.
#[derive(Debug, Default)]
pub(super) struct Repairs(Vec<Instant>);

impl Repairs {
    /// When the next repair is due.
    pub(super) fn due(&self, now: Instant) -> Instant {
        let recent = self.0.iter().filter(|at| now.saturating_duration_since(**at) < WINDOW).count();
        let Some(last) = self.0.last().filter(|_| recent >= FREE) else { return now };
        let doublings = u32::try_from(recent - FREE).unwrap_or(u32::MAX);
        *last + FIRST.saturating_mul(2_u32.saturating_pow(doublings)).min(LONGEST)
    }

    /// One more; whether somebody fights by now.
    pub(super) fn repaired(&mut self, now: Instant) -> bool {
        self.0.retain(|at| now.saturating_duration_since(*at) < WINDOW);
        self.0.push(now);
        self.0.len() > FREE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_repairs_are_made_at_once_and_then_ever_later() {
        let (mut repairs, mut now) = (Repairs::default(), Instant::now());
        for wait in [0, 0, 0, 5, 10, 20, 40, 80, 120, 120] {
            let due = repairs.due(now);
            assert_eq!(due.saturating_duration_since(now), Duration::from_secs(wait), "wait {wait}");
            now = due.max(now);
            assert_eq!(repairs.repaired(now), wait > 0);
        }
        now += WINDOW;
        assert_eq!(repairs.due(now), now, "a fight is forgotten");
    }
}
