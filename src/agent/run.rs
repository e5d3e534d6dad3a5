//! The agent at work: looks, decides, does the one step, and looks again.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::kubernetes::Backoff;
use crate::member::{Config, Form, MemberId, Why};

use super::api::ApiServer;
use super::child::Binary;
use super::decide::{Hold, Step, decide};
use super::facts::{Data, Facts, Live, Noted};
use super::fault::Kind;
use super::local::Local;
use super::observe::{Observer, Seen};
use super::preflight::{self, Room};
use super::record::{Life, Record};
use super::reporter::Reporter;
use super::settings::{Begin, initial_cluster};
use super::tls::Mounted;
use super::volume::Volume;

/// Between two looks of a member that waits.
const BETWEEN_LOOKS: Duration = Duration::from_secs(2);
/// Starts of a joiner that left no log, before its entry is given up.
const FIRST_STARTS_MAX: u32 = 5;

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
    /// Where the probes' port is said, once it is known.
    pub tell_port: Option<oneshot::Sender<u16>>,
}

/// An agent.
pub struct Agent {
    pub(super) parts: Parts,
    pub(super) observer: Observer,
    pub(super) reporter: Option<Reporter>,
    pub(super) backoff: Backoff,
    first_start: Option<FirstStart>,
    said: Option<(&'static str, Step)>,
    waiting: Option<Hold>,
}

/// A start that may be done once more as it was, while etcd has left no log: it has promised nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FirstStart {
    kind: First,
    tries: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum First {
    Form(Form),
    Join(MemberId),
}

/// What was seen before a decision, with where to act.
struct Look {
    facts: Facts,
    seen: Option<Seen>,
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
        Self { parts, observer, reporter: None, backoff, first_start: None, said: None, waiting: None }
    }

    /// Works until told to stop; etcd is stopped by then.
    pub async fn run(mut self, ending: CancellationToken) -> io::Result<()> {
        while !ending.is_cancelled() {
            let next = self.turn(&ending).await?;
            let (hold, wait) = match next {
                Next::Now => (None, Duration::ZERO),
                Next::End => break,
                Next::Hold(hold) => (Some(hold), BETWEEN_LOOKS),
                Next::Pause(hold, wait) => (Some(hold), wait),
            };
            if let Some(hold) = hold {
                self.wait_said(&hold);
                self.say(Some(&hold)).await;
            }
            tokio::select! {
                () = sleep(wait) => {}
                () = ending.cancelled() => {}
            }
        }
        Ok(())
    }

    fn wait_said(&mut self, hold: &Hold) {
        if self.waiting.as_ref() != Some(hold) {
            tracing::info!(why = ?hold.why, "{}", hold.message);
            self.waiting = Some(hold.clone());
        }
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

    async fn look(&mut self) -> Result<Look, Hold> {
        let noted = self.parts.volume.record().read();
        let (config, seen) = tokio::join!(self.parts.api.config(), self.observer.look());
        let (config, fault) = match (config, &noted) {
            (Ok(config), _) => (config, None),
            (Err(fault), Noted::Record(record)) => (record.config.clone(), Some(fault.to_string())),
            (Err(fault), _) => return Err(Hold::new(Why::ApiServer, fault.to_string())),
        };
        let Some(ordinal) = ordinal(&config, &self.parts.pod) else {
            let message = format!("pod {} is none of {}'s", self.parts.pod, config.owner.name);
            return Err(Hold::new(Why::Configuration, message));
        };
        let told = match fault {
            None => self.parts.api.told(&config, ordinal).await.map_err(|fault| fault.to_string()),
            Some(fault) => Err(fault),
        };
        let data = self.parts.volume.look();
        let cluster = seen.as_ref().map(|seen| seen.live.clone()).map_err(Clone::clone);
        let facts = Facts { config, ordinal, data, record: noted, cluster, told };
        self.prepare_report(&facts);
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
        reporter.volume(&facts.data, &facts.record);
        reporter.role(None);
        reporter.members(facts.live().map_or(&[], |live| &live.members));
        let report = reporter.report();
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

    async fn act(&mut self, step: Step, look: Look, ending: &CancellationToken) -> io::Result<Next> {
        let Look { facts, seen } = look;
        match step {
            Step::Hold(hold) => Ok(hold.into()),
            Step::SetAside => self.parts.volume.set_aside().map(|()| Next::Now),
            Step::Forget => self.forget(&facts),
            Step::Start => self.start(&facts, ending).await,
            Step::Form(word) => self.form(&facts, word, ending).await,
            Step::StartExisting(id) => self.join(&facts, id, 0, ending).await,
            // Each of them is decided with a live list only.
            Step::RemoveOwn(id) => self.remove_own(&facts, seen, id).await,
            Step::RemoveStray(id) => Ok(remove(seen, id).await),
            Step::Leave(id) => self.leave_from_without(&facts, seen, id).await,
            Step::Add => self.add(&facts, seen).await,
        }
    }

    fn forget(&self, facts: &Facts) -> io::Result<Next> {
        if facts.data == Data::Half {
            self.parts.volume.set_aside()?;
        }
        self.parts.volume.record().forget()?;
        Ok(Next::Now)
    }

    async fn start(&mut self, facts: &Facts, ending: &CancellationToken) -> io::Result<Next> {
        let Data::Log { member, cluster } = facts.data else { return Ok(Next::Now) };
        let record = facts.next_record(Life::Running { id: member, cluster });
        self.etcd(facts, record, &Begin::Again, ending).await
    }

    /// Takes the word, and starts by it. Without the API server's yes it is not taken.
    async fn form(&mut self, facts: &Facts, word: Form, ending: &CancellationToken) -> io::Result<Next> {
        if let Err(hold) = self.take(&word).await {
            return Ok(hold.into());
        }
        self.begin(facts, FirstStart { kind: First::Form(word), tries: 0 }, ending).await
    }

    async fn take(&mut self, word: &Form) -> Result<(), Hold> {
        let failed = |fault: super::api::ApiFault| Hold::new(Why::ApiServer, fault.to_string());
        let pod = self.parts.api.own_pod().await.map_err(failed)?;
        let used = pod.last_report().and_then(|report| report.took.as_ref()) == Some(&word.token);
        if pod.form() != Some(word) || used {
            return Err(Hold::new(Why::NoWord, "the loop's word changed before it was taken"));
        }
        let Some(reporter) = &mut self.reporter else {
            return Err(Hold::new(Why::ApiServer, "nothing was reported yet"));
        };
        reporter.take(&pod, &word.token).await.map_err(failed)
    }

    async fn join(
        &mut self,
        facts: &Facts,
        id: MemberId,
        tries: u32,
        ending: &CancellationToken,
    ) -> io::Result<Next> {
        self.begin(facts, FirstStart { kind: First::Join(id), tries }, ending).await
    }

    /// A first start: etcd has no log yet.
    async fn begin(
        &mut self,
        facts: &Facts,
        first: FirstStart,
        ending: &CancellationToken,
    ) -> io::Result<Next> {
        let (life, begin) = match (&first.kind, facts.live()) {
            (First::Form(Form { token, initial_cluster }), _) => (
                Life::Forming { token: token.clone() },
                Begin::New { token: token.clone(), initial_cluster: initial_cluster.clone() },
            ),
            (First::Join(id), Some(live)) => {
                let initial_cluster = initial_cluster((*id, &facts.name()), &live.members);
                (Life::Running { id: *id, cluster: live.cluster }, Begin::Existing { initial_cluster })
            }
            (First::Join(_), None) => return Ok(Next::Now),
        };
        let record = facts.next_record(life);
        self.first_start = Some(FirstStart { tries: first.tries + 1, ..first });
        self.etcd(facts, record, &begin, ending).await
    }

    /// etcd ended before it had a log: the same start again, in the same life of this agent, is still the first one.
    async fn start_once_more(&mut self, look: &Look, ending: &CancellationToken) -> io::Result<Option<Next>> {
        let Some(first) = self.first_start.take() else { return Ok(None) };
        let facts = &look.facts;
        let told_to_leave = facts.heard().is_some_and(|told| told.leave.is_some());
        if !matches!(facts.data, Data::Half | Data::None) || told_to_leave {
            return Ok(None);
        }
        let again = match (&first.kind, facts.live()) {
            // Nobody may have gone on without it.
            (First::Form(_), _) => facts.heard().is_some_and(|told| told.formed.is_none()),
            (First::Join(id), Some(live)) => {
                first.tries < FIRST_STARTS_MAX
                    && live.members.iter().any(|member| member.id == *id && member.learner)
            }
            (First::Join(_), None) => {
                self.first_start = Some(first);
                return Ok(facts
                    .cluster
                    .as_ref()
                    .err()
                    .map(|unseen| Hold::new(unseen.why, unseen.message.clone()).into()));
            }
        };
        if again { self.begin(facts, first, ending).await.map(Some) } else { Ok(None) }
    }

    /// Asks to be added, where what etcd would not check in time is in order.
    async fn add(&mut self, facts: &Facts, seen: Option<Seen>) -> io::Result<Next> {
        let (Some(seen), Ok(binary)) = (seen, &self.parts.binary) else { return Ok(self.no_binary()) };
        let database = seen.statuses.values().map(|status| status.db_size).max().unwrap_or_default();
        let room =
            Room { database: u64::try_from(database).unwrap_or_default(), free: self.parts.volume.free()? };
        if let Some(hold) = preflight::refusal(&facts.config, &seen.live, binary.release, room) {
            return Ok(hold.into());
        }
        let urls = facts.config.peer_urls(facts.ordinal);
        match seen.endpoint.add_learner(urls).await {
            Ok((id, list)) => {
                tracing::info!(member = %id, cluster = %list.cluster, "added as a learner");
                let record = facts.next_record(Life::Prepared { id, cluster: list.cluster });
                self.parts.volume.record().write(&record)?;
                Ok(Next::Now)
            }
            // Whether it happened is seen at the next look.
            Err(fault) => Ok(Hold::new(fault.why(), fault.to_string()).into()),
        }
    }

    async fn remove_own(&mut self, facts: &Facts, seen: Option<Seen>, id: MemberId) -> io::Result<Next> {
        let Some(cluster) = seen.as_ref().map(|seen| seen.live.cluster) else { return Ok(Next::Now) };
        let record = facts.next_record(Life::Rejoining { id, cluster });
        self.parts.volume.record().write(&record)?;
        Ok(remove(seen, id).await)
    }

    /// Leaves while the own etcd doesn't run.
    async fn leave_from_without(
        &mut self,
        facts: &Facts,
        seen: Option<Seen>,
        id: MemberId,
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

/// Removes a member by its id. What it came to is seen at the next look.
async fn remove(seen: Option<Seen>, id: MemberId) -> Next {
    let Some(seen) = seen else { return Next::Now };
    match seen.endpoint.remove(id).await {
        Ok(()) => {
            tracing::info!(member = %id, "removed");
            Next::Now
        }
        Err(fault) if fault.kind == Kind::NotFound => Next::Now,
        Err(fault) => Hold::new(fault.why(), fault.to_string()).into(),
    }
}

/// The ordinal of a pod.
fn ordinal(config: &Config, pod: &str) -> Option<u32> {
    pod.strip_prefix(&format!("{}-", config.owner.name))?.parse().ok()
}

/// Why etcd of this release may not run here: what ran on the volume before, and, for a first start, the members that
/// it would run beside. A restart is not measured by them: a member may be the last that is updated.
pub(super) fn version_refusal(
    record: &Record,
    live: Option<&Live>,
    own: super::version::Release,
) -> Option<Hold> {
    let before = record.release.as_ref().and_then(|text| text.parse::<super::version::Release>().ok());
    let jump = before.filter(|before| !own.fits(*before)).map(|before| {
        let message = format!(
            "this image has etcd {own}, and {before} ran on this volume: use an image of {}.{} or {}.{}",
            before.major,
            before.minor,
            before.major,
            before.minor + 1
        );
        Hold::new(Why::Version, message)
    });
    jump.or_else(|| preflight::versions(live?, own))
}
