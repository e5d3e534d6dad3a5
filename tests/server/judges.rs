//! Stand-ins for the rules: ones that wait, and ones that panic.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use etcd_warden::admission::{self, Audited, NoReview, Outcome, Policy};
use etcd_warden::audit::Stage;
use etcd_warden::rules::Settings;
use etcd_warden::server::Judge;

use super::support::SOON;

/// Waits in every review until it is opened.
#[derive(Default)]
pub struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn wait(&self) {
        // A test that fails with its gate closed is to end all the same.
        let open = self.open.lock().unwrap();
        drop(self.opened.wait_timeout_while(open, SOON * 2, |open| !*open).unwrap());
    }

    pub fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }
}

pub struct Gated(pub Arc<Gate>);

impl Judge for Gated {
    fn review(&self, stage: Stage, body: &[u8]) -> Result<Outcome, NoReview> {
        self.0.wait();
        admission::review(stage, body, &Policy::new(&Settings::default(), Audited::Rejections))
    }

    fn timed_out(&self, stage: Stage, body: &[u8], limit: Duration) -> Result<Outcome, NoReview> {
        admission::timed_out(stage, body, limit, &Policy::new(&Settings::default(), Audited::Rejections))
    }
}

/// Panics at a body with the word `panic`.
pub struct Panicking;

impl Judge for Panicking {
    fn review(&self, stage: Stage, body: &[u8]) -> Result<Outcome, NoReview> {
        assert!(!body.windows(5).any(|bytes| bytes == b"panic"), "asked to");
        admission::review(stage, body, &Policy::new(&Settings::default(), Audited::Rejections))
    }

    fn timed_out(&self, stage: Stage, body: &[u8], limit: Duration) -> Result<Outcome, NoReview> {
        admission::timed_out(stage, body, limit, &Policy::new(&Settings::default(), Audited::Rejections))
    }
}
