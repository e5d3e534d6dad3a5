//! The report of a member: put together from what the agent knows, written when it changes and not otherwise.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::member::{self, ClusterId, Listed, MemberId, Progress, Report, Role, Waiting};

use super::api::{ApiFault, ApiServer, OwnPod};
use super::decide::Hold;
use super::facts::{Data, Member, Noted};
use super::pb::etcdserverpb::{self, StatusResponse};
use super::record::Life;

/// Keeps the report.
pub struct Reporter {
    api: ApiServer,
    report: Report,
    written: Option<(Report, Instant)>,
}

/// Between two writes of one wait in other words: endpoints that fail in turn must not make a write each time.
const REWORDED: Duration = Duration::from_secs(30);

/// Between two writes of a learner's progress alone: for whoever watches it, and no more than that.
const MOVED: Duration = Duration::from_secs(5);

impl Reporter {
    /// For a member that has just begun; `etcd` is the Etcd's UID.
    pub fn new(api: ApiServer, etcd: String, name: String) -> Self {
        Self { api, report: Report::new(etcd, now(), name), written: None }
    }

    /// What it will say.
    pub const fn report(&mut self) -> &mut Report {
        &mut self.report
    }

    /// What is in the volume, and who the member in it is. `begins`: etcd is started for the first time, and makes its
    /// data.
    pub fn volume(&mut self, data: &Data, noted: &Noted, begins: bool) {
        self.report.volume = volume(data, noted, begins);
        let life = match noted {
            Noted::Record(record) => Some(&record.life),
            Noted::None | Noted::Unreadable(_) => None,
        };
        self.report.left = matches!(life, Some(Life::Left { .. }));
        let of_life = life.and_then(|life| Some((life.id()?, life.cluster()?)));
        self.ids(match data {
            Data::Log { member, cluster } => Some((*member, *cluster)),
            Data::None | Data::Half | Data::Unreadable(_) => of_life,
        });
    }

    fn ids(&mut self, ids: Option<(MemberId, ClusterId)>) {
        (self.report.id, self.report.cluster) = ids.unzip();
    }

    /// The members, as a fresh list has them.
    pub fn members(&mut self, members: &[Member]) {
        self.list(members.iter().map(|member| Listed {
            id: member.id,
            name: member.name.clone(),
            learner: member.learner,
            unwell: !member.learner && member.well_for.is_none(),
        }));
    }

    /// The members, as etcd lists them, with those voters that aren't well.
    pub fn listed(&mut self, members: &[etcdserverpb::Member], unwell: &BTreeSet<MemberId>) {
        self.list(members.iter().map(|member| Listed {
            id: MemberId(member.id),
            name: member.name.clone(),
            learner: member.is_learner,
            unwell: unwell.contains(&MemberId(member.id)),
        }));
    }

    fn list(&mut self, members: impl Iterator<Item = Listed>) {
        self.report.members = members.collect();
        self.report.members.sort_by_key(|member| member.id);
    }

    /// What it is; nothing while etcd doesn't run.
    pub fn role(&mut self, role: Option<Role>) {
        self.report.role = role;
        self.report.progress = self.report.progress.filter(|_| role == Some(Role::Learner));
    }

    /// How far it has caught up with the leader; nothing where it needn't, or can't be told.
    pub fn progress(&mut self, learner: &StatusResponse, leader: Option<&StatusResponse>) {
        self.report.progress = leader.filter(|_| learner.is_learner).map(|leader| Progress {
            revision: revision(learner),
            leader_revision: revision(leader),
            bytes: learner.db_size.unsigned_abs(),
            leader_bytes: leader.db_size.unsigned_abs(),
        });
    }

    /// What it waits for, or that it waits for nothing. Since when goes by the kind: a number in the words changes
    /// often.
    pub fn waits(&mut self, hold: Option<&Hold>) {
        let before = self.report.waiting.take();
        self.report.waiting = hold.map(|hold| Waiting {
            why: hold.why,
            message: hold.message.clone(),
            since: before.filter(|before| before.why == hold.why).map_or_else(now, |before| before.since),
        });
    }

    /// Writes it, where it says something new.
    pub async fn write(&mut self) -> Result<(), ApiFault> {
        if self.written.as_ref().is_some_and(|(written, at)| !is_news(written, &self.report, at.elapsed())) {
            return Ok(());
        }
        self.write_over(None).await
    }

    /// Writes it, also where it only says in other words what is waited for: they would soon be gone.
    pub async fn write_at_once(&mut self) -> Result<(), ApiFault> {
        self.write_over(None).await
    }

    /// Takes the word with this token: the write fails where the pod was written since it was read. It says too that
    /// nothing is waited for: who waits for a word and has taken one has nothing to show for it.
    pub async fn take(&mut self, pod: &OwnPod, token: &str) -> Result<(), ApiFault> {
        let new = Report { took: Some(token.to_owned()), waiting: None, ..self.report.clone() };
        let before = std::mem::replace(&mut self.report, new);
        let written = self.write_over(Some(pod)).await;
        if written.is_err() {
            self.report = before;
        }
        written
    }

    async fn write_over(&mut self, pod: Option<&OwnPod>) -> Result<(), ApiFault> {
        let annotation = self.report.annotation().map_err(ApiFault::TooLong)?;
        self.api.report(&annotation, pod).await?;
        self.written = Some((self.report.clone(), Instant::now()));
        Ok(())
    }
}

/// Whether a report says what the last one, written some time ago, didn't.
fn is_news(written: &Report, report: &Report, since: Duration) -> bool {
    let mut reworded = report.clone();
    if let (Some(new), Some(old)) = (&mut reworded.waiting, &written.waiting)
        && new.why == old.why
        && since < REWORDED
    {
        new.message.clone_from(&old.message);
    }
    if let (Some(new), Some(old)) = (&mut reworded.progress, written.progress)
        && since < MOVED
    {
        *new = old;
    }
    !written.says_the_same(&reworded)
}

fn revision(status: &StatusResponse) -> u64 {
    status.header.as_ref().map_or(0, |header| header.revision.unsigned_abs())
}

fn volume(data: &Data, noted: &Noted, begins: bool) -> member::Volume {
    let starts = match noted {
        Noted::Record(record) => record.starts,
        Noted::None | Noted::Unreadable(_) => 0,
    };
    match (data, noted) {
        (Data::Log { member, cluster }, _) => {
            member::Volume::Data { member: *member, cluster: *cluster, starts }
        }
        (Data::None, Noted::None) => member::Volume::Empty,
        // What never was isn't lost: no etcd was executed for this life yet, or it makes its data now.
        (Data::None, Noted::Record(record)) if begins || matches!(record.life, Life::Prepared { .. }) => {
            member::Volume::Empty
        }
        (Data::Half, Noted::Record(_)) if begins => member::Volume::Empty,
        (Data::None, Noted::Record(_)) => {
            member::Volume::Unreadable("no data, and a record of an earlier life".to_owned())
        }
        (Data::None, Noted::Unreadable(fault)) | (Data::Unreadable(fault), _) => {
            member::Volume::Unreadable(super::quote::quote(fault))
        }
        (Data::Half, _) => member::Volume::Unreadable("a data directory without a log".to_owned()),
    }
}

/// Now, as reports have it.
pub fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::record;
    use crate::member::Why;

    fn report(why: Why, message: &str) -> Report {
        let waiting = Waiting { why, message: message.to_owned(), since: String::new() };
        let report = Report::new("uid-1".to_owned(), String::new(), "main-0".to_owned());
        Report { waiting: Some(waiting), ..report }
    }

    #[test]
    fn other_words_for_one_wait_are_news_after_a_while_only() {
        let (written, reworded) = (report(Why::Unreachable, "a"), report(Why::Unreachable, "b"));
        assert!(!is_news(&written, &reworded, REWORDED / 2));
        assert!(is_news(&written, &reworded, REWORDED));
        assert!(is_news(&written, &report(Why::Certificate, "a"), Duration::ZERO));
        assert!(!is_news(&written, &written, REWORDED));
    }

    #[test]
    fn progress_is_news_every_few_seconds() {
        let at = |revision| {
            let progress = Progress { revision, leader_revision: 9, bytes: 0, leader_bytes: 0 };
            Report { progress: Some(progress), ..report(Why::CatchingUp, "") }
        };
        assert!(!is_news(&at(1), &at(2), MOVED / 2));
        assert!(is_news(&at(1), &at(2), MOVED));
        assert!(is_news(&report(Why::CatchingUp, ""), &at(1), Duration::ZERO));
    }

    #[test]
    fn a_volume_with_a_past_is_not_empty() {
        let (member, cluster) = (MemberId(7), ClusterId(9));
        let noted = Noted::Record(Box::new(record(Life::Running { id: member, cluster })));
        assert_eq!(volume(&Data::None, &Noted::None, false), member::Volume::Empty);
        assert!(matches!(volume(&Data::None, &noted, false), member::Volume::Unreadable(_)));
        assert!(matches!(volume(&Data::Half, &Noted::None, false), member::Volume::Unreadable(_)));
        let data = member::Volume::Data { member, cluster, starts: 3 };
        assert_eq!(volume(&Data::Log { member, cluster }, &noted, false), data);
    }

    #[test]
    fn a_volume_whose_first_etcd_is_only_being_started_has_lost_nothing() {
        let (id, cluster) = (MemberId(7), ClusterId(9));
        let noted = |life| Noted::Record(Box::new(record(life)));
        assert_eq!(volume(&Data::None, &noted(Life::Prepared { id, cluster }), false), member::Volume::Empty);
        for life in [Life::Running { id, cluster }, Life::Forming { token: "1".to_owned() }] {
            for data in [Data::None, Data::Half] {
                assert_eq!(volume(&data, &noted(life.clone()), true), member::Volume::Empty);
            }
        }
        let broken = Data::Unreadable("half a record".to_owned());
        let running = noted(Life::Running { id, cluster });
        assert!(matches!(volume(&broken, &running, true), member::Volume::Unreadable(_)));
    }
}
