//! The loop itself: watches, decides, and carries out what was decided.
//!
//! | file | what is in it |
//! |---|---|
//! | `watches` | what is watched, and to which Etcd it belongs |
//! | `gather` | facts, from the watches or looked up anew |
//! | `neighbours` | Etcds that share a cluster |
//! | `carry_out` | steps, as requests |
//! | `census` | how many Etcds are in each phase |
//! | `teller` | events, of which a repeat is counted |
//! | `unreadable` | an Etcd that can't be read is told so |
//! | `health` | what the loop has to say of itself |

mod carry_out;
mod census;
mod gather;
mod health;
mod neighbours;
mod teller;
mod unreadable;
mod watches;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::ready;
use kube::Client;
use kube::core::DynamicObject;
use kube::runtime::controller::{Action, Config, applier};
use kube::runtime::events::Reporter;
use tokio_util::sync::CancellationToken;

use super::decide::{Decision, Step, decide};
use super::object::{Etcd, Unreadable};
use super::render::Settings;
use crate::etcd::BOOTSTRAPPED;
use crate::kubernetes::{Backoff, CallError};
use teller::Teller;
use watches::Watches;

pub use health::{Health, Metrics};
pub use watches::etcds;

/// Etcds that are looked after at once.
const AT_ONCE: u16 = 8;

/// Changes that come together are looked at together.
const TOGETHER: Duration = Duration::from_millis(200);

/// How soon an Etcd is looked at again after a write: the watch is mostly quicker.
const SOON: Duration = Duration::from_secs(5);

/// How soon one is looked at again that waits, perhaps for members of another Etcd.
const WAITING: Duration = Duration::from_secs(15);

/// How soon one is looked at again where nothing is to be done.
const IDLE: Duration = Duration::from_mins(10);

/// Longest wait after failures in a row.
const LONGEST: Duration = Duration::from_mins(1);

/// The loop. It works only while it is run.
#[derive(Clone)]
pub struct Loop {
    client: Client,
    settings: Settings,
    teller: Teller,
    health: Arc<Health>,
}

/// Why an Etcd could not be looked after.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failed {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error("{0}")]
    Said(String),
}

/// One term of the loop.
struct Term {
    client: Client,
    settings: Settings,
    teller: Teller,
    health: Arc<Health>,
    watches: Watches,
    /// What is remembered of each Etcd, by namespace and name.
    remembered: Mutex<HashMap<(String, String), Remembered>>,
    /// Held by whoever takes a voter away for a while, or for good.
    disruption: tokio::sync::Mutex<()>,
}

/// What is remembered of an Etcd from look to look.
struct Remembered {
    backoff: Backoff,
    /// What went wrong when the last decision was carried out.
    failures: Vec<(String, String)>,
}

impl Default for Remembered {
    fn default() -> Self {
        Self { backoff: Backoff::new(Duration::from_secs(1), LONGEST), failures: Vec::new() }
    }
}

impl Loop {
    /// `identity` names this replica in events.
    pub fn new(client: Client, settings: Settings, identity: String, health: Arc<Health>) -> Self {
        let reporter = Reporter { controller: super::render::MANAGER.to_owned(), instance: Some(identity) };
        Self { teller: Teller::new(client.clone(), reporter), client, settings, health }
    }

    /// Until the term is over. What is under way then is given up: every write is checked by UID or version, or says
    /// the same whoever says it.
    pub async fn run(self, over: CancellationToken) {
        let Self { client, settings, teller, health } = self;
        let (watches, changes) = watches::start(&client, &health);
        let store = watches.etcds.clone();
        let (remembered, disruption) = (Mutex::default(), tokio::sync::Mutex::default());
        let term = Arc::new(Term { client, settings, teller, health, watches, remembered, disruption });
        let config = Config::default().debounce(TOGETHER).concurrency(AT_ONCE);
        let look = |etcd: Arc<DynamicObject>, term: Arc<Term>| {
            Box::pin(async move { Box::pin(term.look(&etcd)).await })
        };
        let work = applier(
            look,
            |etcd, failed, term: Arc<Term>| term.failed(&etcd, failed),
            Arc::clone(&term),
            store,
            changes,
            config,
        );
        // Failures are said where they arise.
        let work = work.for_each(|_| ready(()));
        tokio::select! {
            biased;
            () = over.cancelled() => {}
            () = work => tracing::warn!("the loop's watches have ended"),
            () = term.health.metrics.census.keep(&term.watches.etcds) => {}
        }
        term.health.rests();
    }
}

impl Term {
    /// Looks at one Etcd, and carries out what is decided.
    async fn look(&self, object: &DynamicObject) -> Result<Action, Failed> {
        self.watches.are_ready().await;
        let etcd = match Etcd::read(object) {
            Ok(etcd) => etcd,
            Err(error) => return Err(self.unreadable(object, error).await),
        };
        let failures = self.with(&etcd.namespace, &etcd.name, |of| of.failures.clone());
        let had_failures = !failures.is_empty();
        let mut etcd = etcd;
        let mut decision = self.decide(&etcd, &failures, false).await?;
        // One word to leave, and one restart, at a time: what another Etcd's members are told is seen by the next look.
        let alone = decision.steps.iter().any(is_disruptive);
        let _alone = if alone { Some(self.disruption.lock().await) } else { None };
        if decision.steps.iter().any(is_weighty) {
            let Some(now) = self.etcd_now(&etcd).await? else { return Ok(Action::await_change()) };
            etcd = now;
            decision = self.decide(&etcd, &failures, true).await?;
            if !alone {
                // What wasn't foreseen waits for its turn.
                decision.steps.retain(|step| !is_disruptive(step));
            }
        }
        let failures = self.carry_out(&etcd, &decision).await?;
        let fails = !failures.is_empty();
        let said = failures.iter().map(|(_, text)| text.clone()).collect::<Vec<_>>().join("; ");
        let is_news = self.with(&etcd.namespace, &etcd.name, |of| {
            std::mem::replace(&mut of.failures, failures.clone()) != failures
        });
        if fails && !is_news {
            return Err(Failed::Said(said));
        }
        if !fails {
            self.health.metrics.looks.inc();
            self.with(&etcd.namespace, &etcd.name, |of| of.backoff.succeeded());
        }
        // What went wrong, or doesn't any more, goes into status at once.
        Ok(if is_news || had_failures != fails {
            Action::requeue(Duration::ZERO)
        } else {
            next_look(&etcd, &decision)
        })
    }

    fn failed(&self, object: &DynamicObject, failed: &Failed) -> Action {
        let of = |text: &Option<String>| text.clone().unwrap_or_default();
        let (namespace, name) = (of(&object.metadata.namespace), of(&object.metadata.name));
        let (wait, failures) =
            self.with(&namespace, &name, |of| (of.backoff.failed(), of.backoff.failures()));
        if matches!(failed, Failed::Call(error) if error.is_conflict()) {
            // Somebody else was quicker, which the watch brings.
            return Action::requeue(wait);
        }
        self.health.metrics.failures.inc();
        if failures == 1 {
            tracing::warn!(%namespace, %name, error = %failed, "an Etcd can't be looked after; it is tried again");
        } else {
            tracing::debug!(%namespace, %name, error = %failed, failures, "an Etcd can't be looked after");
        }
        Action::requeue(wait)
    }

    fn with<T>(&self, namespace: &str, name: &str, look: impl FnOnce(&mut Remembered) -> T) -> T {
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        look(remembered.entry((namespace.to_owned(), name.to_owned())).or_default())
    }

    fn forget(&self, etcd: &Etcd) {
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.remove(&(etcd.namespace.clone(), etcd.name.clone()));
    }

    async fn decide(
        &self,
        etcd: &Etcd,
        failures: &[(String, String)],
        anew: bool,
    ) -> Result<Decision, Failed> {
        let gathered = self.gather(etcd, anew).await?;
        Ok(decide(&gathered.facts(etcd, &self.settings, failures)))
    }
}

/// What can't be taken back is decided on a fresh look.
fn is_weighty(step: &Step) -> bool {
    match step {
        Step::Hold | Step::Apply { .. } => false,
        Step::Release
        | Step::Delete { .. }
        | Step::Replace { .. }
        | Step::Give(..)
        | Step::TakeBack(_)
        | Step::Tell(..)
        | Step::Record(_) => true,
    }
}

/// What takes a voter away.
const fn is_disruptive(step: &Step) -> bool {
    matches!(step, Step::Replace { .. } | Step::Tell(..))
}

fn next_look(etcd: &Etcd, decision: &Decision) -> Action {
    let waits =
        etcd.is_terminating || !decision.status.is_true("AllMembersUpdated") && etcd.spec.replicas > 0;
    // Another Etcd that joins the same cluster is no event of this one.
    let joins = decision.status.condition(BOOTSTRAPPED).is_some_and(|condition| condition.status != "True");
    Action::requeue(match (decision.steps.is_empty(), waits) {
        _ if joins => SOON,
        (false, _) => SOON,
        (true, true) => WAITING,
        (true, false) => IDLE,
    })
}
