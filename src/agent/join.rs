//! A member is added to the cluster, and taken out again where its join came to nothing.

use std::io;
use std::time::Duration;

use tokio::time::sleep;

use crate::member::MemberId;

use super::decide::Hold;
use super::entry;
use super::facts::{Facts, Live};
use super::fault::Kind;
use super::observe::Seen;
use super::preflight::{self, Room};
use super::reach;
use super::record::{Life, Record};
use super::run::{Agent, Next};

/// An add takes less, mostly.
const TURN: Duration = Duration::from_millis(300);
/// Ends of a learner's etcd in a row after which its data is copied anew.
const ENDS_MAX: u32 = 3;

impl Agent {
    /// Asks to be added, where what etcd would not check in time is in order.
    pub(super) async fn add(&mut self, facts: &Facts, seen: Option<Seen>) -> io::Result<Next> {
        let (Some(seen), Ok(binary)) = (seen, &self.parts.binary) else { return Ok(self.no_binary()) };
        let database = seen.statuses.values().map(|status| status.db_size).max().unwrap_or_default();
        let room =
            Room { database: u64::try_from(database).unwrap_or_default(), free: self.parts.volume.free()? };
        if let Some(hold) = preflight::refusal(&facts.config, &seen.live, binary.release, room) {
            return Ok(hold.into());
        }
        if let Some(hold) = reach::refusal(&self.parts.mounted, facts, &seen.live, binary.release).await {
            return Ok(hold.into());
        }
        let private = seen.private();
        if !private.is_empty() {
            tracing::info!(voters = private.join(", "), "not seen at their client URLs");
        }
        if let Some(next) = self.gives_way(facts, &seen.live).await {
            return Ok(next);
        }
        match seen.add_learner(&facts.config.peer_urls(facts.ordinal)).await {
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

    pub(super) async fn remove_own(
        &mut self,
        facts: &Facts,
        seen: Option<Seen>,
        id: MemberId,
    ) -> io::Result<Next> {
        let Some(cluster) = seen.as_ref().map(|seen| seen.live.cluster) else { return Ok(Next::Now) };
        let record = facts.next_record(Life::Rejoining { id, cluster });
        self.parts.volume.record().write(&record)?;
        Ok(remove(seen, id).await)
    }

    /// Lets the pods before this one go first, where they are not in the list either: raft drops the second of two
    /// changes at once, and who asked for it waits for nothing until its time is over.
    async fn gives_way(&mut self, facts: &Facts, live: &Live) -> Option<Next> {
        let before = turn(facts, live);
        if before == 0 {
            return None;
        }
        sleep(TURN * before).await;
        match self.observer.look().await {
            Ok(seen) if seen.live.members.len() == live.members.len() => None,
            Ok(_) | Err(_) => Some(Next::Now),
        }
    }

    /// Whether etcd ends again and again on the data of a member that was never promoted: it is a copy, and another one
    /// can be had.
    pub(super) fn is_useless_copy(&mut self, facts: &Facts, id: MemberId) -> bool {
        let useless = self.ends >= ENDS_MAX && facts.live().is_some_and(|live| is_learner(live, id));
        if useless {
            tracing::warn!(member = %id, ends = self.ends, "its join has failed: it joins anew");
            self.ends = 0;
        }
        useless
    }

    /// Takes a learner out whose join has failed. True where it is out, or may be: the next look tells.
    pub(super) async fn give_up(&self, record: &mut Record, id: MemberId, seen: &Seen) -> io::Result<bool> {
        if !is_learner(&seen.live, id) {
            return Ok(false);
        }
        let file = self.parts.volume.record();
        record.life = Life::Rejoining { id, cluster: seen.live.cluster };
        file.write(record)?;
        match seen.remove(id).await {
            Ok(()) => Ok(true),
            Err(fault) if matches!(fault.kind, Kind::NotFound | Kind::Unknown) => Ok(true),
            Err(fault) => {
                tracing::warn!(member = %id, %fault, "can't be taken out");
                record.life = Life::Running { id, cluster: seen.live.cluster };
                file.write(record).map(|()| false)
            }
        }
    }
}

/// How many pods before this one are not in the list.
fn turn(facts: &Facts, live: &Live) -> u32 {
    let listed = |ordinal| live.members.iter().any(|member| entry::is_of(&facts.config, ordinal, member));
    let before = (0..facts.ordinal).filter(|ordinal| !listed(*ordinal)).count();
    u32::try_from(before).unwrap_or(u32::MAX)
}

fn is_learner(live: &Live, id: MemberId) -> bool {
    live.members.iter().any(|member| member.id == id && member.learner)
}

/// Removes a member by its id. What it came to is seen at the next look.
pub(super) async fn remove(seen: Option<Seen>, id: MemberId) -> Next {
    let Some(seen) = seen else { return Next::Now };
    match seen.remove(id).await {
        Ok(()) => {
            tracing::info!(member = %id, "removed");
            Next::Now
        }
        Err(fault) if fault.kind == Kind::NotFound => Next::Now,
        Err(fault) => Hold::new(fault.why(), fault.to_string()).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::{facts, live, others, voter};

    #[test]
    fn pods_go_in_their_order_and_those_that_are_in_are_not_waited_for() {
        let mut facts = facts();
        let alone = live(vec![others(1)]);
        for ordinal in 0..3 {
            facts.ordinal = ordinal;
            assert_eq!(turn(&facts, &alone), ordinal);
        }
        let one = live(vec![others(1), voter(7, "main-0", &["http://main-0.main-peer.shop.svc:2380"])]);
        assert_eq!(turn(&facts, &one), 1);
    }
}
