//! Whether etcd would accept an add now, and whether it should be asked.

use std::time::Duration;

use crate::member::{MemberId, Why, quorum};

use super::decide::Hold;
use super::entry;
use super::facts::{Facts, Live, Member};

/// For how long etcd wants voters to have been connected before it changes the membership (`HealthInterval`).
pub const SETTLED: Duration = Duration::from_secs(5);

/// Why no add is asked for now, if so.
pub fn refusal_of_add(facts: &Facts, live: &Live) -> Option<Hold> {
    // Seen once is enough: etcd itself refuses what is too early, and nothing was given up for it.
    common(facts, live, None).or_else(|| too_few(live, None, Duration::ZERO))
}

/// Why this member's own entry can't be removed and added anew now, if so: once it is removed, the add must be
/// accepted.
pub fn refusal_of_replacement(facts: &Facts, live: &Live, own: &Member) -> Option<Hold> {
    let collision = || {
        let others = Live {
            members: live.members.iter().filter(|member| member.id != own.id).cloned().collect(),
            ..live.clone()
        };
        entry::collision(facts, &others).map(|other| {
            Hold::new(
                Why::Collision,
                format!("its name or one of its URLs is also that of {}", other.title()),
            )
        })
    };
    let last = || {
        let others = live.members.iter().any(|member| !member.learner && member.id != own.id);
        let message =
            "it is the cluster's only voter, and its data is lost: restore a backup, or make a new object";
        (!others).then(|| Hold::new(Why::LostData, message))
    };
    last()
        .or_else(collision)
        .or_else(|| common(facts, live, Some(own.id)))
        .or_else(|| too_few(live, Some(own.id), SETTLED))
}

fn common(facts: &Facts, live: &Live, without: Option<MemberId>) -> Option<Hold> {
    let learner = live.members.iter().find(|member| member.learner && Some(member.id) != without);
    let learner = learner.map(|learner| other_learner(facts, learner));
    learner.or_else(|| {
        let alarms = live.alarms.join(", ");
        let message = || format!("the cluster has raised {alarms}: mend the cause and disarm it first");
        (!live.alarms.is_empty()).then(|| Hold::new(Why::Unhealthy, message()))
    })
}

fn other_learner(facts: &Facts, learner: &Member) -> Hold {
    let title = learner.title();
    let message = if entry::is_sibling(&facts.config, learner) {
        format!("{title} is joining; members join one at a time")
    } else {
        format!(
            "{title} is a learner, and a cluster takes one at a time: wait for its promotion, or, if nobody wants it, \
             remove it: etcdctl member remove {}",
            learner.id
        )
    };
    Hold::new(Why::OtherLearner, message)
}

/// Counts the voters as etcd does before it adds.
fn too_few(live: &Live, without: Option<MemberId>, well_for: Duration) -> Option<Hold> {
    let voters: Vec<&Member> =
        live.members.iter().filter(|member| !member.learner && Some(member.id) != without).collect();
    let lenient =
        voters.iter().all(|voter| voter.release.is_some_and(super::version::Release::adds_with_quorum));
    let needed = match voters.len() {
        0 | 1 => voters.len(),
        number if lenient => quorum(number + 1),
        number => number,
    };
    let is_well = |voter: &&&Member| voter.well_for.is_some_and(|time| time >= well_for);
    let well = voters.iter().filter(is_well).count();
    let rest = voters.iter().filter(|voter| !is_well(voter)).map(|voter| voter.trouble());
    let message = || {
        format!(
            "{well} of {} voters are well, and an add needs {needed}: waits for {}",
            voters.len(),
            rest.collect::<Vec<_>>().join("; ")
        )
    };
    (well < needed).then(|| Hold::new(Why::Unhealthy, message()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::{facts, live, others, voter};

    fn refused(live: &Live) -> Option<Why> {
        refusal_of_add(&facts(), live).map(|hold| hold.why)
    }

    #[test]
    fn quorums_are_etcds() {
        for (voters, votes) in [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (6, 4)] {
            assert_eq!(quorum(voters), votes);
        }
    }

    #[test]
    fn one_voter_is_enough_for_itself() {
        assert_eq!(refused(&live(vec![others(1)])), None);
    }

    #[test]
    fn three_voters_with_one_down_take_no_member_on_any_release() {
        for release in ["3.5.29", "3.5.30"] {
            let mut members = vec![others(1), others(2), others(3)];
            members[2].well_for = None;
            for member in &mut members {
                member.release = release.parse().ok();
            }
            assert_eq!(refused(&live(members)), Some(Why::Unhealthy), "{release}");
        }
    }

    #[test]
    fn five_voters_with_one_down_take_a_member_on_new_releases() {
        for (release, expected) in [("3.5.29", Some(Why::Unhealthy)), ("3.5.30", None)] {
            let mut members: Vec<Member> = (1..=5).map(others).collect();
            members[4].well_for = None;
            for member in &mut members {
                member.release = release.parse().ok();
            }
            assert_eq!(refused(&live(members)), expected, "{release}");
        }
    }

    #[test]
    fn a_learner_of_somebody_else_is_named_with_the_command_that_removes_it() {
        let mut learner = voter(0xbeef, "", &["http://stale:2380"]);
        learner.learner = true;
        let hold = refusal_of_add(&facts(), &live(vec![others(1), learner])).unwrap();
        assert_eq!(hold.why, Why::OtherLearner);
        assert!(hold.message.contains("etcdctl member remove beef"), "{}", hold.message);
    }

    #[test]
    fn a_learner_of_ours_is_waited_for() {
        let mut learner = voter(7, "", &["http://main-1.main-peer.shop.svc:2380"]);
        learner.learner = true;
        let hold = refusal_of_add(&facts(), &live(vec![others(1), learner])).unwrap();
        assert!(!hold.message.contains("etcdctl"), "{}", hold.message);
    }

    #[test]
    fn an_alarm_stops_adds() {
        let mut live = live(vec![others(1)]);
        live.alarms.push("NOSPACE at source-1".to_owned());
        assert_eq!(refused(&live), Some(Why::Unhealthy));
    }
}
