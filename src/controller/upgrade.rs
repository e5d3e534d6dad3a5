//! The image that stays although the spec names a later one: etcd 3.7 ends at once on a log that holds what 3.5 wrote, no
//! image goes back, and a cluster of one would be lost.

use super::facts::Facts;
use super::pod::Pod;
use super::render::image;
use super::spec::SNAPSHOT_COUNT;
use crate::member::Volume;
use crate::rules::Minor;

/// An image that stays for now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::controller) struct Kept {
    /// The image of the StatefulSet that stands.
    pub(in crate::controller) image: String,
    /// For a person: why it stays, and until when.
    pub(in crate::controller) why: String,
}

/// The image that stays until every member has said that its log can be read by the one that is wanted.
pub(in crate::controller) fn kept(facts: &Facts<'_>) -> Option<Kept> {
    let stands = facts.stateful_set().and_then(|set| image(&set.object))?;
    let wanted = facts.settings.image(facts.etcd)?;
    let (before, after) = (Minor::of_image(stands)?, Minor::of_image(wanted)?);
    let drops_v2 = before < Minor::WITHOUT_V2 && after >= Minor::WITHOUT_V2;
    if !drops_v2 || !facts.has_members() {
        return None;
    }
    let why = unreadable(facts)?;
    Some(Kept { image: stands.to_owned(), why: format!("{why}; until then {stands} stays") })
}

fn unreadable(facts: &Facts<'_>) -> Option<String> {
    if facts.etcd.spec.replicas == 0 {
        return Some(
            "no member runs that could say whether its log can be read: set spec.replicas to the number of members"
                .to_owned(),
        );
    }
    (0..facts.etcd.spec.replicas).find_map(|ordinal| {
        let name = format!("{}-{ordinal}", facts.etcd.name);
        match facts.pod(ordinal).and_then(Pod::report) {
            // What joins anew begins with a log that the others can read.
            Some(report) if report.volume == Volume::Empty || report.holds_v2 == Some(false) => None,
            Some(report) if report.holds_v2 == Some(true) => Some(format!(
                "the log of {name} holds what etcd 3.5 wrote, and etcd {} can't read that: the next snapshot takes its \
                 place, some {} writes (spec.etcd.snapshotCount) after etcd's last start or snapshot",
                Minor::WITHOUT_V2,
                facts.etcd.spec.etcd.snapshot_count.unwrap_or(SNAPSHOT_COUNT),
            )),
            _ => Some(format!("{name} has not said yet whether etcd {} can read its log", Minor::WITHOUT_V2)),
        }
    })
}
