//! What etcd would not check in time: before a member is added, the spec and the live cluster are held against each
//! other, and against what this pod can bear.

use std::collections::BTreeSet;

use crate::member::{Config, Source, Why};

use super::decide::Hold;
use super::entry::{is_sibling, place};
use super::facts::{Live, Member};
use super::source::{ANEW, another_cluster};
use super::version::Release;

/// What this pod can bear, and the cluster needs.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Size of the largest member's database.
    pub database: u64,
    /// Bytes that can still be written to this volume.
    pub free: u64,
}

/// Why this member doesn't ask to be added, if so.
pub fn refusal(config: &Config, live: &Live, own: Release, room: Room) -> Option<Hold> {
    // What else is said of it is of no use to whoever means another one.
    another_cluster(config, live)
        .or_else(|| too_new(config, live, own))
        .or_else(|| versions(live, own))
        .or_else(|| listed(config, live))
        .or_else(|| space(config, room))
}

/// The rules let no image go back to an earlier minor, not even where nothing runs yet.
fn too_new(config: &Config, live: &Live, own: Release) -> Option<Hold> {
    let oldest = live.members.iter().filter_map(|member| member.release).min()?;
    let is_too_new = config.source.is_some() && !own.fits(oldest) && own > oldest;
    is_too_new.then(|| {
        let Hold { why, message } = beside_oldest(own, oldest);
        let message = format!(
            "{message} in an Etcd that is created anew, since no image goes back to an earlier minor; or update the source \
             to {}.{} first",
            own.major,
            own.minor.saturating_sub(1)
        );
        Hold { why, message }
    })
}

/// Whether etcd of this release may run beside the members of a cluster, as far as they say what they are.
pub fn versions(live: &Live, own: Release) -> Option<Hold> {
    let known = live.members.iter().filter_map(|member| Some((member, member.release?)));
    let oldest = known.clone().map(|(_, release)| release).min()?;
    if !own.fits(oldest) {
        return Some(beside_oldest(own, oldest));
    }
    let losing: Vec<String> = known
        .filter(|(_, release)| release.loses_promotions())
        .map(|(member, release)| format!("{} runs etcd {release}", member.title()))
        .collect();
    losing_promotions(&losing.join(", ")).or_else(|| own_release(own))
}

/// Whether etcd of this release may be in a cluster of that version.
pub fn fits_cluster(cluster: Release, own: Release) -> Option<Hold> {
    let is = format!("the cluster has version {}.{}", cluster.major, cluster.minor);
    (!own.fits(cluster)).then(|| misfit(own, &is, cluster))
}

/// Why etcd of this release may not be started, if so: what ran on the volume before, and the cluster's version, where
/// it can be had. Members' own releases don't count: this one may be the last that is updated.
pub fn refusal_of_start(own: Release, before: Option<Release>, cluster: Option<Release>) -> Option<Hold> {
    let jump = || {
        let before = before.filter(|before| !own.fits(*before))?;
        Some(misfit(own, &format!("{before} ran on this volume"), before))
    };
    own_release(own).or_else(|| fits_cluster(cluster?, own)).or_else(jump)
}

/// Whether an image may be used at all.
pub fn own_release(own: Release) -> Option<Hold> {
    losing_promotions(&own.loses_promotions().then(|| format!("this image has etcd {own}"))?)
}

fn losing_promotions(who: &str) -> Option<Hold> {
    let message = || {
        format!(
            "{who}: releases before 3.5.20 don't store promotions, and the cluster would not start with 3.6: update to \
             3.5.26 or newer first"
        )
    };
    (!who.is_empty()).then(|| Hold::new(Why::Version, message()))
}

fn beside_oldest(own: Release, oldest: Release) -> Hold {
    misfit(own, &format!("the cluster's oldest member {oldest}"), oldest)
}

fn misfit(own: Release, beside: &str, Release { major, minor, .. }: Release) -> Hold {
    let message = format!(
        "this image has etcd {own}, and {beside}: use an image of {major}.{minor} or {major}.{}",
        minor + 1
    );
    Hold::new(Why::Version, message)
}

/// Until the join is complete, every member of the source is an entry of the spec.
fn listed(config: &Config, live: &Live) -> Option<Hold> {
    let source = config.source.as_ref()?;
    let mut others = live.members.iter().filter(|member| !is_sibling(config, member));
    let fault = others.find_map(|member| match source.members.get(&member.name) {
        None => Some(unlisted(source, member)),
        Some(urls) => differs(member, urls),
    })?;
    Some(Hold::new(Why::SourceDiffers, format!("{fault}{ANEW}")))
}

/// A member that is known by its URL has another name; one that isn't is missing.
fn unlisted(source: &Source, member: &Member) -> String {
    let places: BTreeSet<_> = member.peer_urls.iter().map(|url| place(url)).collect();
    let is_it = |urls: &[String]| urls.iter().any(|url| places.contains(&place(url)));
    match source.members.iter().find(|(_, urls)| is_it(urls)) {
        Some((name, _)) => format!("the spec calls {} by the name {name}: correct it", member.title()),
        None => format!("{} is not in the spec's members: add it", member.title()),
    }
}

/// Live URLs that the spec leaves out may be private.
fn differs(member: &Member, urls: &[String]) -> Option<String> {
    let places: BTreeSet<_> = member.peer_urls.iter().map(|url| place(url)).collect();
    let unknown = urls.iter().find(|url| !places.contains(&place(url)));
    match unknown {
        Some(url) => Some(format!(
            "the spec has {url} for {}, which it does not advertise: correct it",
            member.title()
        )),
        None if urls.is_empty() => Some(format!("the spec has no peer URL of {}: add one", member.title())),
        None => None,
    }
}

/// A member that is too small raises an alarm for the whole cluster.
fn space(config: &Config, Room { database, free }: Room) -> Option<Hold> {
    let quota = config.etcd.quota_bytes;
    if quota < database {
        let message =
            format!("the cluster's database has {database} bytes, and the quota here is {quota}: raise it");
        return Some(Hold::new(Why::Space, message));
    }
    let needed = database.saturating_mul(2);
    let message = || format!("the volume has {free} free bytes, and a join needs {needed}: enlarge it");
    (free < needed).then(|| Hold::new(Why::Space, message()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::{config, live, others, voter};

    const ROOM: Room = Room { database: 1 << 20, free: 1 << 30 };
    const SOURCE: &[(&str, &str)] = &[("source-1", "http://SOURCE-1:2380")];

    #[track_caller]
    fn refused(config: &Config, live: &Live, own: &str, room: Room, words: &[&str]) -> Why {
        let hold = refusal(config, live, own.parse().unwrap(), room).unwrap();
        for word in words {
            assert!(hold.message.contains(word), "{word:?} is not in {:?}", hold.message);
        }
        hold.why
    }

    #[test]
    fn a_source_as_the_spec_has_it_is_joined() {
        let live = live(vec![others(1)]);
        assert_eq!(refusal(&config(3, SOURCE), &live, "3.6.16".parse().unwrap(), ROOM), None);
    }

    #[test]
    fn private_urls_may_be_left_out_and_own_members_needn_t_be_listed() {
        let source = voter(1, "source-1", &["http://source-1:2380", "http://10.0.0.1:2380"]);
        let own = voter(2, "main-1", &["http://main-1.main-peer.shop.svc:2380"]);
        let live = live(vec![source, own]);
        assert_eq!(refusal(&config(3, SOURCE), &live, "3.6.16".parse().unwrap(), ROOM), None);
    }

    #[test]
    fn a_member_that_is_not_listed_or_named_otherwise_is_named() {
        let named = config;
        let config = named(3, SOURCE);
        let two = live(vec![others(1), others(2)]);
        assert_eq!(refused(&config, &two, "3.6.16", ROOM, &["source-2", "add it"]), Why::SourceDiffers);
        let moved = voter(2, "source-2", &["http://elsewhere:2380"]);
        let two = SOURCE.iter().copied().chain([("source-2", "http://SOURCE-2:2380")]).collect::<Vec<_>>();
        let (two, moved) = (named(3, &two), live(vec![others(1), moved]));
        assert_eq!(refused(&two, &moved, "3.6.16", ROOM, &["SOURCE-2", "elsewhere"]), Why::SourceDiffers);
        let other = live(vec![voter(1, "source-1", &["http://elsewhere:2380"])]);
        let words = ["another cluster, c1", "SOURCE-1", "elsewhere", "correct clientEndpoints"];
        assert_eq!(refused(&config, &other, "3.7.1", ROOM, &words), Why::SourceDiffers);
        let renamed = live(vec![voter(1, "source-one", &["http://source-1:2380"])]);
        let words = ["source-one (1", "by the name source-1", "created anew"];
        assert_eq!(refused(&config, &renamed, "3.6.16", ROOM, &words), Why::SourceDiffers);
    }

    #[test]
    fn a_source_two_minors_behind_is_not_touched() {
        let mut old = others(1);
        old.release = "3.4.45".parse().ok();
        let live = live(vec![others(2), old]);
        let words = ["oldest member 3.4.45", "an image of 3.4 or 3.5 in an Etcd", "the source to 3.5 first"];
        assert_eq!(refused(&config(3, SOURCE), &live, "3.6.16", ROOM, &words), Why::Version);
        // Of a cluster that this Etcd itself has formed there is nothing to be created anew.
        let own = refusal(&config(3, &[]), &live, "3.6.16".parse().unwrap(), ROOM).unwrap();
        assert!(own.message.ends_with("use an image of 3.4 or 3.5"), "{}", own.message);
    }

    #[test]
    fn releases_that_lose_promotions_are_updated_first() {
        let mut old = others(1);
        old.release = "3.5.16".parse().ok();
        let live = live(vec![old]);
        assert_eq!(refused(&config(3, SOURCE), &live, "3.5.33", ROOM, &["source-1", "3.5.26"]), Why::Version);
    }

    #[test]
    fn a_start_goes_by_what_ran_before_and_by_the_clusters_version() {
        let release = |text: &str| text.parse::<Release>().ok();
        for (own, before, cluster, words) in [
            ("3.6.16", Some("3.5.33"), Some("3.5.0"), None),
            ("3.6.16", Some("3.6.16"), None, None),
            ("3.6.16", None, None, None),
            // The last one that is updated.
            ("3.6.16", Some("3.5.33"), Some("3.6.0"), None),
            // The others went on without it.
            (
                "3.5.33",
                Some("3.5.33"),
                Some("3.6.0"),
                Some("the cluster has version 3.6: use an image of 3.6 or 3.7"),
            ),
            ("3.7.1", None, Some("3.5.0"), Some("version 3.5: use an image of 3.5 or 3.6")),
            ("3.5.33", Some("3.6.16"), None, Some("3.6.16 ran on this volume")),
            ("3.5.19", Some("3.5.19"), None, Some("3.5.26 or newer")),
        ] {
            let hold =
                refusal_of_start(own.parse().unwrap(), before.and_then(release), cluster.and_then(release));
            let fits = match (&hold, words) {
                (None, None) => true,
                (Some(hold), Some(words)) => hold.why == Why::Version && hold.message.contains(words),
                _ => false,
            };
            assert!(fits, "{own} over {before:?} in {cluster:?}: {hold:?}");
        }
    }

    #[test]
    fn a_joiner_that_is_too_small_waits() {
        let (config, live) = (config(3, SOURCE), live(vec![others(1)]));
        let large = Room { database: 9 << 30, free: 1 << 40 };
        assert_eq!(refused(&config, &live, "3.6.16", large, &["quota"]), Why::Space);
        let full = Room { database: 1 << 30, free: 1 << 30 };
        assert_eq!(refused(&config, &live, "3.6.16", full, &["enlarge"]), Why::Space);
    }
}
