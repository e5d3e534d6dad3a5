//! One endpoint of etcd: each call bounded in time, and no balancing, since each member answers for itself.

use std::time::Duration;

use tokio::time::timeout;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint as Dialled, Identity};
use tonic::{Request, Status};

use crate::member::{ClusterId, MemberId};

use super::fault::Fault;
use super::pb::etcdserverpb::cluster_client::ClusterClient;
use super::pb::etcdserverpb::kv_client::KvClient;
use super::pb::etcdserverpb::maintenance_client::MaintenanceClient;
use super::pb::etcdserverpb::{
    AlarmRequest, AlarmType, Member, MemberAddRequest, MemberListRequest, MemberPromoteRequest,
    MemberRemoveRequest, MoveLeaderRequest, RangeRequest, ResponseHeader, StatusRequest, StatusResponse,
};
use super::tls::Files;
use super::version::Release;

/// For a connection and its handshake.
const CONNECT: Duration = Duration::from_secs(3);
/// For what a member answers by itself.
const ANSWER: Duration = Duration::from_secs(3);
/// For what needs a quorum to be read.
const READ: Duration = Duration::from_secs(5);
/// For what changes the membership: longer than etcd itself waits (7 s), so that its own answer is heard.
const CHANGE: Duration = Duration::from_secs(10);

/// One endpoint.
#[derive(Clone, Debug)]
pub struct Endpoint {
    url: String,
    channel: Channel,
}

/// What a linearizable list shows.
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    /// The cluster.
    pub cluster: ClusterId,
    /// Its members.
    pub members: Vec<Member>,
}

impl Endpoint {
    /// An endpoint that nobody has dialled yet. With `name`, the certificate must be for it instead of the URL's host.
    pub fn new(url: &str, tls: Option<&Files>, name: Option<&str>) -> Result<Self, Fault> {
        let fault = |error: &dyn std::error::Error| Fault::of_setup(url, error);
        let dialled = Dialled::from_shared(url.to_owned()).map_err(|error| fault(&error))?;
        let dialled = dialled.connect_timeout(CONNECT);
        let dialled = match tls {
            Some(files) if url.starts_with("https:") => {
                dialled.tls_config(tls_config(files, name)).map_err(|error| fault(&error))?
            }
            _ => dialled,
        };
        Ok(Self { url: url.to_owned(), channel: dialled.connect_lazy() })
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What the member behind it says of itself.
    pub async fn status(&self) -> Result<StatusResponse, Fault> {
        let mut client = MaintenanceClient::new(self.channel.clone());
        self.answer(ANSWER, client.status(bounded(StatusRequest {}, ANSWER))).await
    }

    /// The members, as a quorum knows them. `release` is that of the member that is asked: before 3.5, only a
    /// linearizable read on the same connection makes the list a fresh one.
    pub async fn list(&self, release: Option<Release>) -> Result<List, Fault> {
        if release.is_none_or(|release| !release.is_since(5)) {
            self.read().await?;
        }
        let mut client = ClusterClient::new(self.channel.clone());
        let request = bounded(MemberListRequest { linearizable: true }, READ);
        let answer = self.answer(READ, client.member_list(request)).await?;
        Ok(List { cluster: self.cluster(answer.header)?, members: answer.members })
    }

    /// A linearizable read.
    pub async fn read(&self) -> Result<(), Fault> {
        let request = RangeRequest { key: b"\0".to_vec(), limit: 1, keys_only: true };
        let mut client = KvClient::new(self.channel.clone());
        self.answer(READ, client.range(bounded(request, READ))).await.map(drop)
    }

    /// Raised alarms, for a person.
    pub async fn alarms(&self) -> Result<Vec<String>, Fault> {
        let mut client = MaintenanceClient::new(self.channel.clone());
        let answer = self.answer(READ, client.alarm(bounded(AlarmRequest::default(), READ))).await?;
        let raised = answer.alarms.iter().filter(|alarm| alarm.alarm() != AlarmType::None);
        Ok(raised
            .map(|alarm| format!("{} at member {}", alarm.alarm().as_str_name(), MemberId(alarm.member_id)))
            .collect())
    }

    /// Adds a learner. Returns its id and the members with it.
    pub async fn add_learner(&self, peer_urls: Vec<String>) -> Result<(MemberId, List), Fault> {
        let mut client = ClusterClient::new(self.channel.clone());
        let request = bounded(MemberAddRequest { peer_urls, is_learner: true }, CHANGE);
        let answer = self.answer(CHANGE, client.member_add(request)).await?;
        let added = answer.member.ok_or_else(|| Fault::odd(&self.url, "an add without a member"))?;
        let list = List { cluster: self.cluster(answer.header)?, members: answer.members };
        Ok((MemberId(added.id), list))
    }

    /// Makes a learner a voter.
    pub async fn promote(&self, member: MemberId) -> Result<(), Fault> {
        let mut client = ClusterClient::new(self.channel.clone());
        let request = bounded(MemberPromoteRequest { id: member.0 }, CHANGE);
        self.answer(CHANGE, client.member_promote(request)).await.map(drop)
    }

    /// Removes a member.
    pub async fn remove(&self, member: MemberId) -> Result<(), Fault> {
        let mut client = ClusterClient::new(self.channel.clone());
        let request = bounded(MemberRemoveRequest { id: member.0 }, CHANGE);
        self.answer(CHANGE, client.member_remove(request)).await.map(drop)
    }

    /// Hands leadership over: to be asked of the leader only.
    pub async fn move_leader(&self, to: MemberId) -> Result<(), Fault> {
        let mut client = MaintenanceClient::new(self.channel.clone());
        let request = bounded(MoveLeaderRequest { target_id: to.0 }, READ);
        self.answer(READ, client.move_leader(request)).await.map(drop)
    }

    fn cluster(&self, header: Option<ResponseHeader>) -> Result<ClusterId, Fault> {
        let id = header.map(|header| header.cluster_id).filter(|id| *id != 0);
        id.map(ClusterId).ok_or_else(|| Fault::odd(&self.url, "an answer without a cluster's id"))
    }

    /// The time is bounded here too: what a request carries doesn't count while a handshake is waited for, and etcd
    /// takes connections long before it answers them.
    async fn answer<T>(
        &self,
        time: Duration,
        call: impl Future<Output = Result<tonic::Response<T>, Status>>,
    ) -> Result<T, Fault> {
        match timeout(time, call).await {
            Ok(Ok(answer)) => Ok(answer.into_inner()),
            Ok(Err(status)) => Err(Fault::of_status(&self.url, &status)),
            Err(_) => Err(Fault::late(&self.url, time)),
        }
    }
}

fn bounded<T>(message: T, time: Duration) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(time);
    request
}

fn tls_config(files: &Files, name: Option<&str>) -> ClientTlsConfig {
    let config = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(&files.ca))
        .identity(Identity::from_pem(&files.certificate, files.key.as_slice()));
    match name {
        Some(name) => config.domain_name(name),
        None => config,
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;
    use crate::agent::fault::Kind;

    fn files() -> Files {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::new(Vec::new()).unwrap().self_signed(&key).unwrap().pem();
        Files {
            ca: certificate.clone().into_bytes(),
            certificate: certificate.into_bytes(),
            key: zeroize::Zeroizing::new(key.serialize_pem().into_bytes()),
        }
    }

    #[tokio::test]
    async fn a_handshake_that_nobody_answers_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let endpoint = Endpoint::new(&url, Some(&files()), None).unwrap();
        let fault = timeout(ANSWER * 2, endpoint.status()).await.unwrap().unwrap_err();
        assert_eq!(fault.kind, Kind::Unknown);
    }
}
