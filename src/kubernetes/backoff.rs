//! How long to wait after failures in a row.

use std::time::Duration;

/// Doubling waits, each up to a fifth longer by chance, so that replicas that failed together don't come back
/// together.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    failures: u32,
}

impl Backoff {
    /// From `first` on, doubling up to `longest`.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, failures: 0 }
    }

    /// After one more failure.
    pub fn failed(&mut self) -> Duration {
        let wait = self.first.saturating_mul(2_u32.saturating_pow(self.failures)).min(self.longest);
        self.failures = self.failures.saturating_add(1);
        wait.mul_f64(1.0 + chance() / 5.0)
    }

    /// After a success.
    pub fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// How many failures there were in a row.
    pub fn failures(&self) -> u32 {
        self.failures
    }
}

/// A number from 0 to 1.
pub(crate) fn chance() -> f64 {
    let mut bytes = [0; 2];
    // Without chance the replicas keep step, which the server bears.
    let _ = aws_lc_rs::rand::fill(&mut bytes);
    f64::from(u16::from_be_bytes(bytes)) / f64::from(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_begin_anew() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5));
        for whole in [1, 2, 4, 5, 5] {
            let (wait, whole) = (backoff.failed(), Duration::from_secs(whole));
            assert!(wait >= whole && wait <= whole.mul_f64(1.2), "{wait:?} for {whole:?}");
        }
        backoff.succeeded();
        assert!(backoff.failed() <= Duration::from_millis(1200));
    }
}
