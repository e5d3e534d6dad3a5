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
use super::gate::{Gate, View, not_reached};
use super::leave;
use super::observe::Seen;
use super::pb::etcdserverpb::StatusResponse;
use super::record::{Life, Record};
use super::run::{Agent, Next, pace};
use super::stall::{Stage, Stall};
use super::tls::Authorities;
use super::v2::Watched;

/// Longest time between two looks at an etcd that is not a settled voter.
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
/// A joiner that voters don't reach within this is said to be out of their reach.
const REACHED_WITHIN: Duration = Duration::from_secs(5);

/// One life of etcd.
pub(super) struct Run {
    pub(super) child: Child,
    pub(super) gate: Gate,
    pub(super) record: Record,
    pub(super) authorities: Authorities,
    pub(super) started: Instant,
    /// The id that it joins with, where it does, and since when that stands still.
    pub(super) joins: Option<(MemberId, Stall)>,
    /// What its log holds.
    pub(super) v2: Watched,
}

/// What a look at a running etcd came to.
enum Look {
    /// Look again after this.
    Again(Duration),
    /// It has left the cluster, and is stopped.
    Left,
    /// Its join has failed, and it was taken out again: why.
    Failed(Hold),
}

impl Agent {
    pub(super) async fn attend(
        &mut self,
        facts: &Facts,
        mut run: Run,
        stop: &CancellationToken,
    ) -> io::Result<Next> {
        let mut wait = Duration::ZERO;
        loop {
            tokio::select! {
                ended = run.child.ended() => return Ok(self.ended(facts, &run, ended)),
                () = stop.cancelled() => return self.stop(facts, run).await.map(|()| Next::End),
                () = sleep(wait) => {}
            }
            // A look must not keep from seeing the end, or the word to end.
            let look = tokio::select! {
                look = self.attend_once(facts, &mut run) => look?,
                () = stop.cancelled() => continue,
            };
            wait = match look {
                Look::Again(wait) => wait,
                Look::Left => {
                    run.child.stop(GRACE).await?;
                    return Ok(Next::Now);
                }
                Look::Failed(hold) => {
                    run.child.stop(GRACE).await?;
                    let wait = self.backoff.failed();
                    let message = format!("{}, and joins anew in {} s", hold.message, wait.as_secs());
                    let hold = Hold::new(hold.why, message);
                    self.say_at_once(&hold).await;
                    return Ok(Next::Pause(hold, wait));
                }
            };
        }
    }

    fn ended(&mut self, facts: &Facts, run: &Run, Ended { why, message }: Ended) -> Next {
        if run.started.elapsed() >= STARTED_WELL {
            self.backoff.succeeded();
            self.ends = 0;
        }
        let wait = self.backoff.failed();
        self.ends += 1;
        // A joiner's data is a copy: it is copied anew.
        let again = self.ends >= ENDS_MAX && matches!(facts.data, Data::Log { .. }) && run.joins.is_none();
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
    async fn attend_once(&mut self, facts: &Facts, run: &mut Run) -> io::Result<Look> {
        let status = self.parts.local.status().await;
        // After the answer: who answers has a log.
        self.note_ids(&mut run.record)?;
        if let Some(reporter) = &mut self.reporter {
            reporter.report().ca_changed = run.authorities.have_changed();
        }
        let status = match status {
            Some(Ok(status)) => status,
            Some(Err(fault)) => return self.not_yet(facts, run, &fault.to_string()).await,
            None => return Ok(Look::Again(BUSY)),
        };
        if self.leaves(facts, &mut run.record, &status).await? {
            return Ok(Look::Left);
        }
        if status.is_learner {
            self.attend_learner(run, &status).await
        } else {
            self.note_v2(&mut run.v2).await;
            Ok(self.attend_voter(&status).await)
        }
    }

    /// The ids of a cluster that forms are known as soon as there is a log.
    fn note_ids(&mut self, record: &mut Record) -> io::Result<()> {
        let data = self.parts.volume.look();
        if let (Life::Forming { .. }, Data::Log { member, cluster }) = (&record.life, &data) {
            record.life = Life::Running { id: *member, cluster: *cluster };
            self.parts.volume.record().write(record)?;
        }
        // From the first log on, one that is missing is lost.
        self.first_start = self.first_start.take().filter(|_| !matches!(data, Data::Log { .. }));
        if let Some(reporter) = &mut self.reporter {
            let noted = super::facts::Noted::Record(Box::new(record.clone()));
            reporter.volume(&data, &noted, self.first_start.is_some());
        }
        Ok(())
    }

    /// Of a voter: who votes has received the log.
    async fn note_v2(&mut self, watched: &mut Watched) {
        let (Ok(binary), volume) = (&self.parts.binary, &self.parts.volume) else { return };
        watched.look(binary.release, volume).await;
        if let Some(reporter) = &mut self.reporter {
            reporter.report().holds_v2 = watched.holds();
        }
    }

    async fn not_yet(&mut self, facts: &Facts, run: &mut Run, fault: &str) -> io::Result<Look> {
        let hold = not_yet(facts, run, fault);
        let stage = Stage::Behind { received: self.parts.volume.received(), applied: 0 };
        if let Some(id) = stalls(run, stage)
            && let Ok(seen) = self.observer.look().await
            && self.give_up(&mut run.record, id, &seen).await?
        {
            return Ok(Look::Failed(failed(&hold, id)));
        }
        if let Some(reporter) = &mut self.reporter {
            reporter.role(None);
        }
        self.say(Some(&hold)).await;
        Ok(Look::Again(pace(run.started.elapsed(), BUSY)))
    }

    async fn attend_voter(&mut self, status: &StatusResponse) -> Look {
        let own = status.header.as_ref().map_or(0, |header| header.member_id);
        let role = if status.leader == own { Role::Leader } else { Role::Voter };
        let list = match self.parts.local.endpoint() {
            Some(Ok(endpoint)) => match endpoint.list(status.version.parse().ok()).await {
                Ok(list) => Ok((self.observer.unwell(&endpoint, &list).await, list)),
                Err(fault) => Err(fault),
            },
            Some(Err(fault)) => Err(fault),
            None => return Look::Again(BUSY),
        };
        let Some(reporter) = &mut self.reporter else { return Look::Again(BUSY) };
        reporter.role(Some(role));
        let hold = match list {
            Ok((unwell, list)) => {
                reporter.listed(&list.members, &unwell);
                None
            }
            Err(fault) => Some(Hold::new(Why::Unhealthy, format!("there is no quorum: {fault}"))),
        };
        self.say(hold.as_ref()).await;
        Look::Again(if hold.is_some() { BUSY } else { SETTLED })
    }

    async fn attend_learner(&mut self, run: &mut Run, status: &StatusResponse) -> io::Result<Look> {
        let look = self.observer.look().await;
        if let Some(reporter) = &mut self.reporter {
            reporter.role(Some(Role::Learner));
            reporter.progress(status, look.as_ref().ok().and_then(Seen::reference));
        }
        let (hold, stage) = match &look {
            Ok(seen) => {
                let hold = self.promote(&run.child, &mut run.gate, status, seen).await;
                let stage = stage(hold.as_ref(), self.parts.volume.received(), status.raft_applied_index);
                (hold, stage)
            }
            Err(unseen) => (Some(Hold::new(unseen.why, unseen.message.clone())), Stage::Excused),
        };
        if let (Some(id), Ok(seen), Some(hold)) = (stalls(run, stage), &look, &hold)
            && self.give_up(&mut run.record, id, seen).await?
        {
            return Ok(Look::Failed(failed(hold, id)));
        }
        self.say(hold.as_ref()).await;
        Ok(Look::Again(pace(run.started.elapsed(), BUSY)))
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
            leader: seen.reference(),
            unreached: child.unreached(voters),
            rejected: child.rejected(),
        };
        if let Some(hold) = gate.refusal(&view, Instant::now()) {
            return Some(hold);
        }
        match seen.promote(own).await {
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

/// Why etcd, which was started, doesn't answer: as it says itself, or because nobody gets through to it.
fn not_yet(facts: &Facts, run: &Run, fault: &str) -> Hold {
    if let Some((why, message)) = run.child.complaint() {
        return Hold::new(why, message);
    }
    let late = run.joins.is_some() && run.started.elapsed() > REACHED_WITHIN;
    let voters = facts.live().into_iter().flat_map(|live| &live.members).filter(|member| !member.learner);
    let unreached = if late { run.child.unreached(voters) } else { Vec::new() };
    let said = format!("etcd has been started, and does not answer yet: {fault}");
    match not_reached(&unreached, run.child.rejected().as_deref()) {
        Some(hold) => Hold::new(hold.why, format!("{said}; {}", hold.message)),
        None => Hold::new(Why::CatchingUp, said),
    }
}

/// The id of a member whose join has failed, with this look.
fn stalls(run: &mut Run, stage: Stage) -> Option<MemberId> {
    let (id, stall) = run.joins.as_mut()?;
    stall.has_failed(stage, Instant::now()).then_some(*id)
}

/// How far a learner's join is, by what it waits for while the cluster is seen.
const fn stage(hold: Option<&Hold>, received: u64, applied: u64) -> Stage {
    match hold {
        Some(Hold { why: Why::CatchingUp, .. }) => Stage::Behind { received, applied },
        Some(Hold { why: Why::Unreachable | Why::Certificate, .. }) => Stage::Unreached,
        Some(_) | None => Stage::Excused,
    }
}

fn failed(hold: &Hold, id: MemberId) -> Hold {
    let message = format!("{}: nothing moved any more; it took itself out as member {id}", hold.message);
    Hold::new(hold.why, message)
}
