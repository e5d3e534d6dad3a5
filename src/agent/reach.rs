//! Whether this member and the voters of a cluster could talk, as etcd itself will: before it is added, each voter is
//! dialled at its peer URLs with this member's peer certificate, and that certificate is held against its own names.

use futures_util::future::join_all;

use crate::member::{ClusterId, Scheme, TlsFiles, Why};

use super::decide::Hold;
use super::entry::host;
use super::facts::{Facts, Live, Member};
use super::fault::{Fault, Kind};
use super::peer::{self, Peer};
use super::preflight::fits_cluster;
use super::tls::Mounted;
use super::version::Release;

/// What was heard at one voter's peer URLs.
type Answers = Vec<Result<Peer, Fault>>;

/// Why this member doesn't ask to be added, if so: it, or a voter, would not get through.
pub async fn refusal(mounted: &Mounted, facts: &Facts, live: &Live, own: Release) -> Option<Hold> {
    if let Some(hold) = own_certificate(mounted, facts) {
        return Some(hold);
    }
    let voters: Vec<&Member> = live.members.iter().filter(|member| !member.learner).collect();
    let asked =
        voters.iter().map(|voter| join_all(voter.peer_urls.iter().map(|url| peer::ask(mounted, url))));
    let answers: Vec<Answers> = join_all(asked).await;
    let refused =
        voters.iter().zip(&answers).find_map(|(voter, answers)| judge(voter, live.cluster, answers));
    refused.or_else(|| fits_cluster(cluster_version(answers.iter().flatten().flatten(), live.cluster)?, own))
}

/// The version of a cluster, as its members' peer ports tell it; nothing before it is agreed on. Until every member has
/// said what it runs, a cluster that was formed by 3.4 or later has the version 3.0.
pub fn cluster_version<'a>(peers: impl Iterator<Item = &'a Peer>, cluster: ClusterId) -> Option<Release> {
    let told = peers.filter(|peer| peer.cluster == cluster).filter_map(|peer| peer.cluster_version);
    told.filter(|version| version.is_since(1)).max()
}

/// The version of a cluster that this member is one of, where a member tells it: those of the list, or, without one,
/// those that the configuration names.
pub async fn version_of(mounted: &Mounted, facts: &Facts, cluster: ClusterId) -> Option<Release> {
    let listed =
        facts.live().map(|live| live.members.iter().flat_map(|member| member.peer_urls.clone()).collect());
    let configured = || {
        let config = &facts.config;
        let siblings = (0..config.replicas).filter(|other| *other != facts.ordinal);
        let source = config.source.iter().flat_map(|source| source.members.values().flatten().cloned());
        siblings.flat_map(|other| config.peer_urls(other)).chain(source).collect()
    };
    let urls: Vec<String> = listed.unwrap_or_else(configured);
    let answers = join_all(urls.iter().map(|url| peer::ask(mounted, url))).await;
    cluster_version(answers.iter().flatten(), cluster)
}

/// A certificate that others don't take leaves a member that looks started, and that nobody can dial.
fn own_certificate(mounted: &Mounted, facts: &Facts) -> Option<Hold> {
    if facts.config.endpoints.peer_scheme == Scheme::Http {
        return None;
    }
    let hosts: Vec<String> = facts.config.peer_urls(facts.ordinal).iter().map(|url| host(url)).collect();
    let fault = match mounted.read(&TlsFiles::PEER) {
        Ok(files) => format!("other members would refuse it: {}", files.refused_as_server(&hosts)?),
        Err(error) => error.to_string(),
    };
    let message = format!(
        "the peer certificate of {} can't be used: {fault} (it must be for servers and clients, for {}, and signed by an \
         authority in peerUrlTls.tlsCASecretRef); nothing was added",
        facts.name(),
        hosts.join(" or ")
    );
    Some(Hold::new(Why::Certificate, message))
}

/// One URL of each voter must answer: others may be private. A voter that is down is counted elsewhere.
fn judge(voter: &Member, cluster: ClusterId, answers: &[Result<Peer, Fault>]) -> Option<Hold> {
    let well = answers.iter().flatten();
    if let Some(other) = well.clone().find(|peer| peer.cluster != cluster) {
        let message = format!(
            "{} is a peer URL of {}, and cluster {} answers there instead of {cluster}: look where it leads to; nothing \
             was added",
            other.url,
            voter.title(),
            other.cluster
        );
        return Some(Hold::new(Why::SourceDiffers, message));
    }
    if well.count() > 0 {
        return None;
    }
    let faults: Vec<&Fault> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
    let telling = faults.iter().find(|fault| fault.kind == Kind::Certificate).or_else(|| faults.first())?;
    if telling.kind != Kind::Certificate && voter.well_for.is_none() {
        return None;
    }
    let words: Vec<String> = faults.iter().map(ToString::to_string).collect();
    let remedy = match telling.kind {
        Kind::Certificate => "",
        _ => " (does the name resolve in this pod, and do the network's rules let it through?)",
    };
    let message =
        format!("can't dial {} as a peer: {}{remedy}; nothing was added", voter.title(), words.join("; "));
    Some(Hold::new(telling.why(), message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::{CLUSTER, others, voter};

    fn peer(cluster: ClusterId) -> Peer {
        let url = "http://source-1:2380".to_owned();
        Peer { url, cluster, release: None, cluster_version: "3.5.0".parse().ok() }
    }

    fn refused() -> Result<Peer, Fault> {
        Err(Fault::of_peer("https://source-1:2380", &std::io::Error::other("Connection refused")))
    }

    fn distrusted() -> Result<Peer, Fault> {
        let error = std::io::Error::other("invalid peer certificate: UnknownIssuer");
        Err(Fault::of_peer("https://source-1:2380", &error))
    }

    #[track_caller]
    fn holds(voter: &Member, answers: &[Result<Peer, Fault>], why: Why, words: &[&str]) {
        let hold = judge(voter, CLUSTER, answers).unwrap();
        assert_eq!(hold.why, why, "{}", hold.message);
        for word in words {
            assert!(hold.message.contains(word), "{word:?} is not in {:?}", hold.message);
        }
    }

    #[test]
    fn one_url_that_answers_is_enough() {
        assert_eq!(judge(&others(1), CLUSTER, &[refused(), Ok(peer(CLUSTER)), distrusted()]), None);
    }

    #[test]
    fn another_cluster_at_any_url_is_named() {
        let answers = [Ok(peer(CLUSTER)), Ok(peer(ClusterId(0xc2)))];
        holds(&others(1), &answers, Why::SourceDiffers, &["source-1", "c2", "c1"]);
    }

    #[test]
    fn a_voter_that_answers_clients_must_answer_peers() {
        holds(
            &others(1),
            &[refused()],
            Why::Unreachable,
            &["source-1 (51", ":2380: Connection refused", "rules"],
        );
        let mut down = others(1);
        down.well_for = None;
        assert_eq!(judge(&down, CLUSTER, &[refused()]), None);
    }

    #[test]
    fn a_certificate_that_is_refused_is_named_whoever_answers_clients() {
        let mut unseen = others(1);
        unseen.well_for = None;
        holds(&unseen, &[refused(), distrusted()], Why::Certificate, &["UnknownIssuer", "compare the CA"]);
    }

    #[test]
    fn a_voter_without_urls_can_t_be_judged() {
        assert_eq!(judge(&voter(1, "source-1", &[]), CLUSTER, &[]), None);
    }

    #[test]
    fn the_clusters_version_is_that_of_the_cluster_itself() {
        let mut other = peer(ClusterId(0xc2));
        other.cluster_version = "3.6.0".parse().ok();
        let peers = [peer(CLUSTER), other];
        assert_eq!(cluster_version(peers.iter(), CLUSTER), "3.5.0".parse().ok());
        assert_eq!(cluster_version([].iter(), CLUSTER), None);
        let undecided = Peer { cluster_version: "3.0.0".parse().ok(), ..peer(CLUSTER) };
        assert_eq!(cluster_version([undecided].iter(), CLUSTER), None);
    }
}
