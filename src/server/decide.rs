//! Has a review decided: never on the way of others, never past its deadline, never by a panic.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

use crate::admission::{self, Audited, Enforcement, NoReview, Outcome, Policy, Stored};
use crate::audit::Stage;
use crate::rules::Settings;

use super::answer::Refusal;
use super::limits::INLINE_BYTES;

/// What decides: the rules, or a test's stand-in that is slow or panics.
pub trait Judge: Send + Sync {
    /// Answers one call of a webhook.
    fn review(&self, stage: Stage, body: &[u8]) -> Result<Outcome, NoReview>;

    /// The answer to a review that was not judged within `limit`.
    fn timed_out(&self, stage: Stage, body: &[u8], limit: Duration) -> Result<Outcome, NoReview>;
}

/// The catalogue of rules, as [`admission`] applies it.
#[derive(Clone, Debug)]
pub struct Rules {
    /// What the administrator decided about them.
    pub settings: Settings,
    /// Which decisions come with a record.
    pub audited: Audited,
    /// What becomes of a violation.
    pub enforcement: Enforcement,
    /// Where the Etcd behind a Scale is found; nothing where there is no cluster.
    pub stored: Option<Arc<dyn Stored>>,
}

impl Rules {
    /// Violations are refused, and a Scale is judged by what it says.
    pub fn new(settings: Settings, audited: Audited) -> Self {
        Self { settings, audited, enforcement: Enforcement::Deny, stored: None }
    }

    fn policy(&self) -> Policy<'_> {
        Policy {
            settings: &self.settings,
            audited: self.audited,
            enforcement: self.enforcement,
            stored: self.stored.as_deref(),
        }
    }
}

impl Judge for Rules {
    fn review(&self, stage: Stage, body: &[u8]) -> Result<Outcome, NoReview> {
        admission::review(stage, body, &self.policy())
    }

    fn timed_out(&self, stage: Stage, body: &[u8], limit: Duration) -> Result<Outcome, NoReview> {
        admission::timed_out(stage, body, limit, &self.policy())
    }
}

/// One call of a webhook, with its body read.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) stage: Stage,
    pub(super) body: Bytes,
    pub(super) started: Instant,
    /// How long after its start the answer must be on its way.
    pub(super) limit: Duration,
    /// Its place among the reviews handled at once: held also by work that goes on after the deadline.
    pub(super) place: Arc<OwnedSemaphorePermit>,
}

/// What came of a call.
pub(super) struct Decided {
    pub(super) outcome: Outcome,
    /// Whether it is the deadline that decided.
    pub(super) late: bool,
}

impl Call {
    pub(super) fn deadline(&self) -> Instant {
        self.started + self.limit
    }

    /// The decision, or the answer to a review whose deadline has passed.
    pub(super) async fn decide(&self, judge: &Arc<dyn Judge>) -> Result<Decided, Refusal> {
        let (judging, call) = (Arc::clone(judge), self.clone());
        let judged = self.run(move || judging.review(call.stage, &call.body));
        match timeout_at(self.deadline(), judged).await {
            Ok(outcome) if Instant::now() < self.deadline() => {
                Ok(Decided { outcome: outcome??, late: false })
            }
            _ => self.give_up(judge).await,
        }
    }

    async fn give_up(&self, judge: &Arc<dyn Judge>) -> Result<Decided, Refusal> {
        let (judging, call) = (Arc::clone(judge), self.clone());
        let answered = self.run(move || judging.timed_out(call.stage, &call.body, call.limit));
        Ok(Decided { outcome: answered.await??, late: true })
    }

    /// Runs `work` here, or on a thread for blocking work where the body is long. It can't be cancelled: past
    /// the deadline it goes on there, and keeps its place.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        if self.body.len() <= INLINE_BYTES {
            return catch(work);
        }
        let place = Arc::clone(&self.place);
        let done = spawn_blocking(move || {
            let _place = place;
            catch(work)
        });
        done.await.unwrap_or(Err(Refusal::Panicked))
    }
}

// Nothing that `work` touches is shared with other requests and half-changed by a panic.
fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Refusal> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| Refusal::Panicked)
}
