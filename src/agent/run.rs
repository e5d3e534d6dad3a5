//! The agent at work: looks, decides, does the one step, and looks again.

use std::fs::{File, TryLockError};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::kubernetes::Backoff;
use crate::member::{Config, Why};

use super::api::ApiServer;
use super::begin::FirstStart;
use super::child::Binary;
use super::decide::{Hold, Step, decide};
use super::facts::{Data, Facts, Noted};
use super::local::Local;
use super::observe::{Observer, Seen};
use super::record::Life;
use super::reporter::Reporter;
use super::settings::Begin;
use super::source::explained;
use super::tls::Mounted;
use super::volume::Volume;

/// Longest time between two looks of a member that waits: the API server and the cluster are asked each time.
const BETWEEN_LOOKS: Duration = Duration::from_secs(2);
/// The same before the word to form: those who have heard it elect a leader in little more than this, and who comes to
/// a cluster that is recorded by then is replaced by a new member.
const BEFORE_THE_WORD: Duration = Duration::from_secs(1);
/// Shortest time between two looks.
const SOONEST: Duration = Duration::from_millis(250);

/// What an agent is made of.
pub struct Parts {
    /// The API server.
    pub api: ApiServer,
    /// Name of this pod.
    pub pod: String,
    /// Where the cluster answers clients: its own Service, then the source's endpoints.
    pub endpoints: Vec<String>,
    /// The volume.
    pub volume: Volume,
    /// The Secrets.
    pub mounted: Mounted,
    /// The binary, or why there is none.
    pub binary: Result<Binary, String>,
    /// The own etcd, as the probes ask it.
    pub local: Arc<Local>,
    /// Address that etcd listens on, as it stands in a URL.
    pub listen: String,
    /// How long a join may stand still before it is begun anew.
    pub patience: Duration,
    /// Where the probes' port is said, once it is known.
    pub tell_port: Option<oneshot::Sender<u16>>,
}

/// An agent.
pub struct Agent {
    pub(super) parts: Parts,
    pub(super) observer: Observer,
    pub(super) reporter: Option<Reporter>,
    pub(super) backoff: Backoff,
    pub(super) first_start: Option<FirstStart>,
    /// Ends of etcd in a row, soon after its start.
    pub(super) ends: u32,
    said: Option<(&'static str, Step)>,
    waiting: Option<(Hold, Instant)>,
    /// Keeps other agents out of the volume.
    lock: Option<File>,
}

/// What was seen before a decision, with where to act.
pub(super) struct Look {
    pub(super) facts: Facts,
    pub(super) seen: Option<Seen>,
}

/// What is done after a step.
pub(super) enum Next {
    /// Look again at once.
    Now,
    /// Say this, and look again in a while.
    Hold(Hold),
    /// Say this, and look again after this time.
    Pause(Hold, Duration),
    /// End: the agent was told to.
    End,
}

impl From<Hold> for Next {
    fn from(hold: Hold) -> Self {
        Self::Hold(hold)
    }
}

impl Agent {
    /// An agent that has not looked yet.
    pub fn new(parts: Parts) -> Self {
        let observer = Observer::new(parts.endpoints.clone(), parts.mounted.clone());
        let backoff = Backoff::new(Duration::from_secs(1), Duration::from_mins(1));
        Self {
            parts,
            observer,
            reporter: None,
            backoff,
            first_start: None,
            ends: 0,
            said: None,
            waiting: None,
            lock: None,
        }
    }

    /// Works until told to stop; etcd is stopped by then.
    pub async fn run(mut self, ending: CancellationToken) -> io::Result<()> {
        while !ending.is_cancelled() {
            let next = self.turn(&ending).await?;
            let (hold, wait) = match next {
                Next::Now => (None, Duration::ZERO),
                Next::End => break,
                Next::Hold(hold) => {
                    let waited = self.wait_said(&hold);
                    let longest = if hold.why == Why::NoWord { BEFORE_THE_WORD } else { BETWEEN_LOOKS };
                    (Some(hold), pace(waited, longest))
                }
                Next::Pause(hold, wait) => {
                    self.wait_said(&hold);
                    (Some(hold), wait)
                }
            };
            if let Some(hold) = hold {
                self.say(Some(&hold)).await;
            }
            tokio::select! {
                () = sleep(wait) => {}
                () = ending.cancelled() => {}
            }
        }
        Ok(())
    }

    /// Logs what it waits for, where that is new; returns for how long it has waited for a reason of this kind.
    fn wait_said(&mut self, hold: &Hold) -> Duration {
        let before = self.waiting.take();
        if before.as_ref().is_none_or(|(before, _)| before != hold) {
            tracing::info!(why = ?hold.why, "{}", hold.message);
        }
        let since =
            before.filter(|(before, _)| before.why == hold.why).map_or_else(Instant::now, |(_, since)| since);
        self.waiting = Some((hold.clone(), since));
        since.elapsed()
    }

    /// One look, one decision, one step. An error is one of the volume: nothing can be done without it.
    async fn turn(&mut self, ending: &CancellationToken) -> io::Result<Next> {
        let look = match self.look().await {
            Ok(look) => look,
            Err(hold) => return Ok(hold.into()),
        };
        if let Some(next) = self.start_once_more(&look, ending).await? {
            return Ok(next);
        }
        let (row, step) = decide(&look.facts);
        let decided = (row, step);
        // What it waits for is said by itself.
        if self.said.as_ref() != Some(&decided) && !matches!(decided.1, Step::Hold(_)) {
            tracing::info!(row, step = ?decided.1, "decided");
        }
        let (_, step) = self.said.insert(decided).clone();
        self.act(step, look, ending).await
    }

    /// Whether somebody else is at work on the volume: a pod that is deleted by force is replaced before it has ended.
    /// Storage that knows no locks is used without.
    fn taken(&mut self) -> Option<Hold> {
        if self.lock.is_some() {
            return None;
        }
        match self.parts.volume.lock() {
            Err(TryLockError::WouldBlock) => {
                let message = "another process is at work on the volume, mostly that of a pod which was deleted by force: \
                               waits for its end";
                return Some(Hold::new(Why::Configuration, message));
            }
            Err(TryLockError::Error(error)) => tracing::debug!(%error, "the volume can't be locked"),
            Ok(lock) => self.lock = Some(lock),
        }
        None
    }

    async fn look(&mut self) -> Result<Look, Hold> {
        let taken = self.taken();
        let noted = self.parts.volume.record().read();
        self.observer.has_past(noted != Noted::None);
        let (config, seen) = tokio::join!(self.parts.api.config(), self.observer.look());
        let (config, starts) = match (config, &noted) {
            (Ok((config, starts)), _) => (config, Ok(starts)),
            (Err(fault), Noted::Record(record)) => (record.config.clone(), Err(fault.to_string())),
            (Err(fault), _) => return Err(Hold::new(Why::ApiServer, fault.to_string())),
        };
        let Some(ordinal) = ordinal(&config, &self.parts.pod) else {
            let message = format!("pod {} is none of {}'s", self.parts.pod, config.owner.name);
            return Err(Hold::new(Why::Configuration, message));
        };
        let told = match starts {
            Ok(starts) => {
                self.parts.api.told(&config, &starts, ordinal).await.map_err(|fault| fault.to_string())
            }
            Err(fault) => Err(fault),
        };
        let denied = self.parts.volume.denied().map(|denied| denied.to_string());
        let data = denied.clone().map_or_else(|| self.parts.volume.look(), Data::Unreadable);
        let cluster =
            seen.as_ref().map(|seen| seen.live.clone()).map_err(|unseen| explained(&config, unseen.clone()));
        let facts = Facts { config, ordinal, data, record: noted, cluster, told };
        self.prepare_report(&facts);
        if let Some(denied) = denied {
            return Err(Hold::new(Why::Configuration, denied));
        }
        if let Some(taken) = taken {
            return Err(taken);
        }
        Ok(Look { facts, seen: seen.ok() })
    }

    fn prepare_report(&mut self, facts: &Facts) {
        if let Some(tell) = self.parts.tell_port.take() {
            // Without probes the process ends anyway.
            let _ = tell.send(facts.config.endpoints.readiness_port);
        }
        let (uid, name) = (facts.config.owner.uid.clone(), facts.name());
        let api = self.parts.api.clone();
        let reporter = self.reporter.get_or_insert_with(|| Reporter::new(api, uid, name));
        reporter.volume(&facts.data, &facts.record, self.first_start.is_some());
        reporter.role(None);
        reporter.members(facts.live().map_or(&[], |live| &live.members));
        let report = reporter.report();
        report.holds_v2 = None;
        report.etcd_version = self.parts.binary.as_ref().ok().map(|binary| binary.release.to_string());
        if let Some(took) = facts.heard().and_then(|told| told.took.clone()) {
            report.took = Some(took);
        }
    }

    /// Reports what it waits for, or that it waits for nothing. A report that can't be written is written later.
    pub(super) async fn say(&mut self, hold: Option<&Hold>) {
        let Some(reporter) = &mut self.reporter else { return };
        reporter.waits(hold);
        if let Err(fault) = reporter.write().await {
            tracing::warn!(%fault, "the report can't be written");
        }
    }

    /// Reports what happened, whatever was reported a moment ago.
    pub(super) async fn say_at_once(&mut self, hold: &Hold) {
        let Some(reporter) = &mut self.reporter else { return };
        reporter.role(None);
        reporter.waits(Some(hold));
        if let Err(fault) = reporter.write_at_once().await {
            tracing::warn!(%fault, "the report can't be written");
        }
    }

    async fn act(&mut self, step: Step, look: Look, ending: &CancellationToken) -> io::Result<Next> {
        let Look { facts, seen } = look;
        match step {
            Step::Hold(hold) => Ok(hold.into()),
            Step::SetAside => self.parts.volume.set_aside().map(|()| Next::Now),
            Step::Forget => self.forget(&facts),
            Step::Start => self.start(&facts, seen, ending).await,
            Step::Form(word) => self.form(&facts, word, ending).await,
            Step::StartExisting(id) => self.join(&facts, id, 0, ending).await,
            // Each of them is decided with a live list only.
            Step::RemoveOwn(id) => self.remove_own(&facts, seen, id).await,
            Step::RemoveStray(id) => Ok(super::join::remove(seen, id).await),
            Step::Leave(id) => self.leave_from_without(&facts, seen, id).await,
            Step::Add => self.add(&facts, seen).await,
        }
    }

    fn forget(&self, facts: &Facts) -> io::Result<Next> {
        if facts.data != Data::None {
            self.parts.volume.set_aside()?;
        }
        self.parts.volume.record().forget()?;
        Ok(Next::Now)
    }

    async fn start(
        &mut self,
        facts: &Facts,
        seen: Option<Seen>,
        ending: &CancellationToken,
    ) -> io::Result<Next> {
        let Data::Log { member, cluster } = facts.data else { return Ok(Next::Now) };
        if self.is_useless_copy(facts, member) {
            return self.remove_own(facts, seen, member).await;
        }
        let record = facts.next_record(Life::Running { id: member, cluster });
        self.etcd(facts, record, &Begin::Again, ending).await
    }

    /// Leaves while the own etcd doesn't run.
    async fn leave_from_without(
        &mut self,
        facts: &Facts,
        seen: Option<Seen>,
        id: crate::member::MemberId,
    ) -> io::Result<Next> {
        let Some(seen) = seen else {
            let unseen = facts.cluster.as_ref().err().map(|unseen| (unseen.why, unseen.message.clone()));
            let (why, message) = unseen.unwrap_or((Why::Unreachable, String::new()));
            return Ok(Hold::new(why, format!("is to leave; {message}")).into());
        };
        let cluster = seen.live.cluster;
        if let Err(hold) = super::leave::out(&seen, id).await {
            return Ok(hold.into());
        }
        let record = facts.next_record(Life::Left { id, cluster });
        self.parts.volume.record().write(&record)?;
        Ok(Next::Now)
    }

    pub(super) fn no_binary(&self) -> Next {
        let fault = self.parts.binary.as_ref().err().cloned().unwrap_or_default();
        Hold::new(Why::Configuration, fault).into()
    }
}

/// How long to wait before the next look at what was waited for so long: what is over soon is seen soon.
pub(super) fn pace(waited: Duration, longest: Duration) -> Duration {
    (waited / 4).clamp(SOONEST, longest)
}

/// The ordinal of a pod.
fn ordinal(config: &Config, pod: &str) -> Option<u32> {
    pod.strip_prefix(&format!("{}-", config.owner.name))?.parse().ok()
}
