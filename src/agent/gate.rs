//! Whether a learner may become a voter. etcd's own check is weak: it promotes a learner that has stopped for good, and
//! a cluster of one voter is then down.

use std::time::{Duration, Instant};

use crate::member::{MemberId, Why, quorum};

use super::decide::Hold;
use super::facts::{Live, Member};
use super::pb::etcdserverpb::StatusResponse;

/// Entries that the learner may be behind.
const BEHIND_MAX: u64 = 100;
/// How long everything must have held: two looks, a second apart.
const HELD: Duration = Duration::from_secs(1);

/// What the gate looks at.
#[derive(Debug)]
pub struct View<'a> {
    /// The learner.
    pub own: MemberId,
    /// The cluster.
    pub live: &'a Live,
    /// What the learner says of itself.
    pub learner: &'a StatusResponse,
    /// What the leader says of itself, or, where its client URLs are private, the voter that is furthest on; absent
    /// where none was seen.
    pub leader: Option<&'a StatusResponse>,
    /// Voters that are well and hold no connection to the learner.
    pub unreached: Vec<String>,
    /// What the learner's log says of refused connections: why, where a voter holds none.
    pub rejected: Option<String>,
}

/// Remembers since when everything holds.
#[derive(Debug, Default)]
pub struct Gate {
    since: Option<(Instant, u64)>,
}

impl Gate {
    /// Why the learner isn't promoted yet; nothing where it may be.
    pub fn refusal(&mut self, view: &View<'_>, now: Instant) -> Option<Hold> {
        if let Some(hold) = refusal(view) {
            self.since = None;
            return Some(hold);
        }
        let applied = view.learner.raft_applied_index;
        let (since, _) = *self.since.get_or_insert((now, applied));
        let settled = now.duration_since(since) >= HELD;
        (!settled).then(|| {
            Hold::new(Why::CatchingUp, "has caught up, and is looked at once more before its promotion")
        })
    }
}

fn refusal(view: &View<'_>) -> Option<Hold> {
    let checks: [fn(&View<'_>) -> Option<Hold>; 5] = [listed, same_leader, caught_up, enough_voters, reached];
    checks.iter().find_map(|check| check(view))
}

fn listed(view: &View<'_>) -> Option<Hold> {
    let own = view.live.members.iter().find(|member| member.id == view.own);
    let started = own.is_some_and(|member| member.learner && !member.name.is_empty());
    (!started)
        .then(|| Hold::new(Why::CatchingUp, "the cluster's list doesn't show it as a started learner yet"))
}

fn same_leader(view: &View<'_>) -> Option<Hold> {
    let Some(leader) = view.leader else {
        return Some(Hold::new(
            Why::Unhealthy,
            "no voter answers at its client URLs, and only there it says how far the cluster is",
        ));
    };
    let same = view.learner.leader != 0
        && (view.learner.leader, view.learner.raft_term) == (leader.leader, leader.raft_term);
    let said = view.learner.errors.join(", ");
    if !same {
        return Some(Hold::new(Why::CatchingUp, "it does not know the cluster's leader yet"));
    }
    (!said.is_empty()).then(|| Hold::new(Why::Unhealthy, format!("it says {said}")))
}

fn caught_up(view: &View<'_>) -> Option<Hold> {
    let leads = view.leader.map_or(u64::MAX, |leader| leader.raft_applied_index);
    let behind = leads.saturating_sub(view.learner.raft_applied_index);
    let message =
        || format!("it is {behind} entries behind the leader, and at most {BEHIND_MAX} are let through");
    (behind > BEHIND_MAX).then(|| Hold::new(Why::CatchingUp, message()))
}

/// The promotion must not cost availability: the voters that are well must be a quorum with one more. One voter can't
/// be: there the joiner counts.
fn enough_voters(view: &View<'_>) -> Option<Hold> {
    let voters: Vec<&Member> = view.live.members.iter().filter(|member| !member.learner).collect();
    let well = voters.iter().filter(|voter| voter.well_for.is_some()).count();
    let joiner = usize::from(voters.len() == 1);
    let needed = quorum(voters.len() + 1);
    let message = || {
        let rest: Vec<String> =
            voters.iter().filter(|voter| voter.well_for.is_none()).map(|voter| voter.trouble()).collect();
        format!(
            "{well} of {} voters are well, and its promotion needs {needed}: waits for {}",
            voters.len(),
            rest.join("; ")
        )
    };
    (well + joiner < needed).then(|| Hold::new(Why::Unhealthy, message()))
}

fn reached(view: &View<'_>) -> Option<Hold> {
    not_reached(&view.unreached, view.rejected.as_deref())
}

/// What is wrong where voters hold no connection to the learner.
pub fn not_reached(unreached: &[String], rejected: Option<&str>) -> Option<Hold> {
    if unreached.is_empty() {
        return None;
    }
    let missing = format!("no connection to its peer URL comes from {}", unreached.join(", "));
    if let Some(rejected) = rejected {
        return Some(Hold::new(Why::Certificate, format!("{missing}; one was rejected: {rejected}")));
    }
    let message = format!("{missing}: does its host name resolve there, and its port answer?");
    Some(Hold::new(Why::Unreachable, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::{live, others, voter};

    const OWN: MemberId = MemberId(7);

    fn status(applied: u64) -> StatusResponse {
        StatusResponse {
            leader: 0x51,
            raft_term: 4,
            raft_applied_index: applied,
            ..StatusResponse::default()
        }
    }

    fn cluster(voters: u64) -> Live {
        let mut own = voter(OWN.0, "main-0", &["http://main-0:2380"]);
        own.learner = true;
        live((1..=voters).map(others).chain([own]).collect())
    }

    fn refused(live: &Live, change: impl FnOnce(&mut View<'_>)) -> Option<Why> {
        let (learner, leader) = (status(950), status(1000));
        let mut view = View {
            own: OWN,
            live,
            learner: &learner,
            leader: Some(&leader),
            unreached: Vec::new(),
            rejected: None,
        };
        change(&mut view);
        refusal(&view).map(|hold| hold.why)
    }

    #[test]
    fn a_learner_in_step_is_let_through_after_a_second_look() {
        let (live, learner, leader) = (cluster(3), status(950), status(1000));
        let view = View {
            own: OWN,
            live: &live,
            learner: &learner,
            leader: Some(&leader),
            unreached: Vec::new(),
            rejected: None,
        };
        let (mut gate, start) = (Gate::default(), Instant::now());
        assert_eq!(gate.refusal(&view, start).unwrap().why, Why::CatchingUp);
        assert!(gate.refusal(&view, start + HELD / 2).is_some());
        assert_eq!(gate.refusal(&view, start + HELD), None);
    }

    #[test]
    fn one_look_that_fails_begins_anew() {
        let (live, behind, learner, leader) = (cluster(3), status(1), status(950), status(1000));
        let view = |learner| View {
            own: OWN,
            live: &live,
            learner,
            leader: Some(&leader),
            unreached: Vec::new(),
            rejected: None,
        };
        let (mut gate, start) = (Gate::default(), Instant::now());
        assert!(gate.refusal(&view(&learner), start).is_some());
        assert!(gate.refusal(&view(&behind), start + HELD).is_some());
        assert!(gate.refusal(&view(&learner), start + HELD * 2).is_some());
    }

    #[test]
    fn each_condition_counts() {
        let three = cluster(3);
        assert_eq!(refused(&three, |_| ()), None);
        assert_eq!(refused(&three, |view| view.leader = None), Some(Why::Unhealthy));
        assert_eq!(
            refused(&three, |view| view.unreached.push("source-1".to_owned())),
            Some(Why::Unreachable)
        );
        let rejected = |view: &mut View<'_>| {
            (view.unreached, view.rejected) = (vec!["source-1".to_owned()], Some("x509".to_owned()));
        };
        assert_eq!(refused(&three, rejected), Some(Why::Certificate));
        // A scanner's connection, say.
        assert_eq!(refused(&three, |view| view.rejected = Some("EOF".to_owned())), None);
        let mut unstarted = cluster(3);
        unstarted.members[3].name.clear();
        assert_eq!(refused(&unstarted, |_| ()), Some(Why::CatchingUp));
        let mut down = cluster(3);
        down.members[0].well_for = None;
        down.members[1].well_for = None;
        assert_eq!(refused(&down, |_| ()), Some(Why::Unhealthy));
    }

    #[test]
    fn a_source_of_one_voter_can_be_joined_and_one_of_two_only_when_both_are_well() {
        assert_eq!(refused(&cluster(1), |_| ()), None);
        let mut two = cluster(2);
        assert_eq!(refused(&two, |_| ()), None);
        two.members[0].well_for = None;
        assert_eq!(refused(&two, |_| ()), Some(Why::Unhealthy));
    }
}
