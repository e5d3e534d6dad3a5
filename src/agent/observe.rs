//! Looks at the cluster behind the service endpoints: one fresh list, and each member's own word.

use std::collections::BTreeMap;
use std::time::Instant;

use futures_util::future::join_all;

use crate::member::{ClusterId, MemberId, TlsFiles, Why};

use super::client::{Endpoint, List};
use super::facts::{Live, Member, Unseen};
use super::fault::{Fault, Kind};
use super::pb::etcdserverpb::{self, StatusResponse};
use super::tls::Mounted;

/// Looks, and remembers since when each member has been well.
#[derive(Debug)]
pub struct Observer {
    endpoints: Vec<String>,
    mounted: Mounted,
    well_since: BTreeMap<MemberId, Instant>,
}

/// What was seen.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The cluster, for a decision.
    pub live: Live,
    /// Where it answered: membership changes are asked for there.
    pub endpoint: Endpoint,
    /// What each member says of itself, where it answers.
    pub statuses: BTreeMap<MemberId, StatusResponse>,
}

impl Seen {
    /// The member that leads, where one that was seen knows it.
    pub fn leader(&self) -> Option<MemberId> {
        self.statuses.values().map(|status| MemberId(status.leader)).find(|leader| leader.0 != 0)
    }

    /// What the leader says of itself, where it was seen.
    pub fn leader_status(&self) -> Option<&StatusResponse> {
        self.statuses.get(&self.leader()?)
    }
}

/// What one endpoint says.
struct Answer {
    endpoint: Endpoint,
    list: List,
}

impl Observer {
    /// For these endpoints, the own Service first.
    pub const fn new(endpoints: Vec<String>, mounted: Mounted) -> Self {
        Self { endpoints, mounted, well_since: BTreeMap::new() }
    }

    /// Looks once. What isn't well now begins to count anew.
    pub async fn look(&mut self) -> Result<Seen, Unseen> {
        let Answer { endpoint, list } = self.answer().await?;
        let statuses = self.statuses(&list.members).await;
        let alarms = endpoint.alarms().await.map_err(|fault| unseen(&[fault]))?;
        self.remember(&statuses);
        let members = list.members.into_iter().map(|member| self.member(member, &statuses)).collect();
        Ok(Seen { live: Live { cluster: list.cluster, members, alarms }, endpoint, statuses })
    }

    /// The first fresh list, where all endpoints that answer lead to one cluster.
    async fn answer(&self) -> Result<Answer, Unseen> {
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
        found.into_iter().next().ok_or_else(|| unseen(&faults))
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

    async fn statuses(&self, members: &[etcdserverpb::Member]) -> BTreeMap<MemberId, StatusResponse> {
        let asked = members.iter().map(|member| async {
            let answers = join_all(member.client_urls.iter().map(|url| self.status_at(url))).await;
            Some((MemberId(member.id), answers.into_iter().flatten().find(|status| is_of(status, member))?))
        });
        join_all(asked).await.into_iter().flatten().collect()
    }

    async fn status_at(&self, url: &str) -> Option<StatusResponse> {
        self.dial(url).ok()?.status().await.ok()
    }

    fn remember(&mut self, statuses: &BTreeMap<MemberId, StatusResponse>) {
        let now = Instant::now();
        let well = statuses.iter().filter(|(_, status)| is_well(status)).map(|(id, _)| *id);
        let since = |id| (id, self.well_since.get(&id).copied().unwrap_or(now));
        self.well_since = well.map(since).collect();
    }

    fn member(&self, member: etcdserverpb::Member, statuses: &BTreeMap<MemberId, StatusResponse>) -> Member {
        let id = MemberId(member.id);
        Member {
            id,
            name: member.name,
            peer_urls: member.peer_urls,
            learner: member.is_learner,
            well_for: self.well_since.get(&id).map(Instant::elapsed),
            release: statuses.get(&id).and_then(|status| status.version.parse().ok()),
        }
    }
}

/// A client URL may lead to another member: a load balancer, or a copied configuration.
fn is_of(status: &StatusResponse, member: &etcdserverpb::Member) -> bool {
    status.header.as_ref().is_some_and(|header| header.member_id == member.id)
}

/// Whether a member has a leader, and nothing to complain of but alarms, which are asked for by themselves.
fn is_well(status: &StatusResponse) -> bool {
    status.leader != 0 && !status.errors.iter().any(|error| error.contains("no leader"))
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
