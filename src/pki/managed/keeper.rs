//! What the leader does: the Secret and the bundles.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::StreamExt;
use futures_util::stream::select;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::access::{Access, Problem};
use super::authority::Authority;
use super::hooks::{Hooks, KINDS, Kind};
use super::plan::{Sight, Step};
use super::repair::Repairs;
use super::secret::{Authorities, Found};
use super::status::{Part, Status};
use crate::kubernetes::Backoff;

/// How often everything is looked at, also without a change.
const ROUND: Duration = Duration::from_secs(10);

/// Keeps the CA and the bundles right, while this replica leads.
#[derive(Clone)]
pub struct Keeper {
    access: Access,
    status: Arc<Status>,
}

/// What is remembered from round to round; a new leader begins anew.
#[derive(Default)]
struct Term {
    /// Since when both configurations have been seen to trust the next CA.
    trusted_since: Option<Instant>,
    repairs: [Repairs; 2],
    /// The bundles as they were applied last.
    applied: [Option<Vec<u8>>; 2],
    /// When a repair that is held back is due.
    due: Option<Instant>,
}

impl Keeper {
    /// Nothing is done before [`Self::run`].
    pub fn new(access: Access, status: Arc<Status>) -> Self {
        Self { access, status }
    }

    /// Until this replica's term is over.
    pub async fn run(self, over: CancellationToken) {
        let [validating, mutating] = KINDS.map(|kind| self.access.changes(kind).boxed());
        let mut changes = pin!(select(validating, mutating));
        let (mut term, mut backoff) = (Term::default(), Backoff::new(Duration::from_secs(1), ROUND));
        let mut wait = Duration::ZERO;
        loop {
            tokio::select! {
                biased;
                () = over.cancelled() => break,
                Some(change) = changes.next() => {
                    self.status.came_to(Part::Watch, change.as_ref().err().map(ToString::to_string));
                    if change.is_err() {
                        continue;
                    }
                }
                () = sleep(wait) => {}
            }
            let round = tokio::select! {
                biased;
                () = over.cancelled() => break,
                round = self.round(&mut term) => round,
            };
            wait = self.wait_after(&round, &term, &mut backoff);
            self.status.came_to(Part::Keeper, round.err().map(|problem| problem.to_string()));
        }
        // Another replica sees to it now.
        self.status.came_to(Part::Keeper, None);
        self.status.came_to(Part::Watch, None);
    }

    fn wait_after(&self, round: &Result<bool, Problem>, term: &Term, backoff: &mut Backoff) -> Duration {
        match round {
            // A repair that is held back is no failure that would put it off any longer.
            Err(_) => return term.until_due().map_or_else(|| backoff.failed(), |due| due.min(ROUND)),
            Ok(_) => backoff.succeeded(),
        }
        if matches!(round, Ok(true)) { Duration::ZERO } else { self.pause(term) }
    }

    fn pause(&self, term: &Term) -> Duration {
        // Life times of seconds are for tests, and are kept all the same.
        let settings = &self.access.settings;
        let settle = if settings.settle.is_zero() { ROUND } else { settings.settle / 4 };
        let usual = ROUND.min(settle).min(settings.ca_life / 60).max(Duration::from_millis(100));
        term.until_due().map_or(usual, |due| due.min(usual))
    }

    /// Looks at everything, and takes one step; whether there may be a next one at once.
    async fn round(&self, term: &mut Term) -> Result<bool, Problem> {
        let mut hooks = self.access.both().await?;
        let Found { authorities, metadata } = self.access.secret().await?;
        let step = self.step(&authorities, &hooks, term);
        if self.write(step, &authorities, metadata).await? {
            return Ok(true);
        }
        let kept = self.keep_bundles(&authorities.bundle(), &mut hooks, term).await;
        term.see(authorities.next.as_ref(), &hooks);
        kept?;
        match KINDS.iter().zip(&hooks).find(|(_, hooks)| hooks.is_none()) {
            None => Ok(false),
            Some((kind, _)) => Err(Problem::Not(format!(
                "{} {:?} is not there, and nothing calls this server by it: install it, or name it with --webhook-configuration",
                kind.name, self.access.settings.configuration
            ))),
        }
    }

    fn step(&self, authorities: &Authorities, hooks: &[Option<Hooks>; 2], term: &Term) -> Step {
        let trusted: Vec<_> = hooks.iter().flatten().flat_map(Hooks::trusted).collect();
        let settled = term.trusted_since.is_some_and(|since| since.elapsed() >= self.access.settings.settle);
        Sight { authorities, trusted: &trusted, settled, now: SystemTime::now() }.step()
    }

    async fn write(
        &self,
        step: Step,
        authorities: &Authorities,
        metadata: Option<ObjectMeta>,
    ) -> Result<bool, Problem> {
        let life = self.access.settings.ca_life;
        let said = match &step {
            Step::Keep => return Ok(false),
            Step::Begin => "a CA was made, and signs",
            Step::Announce(_) => {
                "a new CA was made: it is announced in the webhook configurations, and signs later"
            }
            Step::Promote => "the new CA signs from now on",
            Step::Forget(_) => "a CA has expired, and is trusted no more",
        };
        let promotes = step == Step::Promote;
        let Some(written) = step.applied(authorities, || Authority::make(SystemTime::now(), life))? else {
            return Ok(false);
        };
        self.access.write(&written, metadata).await?;
        self.status.metrics.rotations.inc_by(u64::from(promotes));
        tracing::info!(secret = %self.access.settings.secret, "{said}");
        Ok(true)
    }

    /// Puts right what differs; what one configuration refuses doesn't stand in the way of the other.
    async fn keep_bundles(
        &self,
        bundle: &str,
        hooks: &mut [Option<Hooks>; 2],
        term: &mut Term,
    ) -> Result<(), Problem> {
        term.due = None;
        let mut kept = Ok(());
        for (index, kind) in KINDS.into_iter().enumerate() {
            let Some(found) = hooks.get_mut(index).and_then(Option::as_mut) else { continue };
            if !found.have(bundle) {
                let repaired = self.repair(index, kind, bundle, found, term).await;
                kept = kept.and(repaired);
            }
        }
        kept
    }

    async fn repair(
        &self,
        index: usize,
        kind: Kind,
        bundle: &str,
        found: &mut Hooks,
        term: &mut Term,
    ) -> Result<(), Problem> {
        let (Some(repairs), Some(applied)) = (term.repairs.get_mut(index), term.applied.get_mut(index))
        else {
            return Ok(());
        };
        let now = Instant::now();
        let overwritten = applied.as_ref().is_some_and(|applied| *applied != found.fingerprint());
        if overwritten && repairs.due(now) > now {
            let due = repairs.due(now);
            term.due = Some(term.due.map_or(due, |other| other.min(due)));
            return Err(Problem::Not(self.fight(kind, found)));
        }
        let after = self.access.apply(kind, found, bundle).await?;
        if overwritten {
            self.status.metrics.repairs.inc();
            let fights = repairs.repaired(now);
            let note = self.overwritten(kind, found, fights);
            tracing::warn!("{note}");
            self.access.tell(kind, &found.uid, note).await;
        } else {
            tracing::info!(kind = kind.name, name = %self.access.settings.configuration, "CA bundle applied");
        }
        *applied = Some(after.fingerprint());
        *found = after;
        Ok(())
    }

    fn overwritten(&self, kind: Kind, found: &Hooks, fights: bool) -> String {
        let often = if fights { ", again and again: the next repairs are made later and later" } else { "" };
        let name = &self.access.settings.configuration;
        format!(
            "clientConfig.caBundle of {} {name:?} was overwritten by {} and put right{often}; whoever \
             does it must leave the field alone",
            kind.name,
            found.writer().unwrap_or_else(|| "somebody who removed it".to_owned())
        )
    }

    fn fight(&self, kind: Kind, found: &Hooks) -> String {
        let name = &self.access.settings.configuration;
        format!(
            "clientConfig.caBundle of {} {name:?} is overwritten again and again by {}: it is put right \
             later and later; whoever does it must leave the field alone",
            kind.name,
            found.writer().unwrap_or_else(|| "somebody who removed it".to_owned())
        )
    }
}

impl Term {
    /// How long until a repair that is held back is due; nothing where none is, or it is overdue.
    fn until_due(&self) -> Option<Duration> {
        self.due?.checked_duration_since(Instant::now()).filter(|wait| !wait.is_zero())
    }

    /// Notes how long the next CA has been trusted. A configuration that isn't there has nobody to trust it.
    fn see(&mut self, next: Option<&Authority>, hooks: &[Option<Hooks>; 2]) {
        let trusted =
            next.is_some_and(|next| hooks.iter().flatten().all(|hooks| hooks.trust(&next.certificate)));
        self.trusted_since = trusted.then(|| self.trusted_since.unwrap_or_else(Instant::now));
        // One that comes back is filled in, and nobody is blamed for it.
        for (applied, hooks) in self.applied.iter_mut().zip(hooks) {
            if hooks.is_none() {
                *applied = None;
            }
        }
    }
}
