//! Waiting, with a deadline and a reason.

use std::time::{Duration, Instant};

/// The least pause between two looks.
const STEP: Duration = Duration::from_millis(100);

/// A pause is so many times as long as the look before it: many wait at a time, and a look that is a kubectl works.
const LOOKS: u32 = 2;

/// What a look at the world says: it is so, or what is there instead.
pub trait Look {
    /// What is known once it is so.
    type Found;
    /// Turns the look into what was found, or what was seen instead.
    fn found(self) -> Result<Self::Found, String>;
}

impl Look for bool {
    type Found = ();
    fn found(self) -> Result<(), String> {
        self.then_some(()).ok_or_else(|| "it isn't so".to_owned())
    }
}

impl<T> Look for Option<T> {
    type Found = T;
    fn found(self) -> Result<T, String> {
        self.ok_or_else(|| "there is none".to_owned())
    }
}

impl<T> Look for Result<T, String> {
    type Found = T;
    fn found(self) -> Self {
        self
    }
}

/// Looks until it is so; panics past the deadline with what it saw last. A namespace that is dropped by that panic
/// prints what is in it.
#[track_caller]
pub fn eventually<L: Look>(deadline: Duration, what: &str, mut look: impl FnMut() -> L) -> L::Found {
    let end = Instant::now() + deadline;
    loop {
        let began = Instant::now();
        match look().found() {
            Ok(found) => return found,
            Err(seen) => assert!(Instant::now() < end, "not within {deadline:?}: {what}; seen last: {seen}"),
        }
        std::thread::sleep(STEP.max(began.elapsed() * LOOKS));
    }
}
