//! Whose an entry of the member list is. A name alone, or a URL alone, proves nothing: two namespaces may each have a
//! `main-0`.

use std::collections::BTreeSet;

use url::Url;

use crate::member::Config;

use super::facts::{Facts, Live, Member};

/// A URL as far as it says where one gets to.
type Place = (String, String, Option<u16>);

/// Scheme, host and port in lower case; the text itself where it is no URL.
pub fn place(url: &str) -> Place {
    match Url::parse(url) {
        Ok(parsed) => (
            parsed.scheme().to_ascii_lowercase(),
            parsed.host_str().unwrap_or_default().to_ascii_lowercase(),
            parsed.port_or_known_default(),
        ),
        Err(_) => (String::new(), url.to_ascii_lowercase(), None),
    }
}

/// The host of a URL, as a certificate has it; the text itself where it is no URL.
pub fn host(url: &str) -> String {
    place(url).1
}

fn places<'a>(urls: impl IntoIterator<Item = &'a String>) -> BTreeSet<Place> {
    urls.into_iter().map(|url| place(url)).collect()
}

/// This member's own entry in the list.
pub fn own<'a>(facts: &Facts, live: &'a Live) -> Option<&'a Member> {
    let by_record = live.members.iter().find(|member| Some(member.id) == facts.recorded_id());
    by_record.or_else(|| live.members.iter().find(|member| is_of(&facts.config, facts.ordinal, member)))
}

/// Whether an entry is that of the member with this ordinal, by name and URLs.
pub fn is_of(config: &Config, ordinal: u32, member: &Member) -> bool {
    let (entry, urls) = (places(&member.peer_urls), places(&config.peer_urls(ordinal)));
    if member.name.is_empty() {
        return entry == urls;
    }
    member.name == config.member(ordinal) && !entry.is_disjoint(&urls) && !is_source(config, member)
}

/// Whether the spec lists an entry as a member of the source.
pub fn is_source(config: &Config, member: &Member) -> bool {
    let Some(source) = &config.source else { return false };
    let entry = places(&member.peer_urls);
    source.members.contains_key(&member.name)
        || source.members.values().any(|urls| !places(urls).is_disjoint(&entry))
}

/// An entry that bears this member's name or one of its URLs, and isn't its own.
pub fn collision<'a>(facts: &Facts, live: &'a Live) -> Option<&'a Member> {
    let own = own(facts, live).map(|member| member.id);
    let (name, urls) = (facts.name(), places(&facts.config.peer_urls(facts.ordinal)));
    live.members.iter().filter(|member| Some(member.id) != own).find(|member| {
        let same_place = !places(&member.peer_urls).is_disjoint(&urls);
        same_place || member.name == name
    })
}

/// A learner of this Etcd whose ordinal no pod will ever have.
pub fn stray<'a>(facts: &Facts, live: &'a Live) -> Option<&'a Member> {
    let config = &facts.config;
    // Without pods, or in a pod that should not be, the number says nothing of the future.
    if facts.ordinal >= config.replicas {
        return None;
    }
    live.members.iter().filter(|member| member.learner).find(|member| {
        let ordinal = ordinal_of(config, member).filter(|ordinal| *ordinal >= config.replicas);
        ordinal.is_some_and(|ordinal| is_of(config, ordinal, member))
    })
}

/// Whether an entry is that of any member of this Etcd.
pub fn is_sibling(config: &Config, member: &Member) -> bool {
    ordinal_of(config, member).is_some_and(|ordinal| is_of(config, ordinal, member))
}

/// The ordinal that an entry's name says, or, of one that never started, its first host.
fn ordinal_of(config: &Config, member: &Member) -> Option<u32> {
    let host = member.peer_urls.iter().map(|url| place(url).1).find(|host| host.contains("-peer."));
    let pod = if member.name.is_empty() {
        host.as_deref().and_then(|host| host.split('.').next()).map(str::to_owned)
    } else {
        let prefix = config.owner.member_name_prefix.as_ref().map(|prefix| format!("{prefix}-"));
        member.name.strip_prefix(&prefix.unwrap_or_default()).map(str::to_owned)
    };
    pod?.strip_prefix(&format!("{}-", config.owner.name))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::{config, facts, live, voter};

    fn found(name: &str, urls: &[&str]) -> bool {
        let facts = facts();
        let live = live(vec![voter(7, name, urls)]);
        own(&facts, &live).is_some()
    }

    const OWN: &str = "http://main-0.main-peer.shop.svc:2380";

    #[test]
    fn name_and_url_together_are_ones_own() {
        assert!(found("main-0", &[OWN]));
        assert!(found("main-0", &["http://elsewhere:1", "http://MAIN-0.main-peer.shop.svc:2380"]));
        assert!(!found("main-0", &["http://main-0.main-peer.other.svc:2380"]));
        assert!(!found("main-1", &[OWN]));
    }

    #[test]
    fn nameless_is_ones_own_with_exactly_ones_urls() {
        assert!(found("", &[OWN]));
        assert!(!found("", &[OWN, "http://elsewhere:1"]));
        assert!(!found("", &[]));
    }

    #[test]
    fn a_member_of_the_source_is_never_ones_own() {
        let mut facts = facts();
        facts.config = config(3, &[("main-0", OWN)]);
        let live = live(vec![voter(7, "main-0", &[OWN])]);
        assert!(own(&facts, &live).is_none());
        assert!(collision(&facts, &live).is_some());
    }

    #[test]
    fn a_learner_beyond_the_replicas_is_stray_with_its_url_only() {
        let facts = facts();
        let learner = |name: &str, url: &str| {
            let mut member = voter(7, name, &[url]);
            member.learner = true;
            live(vec![member])
        };
        let url = |ordinal| format!("http://main-{ordinal}.main-peer.shop.svc:2380");
        for (name, url, is_stray) in [
            ("main-3", url(3), true),
            ("", url(3), true),
            ("main-2", url(2), false),
            ("main-3", "http://main-3.main-peer.other.svc:2380".to_owned(), false),
            ("main-x", url(3), false),
        ] {
            assert_eq!(stray(&facts, &learner(name, &url)).is_some(), is_stray, "{name} {url}");
        }
    }
}
