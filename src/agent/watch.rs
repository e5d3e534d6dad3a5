//! While etcd runs: what it is, whether it may be promoted, whether it is to leave, and how it ends.

use std::io;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::member::{MemberId, Role, Why};

use super::child::{Child, Ended};
use super::decide::Hold;
use super::facts::{Data, Facts};
use super::fault::Kind;
use super::gate::{Gate, View};
use super::leave;
use super::observe::Seen;
use super::pb::etcdserverpb::StatusResponse;
use super::record::{Life, Record};
use super::run::{Agent, Next, version_refusal};
use super::settings::{Begin, Settings};

/// Between two looks at an etcd that is not a settled voter.
const BUSY: Duration = Duration::from_secs(1);
/// Between two looks at a settled voter.
const SETTLED: Duration = Duration::from_secs(10);
/// An etcd that ran for so long has started well.
const STARTED_WELL: Duration = Duration::from_mins(1);
/// For handing over leadership before a stop.
const HANDOVER: Duration = Duration::from_secs(8);
/// For etcd's own end, within the 30 s that a pod has by default.
const GRACE: Duration = Duration::from_secs(18);
/// Ends in a row after which its data is named as what is wrong.
const ENDS_MAX: u32 = 2;

/// One life of etcd.
struct Run {
    child: Child,
    gate: Gate,
    record: Record,
}

/// What a look at a running etcd came to.
enum Look {
    /// Look again after this.
    Again(Duration),
    /// It has left the cluster, and is stopped.
    Left,
}

impl Agent {
    /// Runs etcd until it ends, or has to.
    pub(super) async fn etcd(
        &mut self,
        facts: &Facts,
        mut record: Record,
        begin: &Begin,
        stop: &CancellationToken,
    ) -> io::Result<Next> {
        let Ok(binary) = self.parts.binary.clone() else { return Ok(self.no_binary()) };
        let beside = facts.live().filter(|_| matches!(begin, Begin::Existing { .. }));
        if let Some(hold) = version_refusal(&record, beside, binary.release) {
            return Ok(hold.into());
        }
        record.starts += 1;
        record.release = Some(binary.release.to_string());
        let file = match self.write_settings(facts, begin) {
            Ok(file) => file,
            Err(hold) => return Ok(hold.into()),
        };
        self.parts.volume.record().write(&record)?;
        tracing::info!(release = %binary.release, starts = record.starts, ?begin, "starts etcd");
        let child = match Child::start(&binary, &file) {
            Ok(child) => child,
            Err(error) => {
                return Ok(Hold::new(Why::Configuration, format!("can't start etcd: {error}")).into());
            }
        };
        self.parts.local.runs(Some((&facts.config, facts.ordinal)));
        let run = Run { child, gate: Gate::default(), record };
        let next = self.attend(facts, run, stop).await;
        self.parts.local.runs(None);
        next
    }

    fn write_settings(&self, facts: &Facts, begin: &Begin) -> Result<std::path::PathBuf, Hold> {
        let unusable = |fault: String| Hold::new(Why::Configuration, fault);
        let release = self.parts.binary.as_ref().map_err(|fault| unusable(fault.clone()))?.release;
        let mounted = &self.parts.mounted;
        let paths =
            (mounted.paths(&crate::member::TlsFiles::CLIENT), mounted.paths(&crate::member::TlsFiles::PEER));
        let settings = Settings {
            config: &facts.config,
            ordinal: facts.ordinal,
            release,
            data: &self.parts.volume.data(),
            listen: &self.parts.listen,
            tls: (&paths.0, &paths.1),
            begin,
        };
        let content = settings.file().map_err(|error| unusable(error.to_string()))?;
        let path = self.parts.volume.root().join("etcd.conf.yaml");
        let written = std::fs::write(&path, format!("{content:#}\n"));
        written.map_err(|error| unusable(format!("can't write {}: {error}", path.display())))?;
        Ok(path)
    }

    async fn attend(&mut self, facts: &Facts, mut run: Run, stop: &CancellationToken) -> io::Result<Next> {
        let began = Instant::now();
        let mut wait = Duration::ZERO;
        loop {
            tokio::select! {
                ended = run.child.ended() => return Ok(self.ended(facts, began, ended)),
                () = stop.cancelled() => return self.stop(facts, run).await.map(|()| Next::End),
                () = sleep(wait) => {}
            }
            // A look must not keep from seeing the end, or the word to end.
            let look = tokio::select! {
                look = self.attend_once(facts, &run.child, &mut run.gate, &mut run.record) => look?,
                () = stop.cancelled() => continue,
            };
            wait = match look {
                Look::Again(wait) => wait,
                Look::Left => {
                    run.child.stop(GRACE).await?;
                    return Ok(Next::Now);
                }
            };
        }
    }

    fn ended(&mut self, facts: &Facts, began: Instant, Ended { why, message }: Ended) -> Next {
        if began.elapsed() >= STARTED_WELL {
            self.backoff.succeeded();
        }
        let wait = self.backoff.failed();
        let again = self.backoff.failures() >= ENDS_MAX && matches!(facts.data, Data::Log { .. });
        let data = if again {
            format!(
                "; if this does not end, and the rest of the cluster is well, delete the claim of pod {} and the pod",
                facts.pod()
            )
        } else {
            String::new()
        };
        let message = format!("{message}; it is started again in {} s{data}", wait.as_secs());
        Next::Pause(Hold::new(why, message), wait)
    }

    /// One look at a running etcd.
    async fn attend_once(
        &mut self,
        facts: &Facts,
        child: &Child,
        gate: &mut Gate,
        record: &mut Record,
    ) -> io::Result<Look> {
        let status = self.parts.local.status().await;
        // After the answer: who answers has a log.
        self.note_ids(record)?;
        let status = match status {
            Some(Ok(status)) => status,
            Some(Err(fault)) => return Ok(self.not_yet(child, &fault.to_string()).await),
            None => return Ok(Look::Again(BUSY)),
        };
        if self.leaves(facts, record, &status).await? {
            return Ok(Look::Left);
        }
        Ok(if status.is_learner {
            self.attend_learner(child, gate, &status).await
        } else {
            self.attend_voter(&status).await
        })
    }

    /// The ids of a cluster that forms are known as soon as there is a log.
    fn note_ids(&mut self, record: &mut Record) -> io::Result<()> {
        let data = self.parts.volume.look();
        if let (Life::Forming { .. }, Data::Log { member, cluster }) = (&record.life, &data) {
            record.life = Life::Running { id: *member, cluster: *cluster };
            self.parts.volume.record().write(record)?;
        }
        if let Some(reporter) = &mut self.reporter {
            reporter.volume(&data, &super::facts::Noted::Record(Box::new(record.clone())));
        }
        Ok(())
    }

    async fn not_yet(&mut self, child: &Child, fault: &str) -> Look {
        let (why, message) = child.complaint().unwrap_or_else(|| {
            (Why::CatchingUp, format!("etcd has been started, and does not answer yet: {fault}"))
        });
        if let Some(reporter) = &mut self.reporter {
            reporter.role(None);
        }
        self.say(Some(&Hold::new(why, message))).await;
        Look::Again(BUSY)
    }

    async fn attend_voter(&mut self, status: &StatusResponse) -> Look {
        let own = status.header.as_ref().map_or(0, |header| header.member_id);
        let role = if status.leader == own { Role::Leader } else { Role::Voter };
        let list = match self.parts.local.endpoint() {
            Some(Ok(endpoint)) => endpoint.list(status.version.parse().ok()).await,
            Some(Err(fault)) => Err(fault),
            None => return Look::Again(BUSY),
        };
        let Some(reporter) = &mut self.reporter else { return Look::Again(BUSY) };
        reporter.role(Some(role));
        let hold = match list {
            Ok(list) => {
                reporter.listed(&list.members);
                None
            }
            Err(fault) => Some(Hold::new(Why::Unhealthy, format!("there is no quorum: {fault}"))),
        };
        self.say(hold.as_ref()).await;
        Look::Again(if hold.is_some() { BUSY } else { SETTLED })
    }

    async fn attend_learner(&mut self, child: &Child, gate: &mut Gate, status: &StatusResponse) -> Look {
        let look = self.observer.look().await;
        let leader = look.as_ref().ok().and_then(Seen::leader_status);
        if let Some(reporter) = &mut self.reporter {
            reporter.role(Some(Role::Learner));
            reporter.progress(status, leader);
        }
        let hold = match &look {
            Ok(seen) => self.promote(child, gate, status, seen).await,
            Err(unseen) => Some(Hold::new(unseen.why, unseen.message.clone())),
        };
        self.say(hold.as_ref()).await;
        Look::Again(BUSY)
    }

    /// Promotes, where the gate is open. What it came to is seen at the next look, by etcd's own word.
    async fn promote(
        &mut self,
        child: &Child,
        gate: &mut Gate,
        status: &StatusResponse,
        seen: &Seen,
    ) -> Option<Hold> {
        let own = MemberId(status.header.as_ref()?.member_id);
        let voters = seen.live.members.iter().filter(|member| !member.learner && member.well_for.is_some());
        let view = View {
            own,
            live: &seen.live,
            learner: status,
            leader: seen.leader_status(),
            unreached: child.unreached(voters),
            rejected: child.rejected(),
        };
        if let Some(hold) = gate.refusal(&view, Instant::now()) {
            return Some(hold);
        }
        match seen.endpoint.promote(own).await {
            Ok(()) => {
                tracing::info!(member = %own, "promoted");
                None
            }
            Err(fault) if fault.kind == Kind::Promoted => None,
            Err(fault) => Some(Hold::new(fault.why(), fault.to_string())),
        }
    }

    /// Follows the word to leave; true once it is out.
    async fn leaves(
        &mut self,
        facts: &Facts,
        record: &mut Record,
        status: &StatusResponse,
    ) -> io::Result<bool> {
        let Some(own) = status.header.as_ref().map(|header| MemberId(header.member_id)) else {
            return Ok(false);
        };
        // Without the API server there is no word.
        let told = self.parts.api.own_pod().await.ok().and_then(|pod| pod.leave().cloned());
        if told.is_none_or(|leave| leave.member != own) {
            return Ok(false);
        }
        let seen = match self.observer.look().await {
            Ok(seen) => seen,
            Err(unseen) => {
                self.say(Some(&Hold::new(unseen.why, format!("is to leave; {}", unseen.message)))).await;
                return Ok(false);
            }
        };
        if status.leader == own.0 {
            self.hand_over(own).await;
        }
        match leave::out(&seen, own).await {
            Ok(()) => {
                record.life = Life::Left { id: own, cluster: seen.live.cluster };
                self.parts.volume.record().write(record)?;
                tracing::info!(member = %own, etcd = %facts.config.owner.name, "left the cluster");
                Ok(true)
            }
            Err(hold) => {
                self.say(Some(&hold)).await;
                Ok(false)
            }
        }
    }

    /// Gives leadership to a voter that is well, where there is one. A restart is quicker than an election.
    async fn hand_over(&mut self, own: MemberId) {
        let moved = timeout(HANDOVER, async {
            let seen = self.observer.look().await.ok()?;
            let heir = leave::heir(&seen.live, own)?;
            let local = self.parts.local.endpoint()?.ok()?;
            local
                .move_leader(heir)
                .await
                .map(|()| heir)
                .map_err(|fault| tracing::warn!(%fault, "keeps leading"))
                .ok()
        });
        if let Ok(Some(heir)) = moved.await {
            tracing::info!(to = %heir, "handed leadership over");
        }
    }

    async fn stop(&mut self, facts: &Facts, mut run: Run) -> io::Result<()> {
        let status = self.parts.local.status().await;
        if let Some(Ok(status)) = status {
            let own = status.header.as_ref().map_or(0, |header| header.member_id);
            if own != 0 && status.leader == own {
                self.hand_over(MemberId(own)).await;
            }
        }
        tracing::info!(member = %facts.name(), "stops etcd");
        run.child.stop(GRACE).await
    }
}
