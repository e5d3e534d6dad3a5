//! Whether a source's client endpoints are what a person meant: mistakes that what answers there, or doesn't, shows.

use std::collections::BTreeSet;

use crate::member::{Config, Why};

use super::decide::Hold;
use super::entry::{is_sibling, place};
use super::facts::{Live, Member, Unseen};

/// How the spec is corrected before the join is complete: the rules freeze what it says of the source.
pub(super) const ANEW: &str = ", in an Etcd that is created anew: delete this one, whose members and endpoints are frozen while it joins";

/// Why a cluster isn't joined, if so: none of its members is one of the spec's. Names alone prove nothing.
pub(super) fn another_cluster(config: &Config, live: &Live) -> Option<Hold> {
    let source = config.source.as_ref()?;
    let named: BTreeSet<_> = source.members.values().flatten().map(|url| place(url)).collect();
    let is_named = |member: &Member| member.peer_urls.iter().any(|url| named.contains(&place(url)));
    // Where one of this Etcd has joined it, it is the right one.
    let is_it = live.members.iter().any(|member| is_named(member) || is_sibling(config, member));
    let has: Vec<String> = live.members.iter().map(Member::title).collect();
    let spec: Vec<String> =
        source.members.iter().map(|(name, urls)| format!("{name} ({})", urls.join(" "))).collect();
    let message = || {
        format!(
            "the client endpoints lead to another cluster, {}, which has none of the spec's members: it has {}, and the spec \
             {}: correct clientEndpoints, or, if that is the cluster to be joined, the members{ANEW}",
            live.cluster,
            has.join(", "),
            spec.join(", ")
        )
    };
    (!named.is_empty() && !has.is_empty() && !is_it).then(|| Hold::new(Why::SourceDiffers, message()))
}

/// What nobody answers, with the likeliest mistake: a peer port was written for a client's.
pub(super) fn explained(config: &Config, unseen: Unseen) -> Unseen {
    let nobody_answers = unseen.why != Why::SourceDiffers;
    match peer_port(config).filter(|_| nobody_answers) {
        Some(mistake) => Unseen { message: format!("{} ({mistake})", unseen.message), ..unseen },
        None => unseen,
    }
}

/// The first endpoint at a peer URL of the spec, or else with the port of one: a Service has another host.
fn peer_port(config: &Config) -> Option<String> {
    let source = config.source.as_ref()?;
    let urls = || {
        let members = source.members.iter();
        members.flat_map(|(name, urls)| urls.iter().map(move |url| (name, url, place(url))))
    };
    let otherwise = "and clients are answered at another port, mostly 2379";
    let same_place = source.client_endpoints.iter().find_map(|endpoint| {
        let (_, host, port) = place(endpoint);
        let (name, ..) = urls().find(|(_, _, (_, peer, at))| *peer == host && *at == port)?;
        Some(format!("{endpoint} is the peer URL of {name} in the spec, {otherwise}: write that one{ANEW}"))
    });
    same_place.or_else(|| {
        source.client_endpoints.iter().find_map(|endpoint| {
            let (.., port) = place(endpoint);
            let (name, url, _) = urls().find(|(_, _, (.., at))| port.is_some() && *at == port)?;
            Some(format!(
                "{endpoint} has the port of peer URLs, such as {url} of {name}, {otherwise}: if it is a mistake, write that one{ANEW}"
            ))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::{config, live, others, voter};

    const SOURCE: &[(&str, &str)] =
        &[("c1-0", "http://c1-0.c1-peer.old.svc:2380"), ("c1-1", "http://c1-1.c1-peer.old.svc:2380")];

    #[test]
    fn a_cluster_with_none_of_the_specs_members_is_another_one() {
        let config = config(3, SOURCE);
        let hold = another_cluster(&config, &live(vec![voter(8, "o1-0", &["http://o1-0:2380"])])).unwrap();
        assert_eq!(hold.why, Why::SourceDiffers);
        for words in
            ["another cluster, c1,", "o1-0 (8, http://o1-0:2380)", "c1-1 (", "correct clientEndpoints"]
        {
            assert!(hold.message.contains(words), "{words:?} is not in {:?}", hold.message);
        }
        // Two clusters may have members of one name.
        let namesake = voter(8, "c1-0", &["http://c1-0.c1-peer.other.svc:2380"]);
        assert!(another_cluster(&config, &live(vec![namesake])).is_some());
    }

    #[test]
    fn one_member_that_is_the_same_makes_it_the_right_one() {
        let config = config(3, SOURCE);
        let known = voter(7, "renamed", &["http://C1-1.c1-peer.old.svc:2380"]);
        assert_eq!(another_cluster(&config, &live(vec![others(1), known])), None);
        let own = voter(7, "main-1", &["http://main-1.main-peer.shop.svc:2380"]);
        assert_eq!(another_cluster(&config, &live(vec![others(1), own])), None);
        let none = crate::agent::testing::config(3, &[]);
        assert_eq!(another_cluster(&none, &live(vec![others(1)])), None);
    }

    fn told(endpoint: &str, why: Why) -> String {
        let mut config = config(3, SOURCE);
        config.source.as_mut().unwrap().client_endpoints.push(endpoint.to_owned());
        explained(&config, Unseen { why, message: "waits".to_owned() }).message
    }

    #[test]
    fn a_peer_port_among_the_endpoints_is_named_where_nobody_answers() {
        let own = told("http://c1-1.c1-peer.old.svc:2380", Why::Unreachable);
        assert!(own.contains("svc:2380 is the peer URL of c1-1") && own.contains("2379"), "{own}");
        let service = told("https://c1-peer.old.svc:2380", Why::Certificate);
        assert!(service.contains("https://c1-peer.old.svc:2380 has the port of peer URLs"), "{service}");
        assert_eq!(told("http://c1-client.old.svc:2379", Why::Unreachable), "waits");
        assert_eq!(told("http://c1-peer.old.svc:2380", Why::SourceDiffers), "waits");
    }
}
