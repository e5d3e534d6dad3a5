//! The way out: leadership handed over, a member removed by id, only while the rest keeps quorum.

use crate::member::{MemberId, Why, quorum};

use super::decide::Hold;
use super::facts::{Live, Member};
use super::fault::{Fault, Kind};
use super::observe::Seen;

/// Removes a member that was told to leave. It is out where this returns well.
pub async fn out(seen: &Seen, id: MemberId) -> Result<(), Hold> {
    if let Some(hold) = refusal(&seen.live, id) {
        return Err(hold);
    }
    if !seen.live.members.iter().any(|member| member.id == id) {
        return Ok(());
    }
    match seen.remove(id).await {
        Err(fault) if fault.kind != Kind::NotFound => Err(held(&fault)),
        // A change counts when a fresh list shows it: at the next look.
        Ok(()) | Err(_) => Err(Hold::new(Why::Removed, "was removed, and waits for the list that shows it")),
    }
}

fn held(fault: &Fault) -> Hold {
    Hold::new(fault.why(), format!("is to leave, and can't yet: {fault}"))
}

/// Why a member can't leave now: a learner may at once, a voter only while the rest keeps quorum.
fn refusal(live: &Live, id: MemberId) -> Option<Hold> {
    let own = live.members.iter().find(|member| member.id == id).filter(|own| !own.learner)?;
    let rest: Vec<&Member> =
        live.members.iter().filter(|member| !member.learner && member.id != own.id).collect();
    let well = rest.iter().filter(|voter| voter.well_for.is_some()).count();
    if rest.is_empty() {
        let message = "is to leave, and is the only voter: the cluster would end with it";
        return Some(Hold::new(Why::Unhealthy, message));
    }
    let down: Vec<String> =
        rest.iter().filter(|voter| voter.well_for.is_none()).map(|voter| voter.trouble()).collect();
    let needed = quorum(rest.len());
    let message = || {
        format!(
            "is to leave; {well} of the {} other voters are well, and {needed} must be: waits for {}",
            rest.len(),
            down.join("; ")
        )
    };
    (well < needed).then(|| Hold::new(Why::Unhealthy, message()))
}

/// The voter that leadership goes to: one that is well, and not the one that gives it up.
pub fn heir(live: &Live, from: MemberId) -> Option<MemberId> {
    let fit = |member: &&Member| !member.learner && member.id != from && member.well_for.is_some();
    live.members.iter().find(fit).map(|member| member.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::{live, others};

    fn refused(well: &[bool], learner: bool) -> Option<Why> {
        let mut members: Vec<Member> = (1..)
            .zip(well)
            .map(|(number, well)| {
                let mut member = others(number);
                member.well_for = member.well_for.filter(|_| *well);
                member
            })
            .collect();
        members[0].learner = learner;
        refusal(&live(members), MemberId(0x51)).map(|hold| hold.why)
    }

    #[test]
    fn a_learner_leaves_at_once_and_a_voter_while_the_rest_keeps_quorum() {
        assert_eq!(refused(&[false, false, false], true), None);
        assert_eq!(refused(&[true, true, true], false), None);
        assert_eq!(refused(&[false, true, true, false], false), None);
        assert_eq!(refused(&[true, true, false], false), Some(Why::Unhealthy));
        assert_eq!(refused(&[true], false), Some(Why::Unhealthy));
    }

    #[test]
    fn leadership_goes_to_a_voter_that_is_well() {
        let mut members = vec![others(1), others(2), others(3)];
        members[1].well_for = None;
        assert_eq!(heir(&live(members.clone()), MemberId(0x51)), Some(MemberId(0x53)));
        members[2].learner = true;
        assert_eq!(heir(&live(members), MemberId(0x51)), None);
    }
}
