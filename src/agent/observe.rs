//! Looks at the cluster behind the service endpoints: one fresh list, and each member's own word.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use futures_util::future::join_all;

use crate::member::{ClusterId, MemberId, TlsFiles, Why};

use super::client::{Endpoint, List};
use super::facts::{Live, Member, Unseen};
use super::fault::{Fault, Kind};
use super::pb::etcdserverpb::{self, StatusResponse};
use super::peer::{self, Peer};
use super::tls::Mounted;
use super::version::Release;

/// Looks, and remembers since when each member has been well.
#[derive(Debug)]
pub struct Observer {
    endpoints: Vec<String>,
    mounted: Mounted,
    well_since: BTreeMap<MemberId, Instant>,
    /// Whether this member has been one before.
    has_past: bool,
}

/// What was seen.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The cluster, for a decision.
    pub live: Live,
    /// Where it answered, in the order in which endpoints are asked.
    pub endpoints: Vec<Endpoint>,
    /// What each member says of itself, where it answers clients.
    pub statuses: BTreeMap<MemberId, StatusResponse>,
}

impl Seen {
    /// The member that leads, where one that was seen knows it.
    pub fn leader(&self) -> Option<MemberId> {
        self.statuses.values().map(|status| MemberId(status.leader)).find(|leader| leader.0 != 0)
    }

    /// How far the cluster is: the leader's own word; where its client URLs are private, that of the voter that is
    /// furthest on. The one that gave the list has applied all that was decided before.
    pub fn reference(&self) -> Option<&StatusResponse> {
        let leader = self.leader().and_then(|leader| self.statuses.get(&leader));
        leader.or_else(|| {
            let voters = self.statuses.values().filter(|status| !status.is_learner);
            voters.max_by_key(|status| (status.raft_term, status.raft_applied_index))
        })
    }

    /// Adds a learner. Returns its id and the members with it.
    pub async fn add_learner(&self, peer_urls: &[String]) -> Result<(MemberId, List), Fault> {
        self.ask_in_turn(async |endpoint| endpoint.add_learner(peer_urls.to_vec()).await).await
    }

    /// Removes a member.
    pub async fn remove(&self, member: MemberId) -> Result<(), Fault> {
        self.ask_in_turn(async |endpoint| endpoint.remove(member).await).await
    }

    /// Makes a learner a voter.
    pub async fn promote(&self, member: MemberId) -> Result<(), Fault> {
        self.ask_in_turn(async |endpoint| endpoint.promote(member).await).await
    }

    /// Each member refuses a change by how long it itself has been connected to the others: one that has just joined
    /// refuses what an older one takes.
    async fn ask_in_turn<T>(&self, ask: impl AsyncFn(&Endpoint) -> Result<T, Fault>) -> Result<T, Fault> {
        let mut refused = Fault::odd("the service endpoints", "none of them");
        for endpoint in &self.endpoints {
            match ask(endpoint).await {
                Err(fault) if fault.kind == Kind::Unhealthy => refused = fault,
                answered => return answered,
            }
        }
        Err(refused)
    }

    /// Voters whose client URLs are private, or don't answer.
    pub fn private(&self) -> Vec<String> {
        let voters = self.live.members.iter().filter(|member| !member.learner);
        voters.filter(|voter| !self.statuses.contains_key(&voter.id)).map(Member::title).collect()
    }
}

/// What one endpoint says.
struct Answer {
    endpoint: Endpoint,
    list: List,
}

/// What was seen of one member.
enum Sight {
    /// It answers at a client URL.
    Answers(Box<StatusResponse>),
    /// It answers at a peer URL: its client URLs may be private.
    Lives(Peer),
    /// Nothing, and why.
    Nothing(String),
}

impl Sight {
    /// Why the member isn't well; alarms are asked for by themselves.
    fn fault(&self) -> Option<String> {
        match self {
            Self::Answers(status) => {
                let leaderless =
                    status.leader == 0 || status.errors.iter().any(|error| error.contains("no leader"));
                leaderless.then(|| "it knows no leader".to_owned())
            }
            Self::Lives(_) => None,
            Self::Nothing(fault) => Some(fault.clone()),
        }
    }

    fn release(&self) -> Option<Release> {
        match self {
            Self::Answers(status) => status.version.parse().ok(),
            Self::Lives(peer) => peer.release,
            Self::Nothing(_) => None,
        }
    }
}

impl Observer {
    /// For these endpoints, the own Service first.
    pub const fn new(endpoints: Vec<String>, mounted: Mounted) -> Self {
        Self { endpoints, mounted, well_since: BTreeMap::new(), has_past: false }
    }

    /// Whether this member has been one before: only then can its own Service be expected to answer.
    pub const fn has_past(&mut self, has_past: bool) {
        self.has_past = has_past;
    }

    /// Looks once. What isn't well now begins to count anew.
    pub async fn look(&mut self) -> Result<Seen, Unseen> {
        let (endpoints, list) = self.answers().await?;
        let Some(endpoint) = endpoints.first() else { return Err(unseen(&[])) };
        let sights = self.sights(endpoint, &list).await;
        let alarms = endpoint.alarms().await.map_err(|fault| unseen(&[fault]))?;
        self.remember(&sights);
        let members = list.members.into_iter().map(|member| self.member(member, &sights)).collect();
        let answers = sights.into_iter().filter_map(|(id, sight)| match sight {
            Sight::Answers(status) => Some((id, *status)),
            Sight::Lives(_) | Sight::Nothing(_) => None,
        });
        Ok(Seen {
            live: Live { cluster: list.cluster, members, alarms },
            endpoints,
            statuses: answers.collect(),
        })
    }

    /// The first fresh list, where all endpoints that answer lead to one cluster.
    async fn answers(&self) -> Result<(Vec<Endpoint>, List), Unseen> {
        let answers = join_all(self.endpoints.iter().map(|url| self.ask(url))).await;
        let (found, faults): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        let found: Vec<Answer> = found.into_iter().flatten().collect();
        let faults: Vec<Fault> = faults.into_iter().filter_map(Result::err).collect();
        let clusters: BTreeMap<ClusterId, &str> =
            found.iter().map(|answer| (answer.list.cluster, answer.endpoint.url())).collect();
        if clusters.len() > 1 {
            let each: Vec<String> = clusters.iter().map(|(id, url)| format!("{id} at {url}")).collect();
            let message =
                format!("the endpoints lead to several clusters: {}: correct them", each.join(", "));
            return Err(Unseen { why: Why::SourceDiffers, message });
        }
        let list =
            found.first().map(|answer| answer.list.clone()).ok_or_else(|| nobody(faults, self.has_past))?;
        Ok((found.into_iter().map(|answer| answer.endpoint).collect(), list))
    }

    async fn ask(&self, url: &str) -> Result<Answer, Fault> {
        let endpoint = self.dial(url)?;
        let status = endpoint.status().await?;
        let list = endpoint.list(status.version.parse().ok()).await?;
        Ok(Answer { endpoint, list })
    }

    fn dial(&self, url: &str) -> Result<Endpoint, Fault> {
        if !url.starts_with("https:") {
            return Endpoint::new(url, None, None);
        }
        let files = self.mounted.read(&TlsFiles::CLIENT).map_err(|error| Fault::of_setup(url, &error))?;
        Endpoint::new(url, Some(&files), None)
    }

    /// Voters of a list that aren't well.
    pub async fn unwell(&self, endpoint: &Endpoint, list: &List) -> BTreeSet<MemberId> {
        let sights = self.sights(endpoint, list).await;
        let voters =
            list.members.iter().filter(|member| !member.is_learner).map(|member| MemberId(member.id));
        voters.filter(|id| sights.get(id).is_none_or(|sight| sight.fault().is_some())).collect()
    }

    async fn sights(&self, endpoint: &Endpoint, list: &List) -> BTreeMap<MemberId, Sight> {
        let asked = list
            .members
            .iter()
            .map(|member| async { (MemberId(member.id), self.sight(member, list.cluster).await) });
        let mut sights: BTreeMap<_, _> = join_all(asked).await.into_iter().collect();
        if sights.values().any(|sight| !matches!(sight, Sight::Answers(_))) {
            // The one that gave the list was seen, whatever its own client URLs are.
            let word = endpoint.status().await.ok();
            let id = word.as_ref().and_then(|status| status.header.as_ref()).map(|header| header.member_id);
            if let Some((id, status)) = id.zip(word) {
                sights.insert(MemberId(id), Sight::Answers(Box::new(status)));
            }
        }
        sights
    }

    async fn sight(&self, member: &etcdserverpb::Member, cluster: ClusterId) -> Sight {
        let answers = join_all(member.client_urls.iter().map(|url| self.status_at(url, member.id))).await;
        let (found, faults): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        if let Some(status) = found.into_iter().flatten().next() {
            return Sight::Answers(Box::new(status));
        }
        let answers = join_all(member.peer_urls.iter().map(|url| peer::ask(&self.mounted, url))).await;
        let (found, others): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        if let Some(peer) = found.into_iter().flatten().find(|peer| peer.cluster == cluster) {
            return Sight::Lives(peer);
        }
        let faults = faults.into_iter().filter_map(Result::err);
        let faults = faults.chain(others.into_iter().filter_map(Result::err));
        Sight::Nothing(faults.map(|fault| fault.to_string()).collect::<Vec<_>>().join("; "))
    }

    /// A client URL may lead to another member: a load balancer, or a copied configuration.
    async fn status_at(&self, url: &str, member: u64) -> Result<StatusResponse, Fault> {
        let status = self.dial(url)?.status().await?;
        let answered = status.header.as_ref().map(|header| header.member_id);
        if answered == Some(member) { Ok(status) } else { Err(Fault::odd(url, "another member's id")) }
    }

    fn remember(&mut self, sights: &BTreeMap<MemberId, Sight>) {
        let now = Instant::now();
        let well = sights.iter().filter(|(_, sight)| sight.fault().is_none()).map(|(id, _)| *id);
        let since = |id| (id, self.well_since.get(&id).copied().unwrap_or(now));
        self.well_since = well.map(since).collect();
    }

    fn member(&self, member: etcdserverpb::Member, sights: &BTreeMap<MemberId, Sight>) -> Member {
        let id = MemberId(member.id);
        let sight = sights.get(&id);
        Member {
            id,
            name: member.name,
            peer_urls: member.peer_urls,
            learner: member.is_learner,
            well_for: self.well_since.get(&id).map(Instant::elapsed),
            unwell: sight.and_then(Sight::fault),
            release: sight.and_then(Sight::release),
        }
    }
}

/// Why nobody gave a list, by the faults of all endpoints, the own Service first. Nobody wrote that one down: it comes
/// last, and before a first join, when nobody can answer there, it is left out.
fn nobody(mut faults: Vec<Fault>, has_past: bool) -> Unseen {
    if faults.len() > 1 {
        let own = faults.remove(0);
        let is_silent = matches!(own.kind, Kind::Unreachable | Kind::Unknown);
        faults.extend((has_past || !is_silent).then_some(own));
    }
    unseen(&faults)
}

/// Why nobody gave a list: the kind that tells most, and each endpoint's own words.
fn unseen(faults: &[Fault]) -> Unseen {
    const TELLING: [Kind; 2] = [Kind::Certificate, Kind::Authentication];
    let telling = TELLING.iter().find_map(|kind| faults.iter().find(|fault| fault.kind == *kind));
    let words: Vec<String> = faults.iter().map(ToString::to_string).collect();
    Unseen {
        why: telling.map_or(Why::Unreachable, Fault::why),
        message: format!("waits for {}", words.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::{live, others};

    fn seen(statuses: &[(u64, u64, u64)]) -> Seen {
        let status = |(id, leader, applied): &(u64, u64, u64)| {
            let status = StatusResponse {
                leader: *leader,
                raft_term: 2,
                raft_applied_index: *applied,
                ..StatusResponse::default()
            };
            (MemberId(*id), status)
        };
        Seen {
            live: live((1..=3).map(others).collect()),
            endpoints: vec![Endpoint::new("http://source-1:2379", None, None).unwrap()],
            statuses: statuses.iter().map(status).collect(),
        }
    }

    #[tokio::test]
    async fn how_far_a_cluster_is_says_its_leader_or_who_is_furthest_on() {
        let all = seen(&[(0x51, 0x52, 90), (0x52, 0x52, 80), (0x53, 0x52, 95)]);
        assert_eq!(all.reference().unwrap().raft_applied_index, 80);
        assert!(all.private().is_empty());
        let private = seen(&[(0x51, 0x52, 90), (0x53, 0x52, 95)]);
        assert_eq!(private.reference().unwrap().raft_applied_index, 95);
        assert_eq!(private.private().len(), 1);
        assert!(seen(&[]).reference().is_none());
    }

    #[tokio::test]
    async fn a_change_that_one_member_refuses_is_asked_of_the_next_and_nothing_else_is_asked_twice() {
        let url = |number| Endpoint::new(&format!("http://source-{number}:2379"), None, None).unwrap();
        let endpoints: Vec<Endpoint> = (1..=3).map(url).collect();
        let seen = Seen { endpoints, ..seen(&[]) };
        let answered = |said: [&'static str; 3]| {
            let asked = std::cell::Cell::new(0);
            let seen = &seen;
            async move {
                let answer = async |endpoint: &Endpoint| {
                    asked.set(asked.get() + 1);
                    let at = endpoint.url().contains("source-2").into();
                    match said[if endpoint.url().contains("source-3") { 2 } else { at }] {
                        "" => Ok(()),
                        fault => Err(Fault::of_status(endpoint.url(), &tonic::Status::unavailable(fault))),
                    }
                };
                (seen.ask_in_turn(answer).await.map_err(|fault| fault.kind), asked.get())
            }
        };
        let (unhealthy, unknown) = ("etcdserver: unhealthy cluster", "etcdserver: request timed out");
        assert_eq!(answered([unhealthy, "", ""]).await, (Ok(()), 2));
        assert_eq!(answered([unknown, "", ""]).await, (Err(Kind::Unknown), 1));
        assert_eq!(answered([unhealthy; 3]).await, (Err(Kind::Unhealthy), 3));
    }

    #[test]
    fn the_endpoints_of_the_spec_come_first_and_the_own_service_only_where_it_counts() {
        let (own, source) = ("http://main-client:2379", "http://source-1:2379");
        let refused = |url| Fault::of_status(url, &tonic::Status::unavailable("Connection refused"));
        let words = |faults: Vec<Fault>, has_past| nobody(faults, has_past).message;
        let (of_own, of_source) =
            (format!("{own}: Connection refused"), format!("{source}: Connection refused"));
        assert_eq!(words(vec![refused(own), refused(source)], false), format!("waits for {of_source}"));
        assert_eq!(
            words(vec![refused(own), refused(source)], true),
            format!("waits for {of_source}; {of_own}")
        );
        assert_eq!(words(vec![refused(own)], false), format!("waits for {of_own}"));
        let distrusted = Fault::of_status(own, &tonic::Status::unavailable("invalid peer certificate"));
        assert_eq!(nobody(vec![distrusted, refused(source)], false).why, Why::Certificate);
    }

    #[test]
    fn a_member_without_a_leader_is_not_well_and_one_that_only_peers_reach_is() {
        let peer = Peer {
            url: String::new(),
            cluster: ClusterId(1),
            release: "3.5.33".parse().ok(),
            cluster_version: None,
        };
        let lives = Sight::Lives(peer);
        assert_eq!((lives.fault(), lives.release()), (None, "3.5.33".parse().ok()));
        let leaderless = Sight::Answers(Box::default());
        assert!(leaderless.fault().unwrap().contains("leader"));
        assert_eq!(Sight::Nothing("refused".to_owned()).fault().unwrap(), "refused");
    }
}
