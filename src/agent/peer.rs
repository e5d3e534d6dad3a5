//! What etcd's peer port answers, asked as another member asks it: HTTP/1.1, with this member's peer certificate. It
//! tells the cluster and the versions without a quorum, and whether etcd itself will get through.

use std::convert::Infallible;
use std::error::Error;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::HOST;
use hyper::{HeaderMap, Request};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use url::{Host, Url};

use crate::member::{ClusterId, TlsFiles};

use super::fault::Fault;
use super::tls::Mounted;
use super::version::Release;

/// For the connection, its handshake and both answers.
const ANSWER: Duration = Duration::from_secs(3);
/// Longest answer that is read, in bytes: a list of the largest clusters has a few thousand.
const ANSWER_MAX: usize = 256 << 10;
/// Header with the cluster's id, in every answer about members.
const CLUSTER: &str = "x-etcd-cluster-id";

/// What answers at a peer URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The URL.
    pub url: String,
    /// The cluster that it is a member of.
    pub cluster: ClusterId,
    /// Release of its etcd.
    pub release: Option<Release>,
    /// Version of its cluster: the lowest minor of all members; absent until a cluster has decided on it.
    pub cluster_version: Option<Release>,
}

/// The answer to `/version`.
#[derive(Debug, Deserialize)]
struct Versions {
    etcdserver: String,
    etcdcluster: String,
}

/// Asks what answers at a peer URL.
pub async fn ask(mounted: &Mounted, url: &str) -> Result<Peer, Fault> {
    let asked = timeout(ANSWER, dial(mounted, url)).await;
    asked.unwrap_or_else(|_| Err(Fault::late(url, ANSWER)))
}

async fn dial(mounted: &Mounted, url: &str) -> Result<Peer, Fault> {
    let odd = || Fault::odd(url, "it is no URL of a host and a port");
    let parsed = Url::parse(url).map_err(|_| odd())?;
    let (host, port) = parsed.host().zip(parsed.port_or_known_default()).ok_or_else(odd)?;
    let secured = if parsed.scheme() == "https" { Some(secured(mounted, &host, url)?) } else { None };
    let connected = match &host {
        Host::Domain(name) => TcpStream::connect((*name, port)).await,
        Host::Ipv4(address) => TcpStream::connect((*address, port)).await,
        Host::Ipv6(address) => TcpStream::connect((*address, port)).await,
    };
    let stream = connected.map_err(|error| Fault::of_peer(url, &error))?;
    match secured {
        None => talk(url, stream).await,
        Some((connector, name)) => {
            let stream = connector.connect(name, stream).await;
            talk(url, stream.map_err(|error| Fault::of_peer(url, &error))?).await
        }
    }
}

fn secured(
    mounted: &Mounted,
    host: &Host<&str>,
    url: &str,
) -> Result<(TlsConnector, ServerName<'static>), Fault> {
    let name = match host {
        Host::Domain(name) => ServerName::try_from((*name).to_owned()),
        Host::Ipv4(address) => Ok(ServerName::from(std::net::IpAddr::V4(*address))),
        Host::Ipv6(address) => Ok(ServerName::from(std::net::IpAddr::V6(*address))),
    };
    let name = name.map_err(|_| Fault::odd(url, "a host that no certificate can be for"))?;
    let files = mounted.read(&TlsFiles::PEER).map_err(|error| Fault::of_setup(url, &error))?;
    // No protocol is offered: etcd's listener knows only HTTP/2 by name, and serves peers HTTP/1.1.
    let config = files.client_config().map_err(|error| Fault::of_setup(url, &error))?;
    Ok((TlsConnector::from(Arc::new(config)), name))
}

async fn talk<S>(url: &str, stream: S) -> Result<Peer, Fault>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let fault = |error: hyper::Error| Fault::of_peer(url, &error);
    let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(fault)?;
    let driven = async {
        // What went wrong is told to who waits for the answer.
        let _ = connection.await;
        pending::<Infallible>().await
    };
    tokio::select! {
        peer = answers(url, sender) => peer,
        never = driven => match never {},
    }
}

async fn answers(url: &str, mut sender: SendRequest<Empty<&'static [u8]>>) -> Result<Peer, Fault> {
    let (head, _) = get(url, &mut sender, "/members").await?;
    let cluster =
        cluster(&head).ok_or_else(|| Fault::odd(url, "a list of members without a cluster's id"))?;
    let (_, body) = get(url, &mut sender, "/version").await?;
    let versions: Versions =
        serde_json::from_slice(&body).map_err(|error| Fault::odd(url, &error.to_string()))?;
    Ok(Peer {
        url: url.to_owned(),
        cluster,
        release: versions.etcdserver.parse().ok(),
        cluster_version: versions.etcdcluster.parse().ok(),
    })
}

fn cluster(head: &HeaderMap) -> Option<ClusterId> {
    head.get(CLUSTER)?.to_str().ok()?.parse().ok()
}

async fn get(
    url: &str,
    sender: &mut SendRequest<Empty<&'static [u8]>>,
    path: &str,
) -> Result<(HeaderMap, Vec<u8>), Fault> {
    let odd = |error: &dyn Error| Fault::odd(url, &error.to_string());
    let host = url.split("://").nth(1).unwrap_or_default();
    let request = Request::get(path).header(HOST, host).body(Empty::new()).map_err(|error| odd(&error))?;
    sender.ready().await.map_err(|error| Fault::of_peer(url, &error))?;
    let answer = sender.send_request(request).await.map_err(|error| Fault::of_peer(url, &error))?;
    if !answer.status().is_success() {
        let what = format!("{path} is answered {}, which a peer URL of etcd is not", answer.status());
        return Err(Fault::odd(url, &what));
    }
    let (head, body) = answer.into_parts();
    let body = Limited::new(body, ANSWER_MAX).collect().await.map_err(|error| odd(error.as_ref()))?;
    Ok((head.headers, body.to_bytes().to_vec()))
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::get;
    use tokio::net::TcpListener;

    use super::*;
    use crate::agent::fault::Kind;
    use crate::member::Why;

    fn nothing_mounted() -> Mounted {
        Mounted::below(std::path::Path::new("/nonexistent"))
    }

    async fn serve(router: Router) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        url
    }

    fn members(id: &'static str) -> Router {
        Router::new().route("/members", get(move || async move { ([(CLUSTER, id)], "[]") }))
    }

    #[tokio::test]
    async fn a_peer_says_its_cluster_and_versions() {
        let versions = r#"{"etcdserver":"3.6.16","etcdcluster":"3.5.0","storage":"3.5.0"}"#;
        let url = serve(members("cdf818194e3a8c32").route("/version", get(move || async move { versions })));
        let url = url.await;
        let peer = Peer {
            url: url.clone(),
            cluster: ClusterId(0xcdf8_1819_4e3a_8c32),
            release: "3.6.16".parse().ok(),
            cluster_version: "3.5.0".parse().ok(),
        };
        assert_eq!(ask(&nothing_mounted(), &url).await, Ok(peer));
    }

    #[tokio::test]
    async fn a_version_that_was_not_decided_is_none() {
        let versions = r#"{"etcdserver":"3.6.16","etcdcluster":"not_decided"}"#;
        let url = serve(members("c1").route("/version", get(move || async move { versions }))).await;
        assert_eq!(ask(&nothing_mounted(), &url).await.unwrap().cluster_version, None);
    }

    #[tokio::test]
    async fn what_is_no_peer_is_named() {
        let client_port = serve(Router::new()).await;
        let fault = ask(&nothing_mounted(), &client_port).await.unwrap_err().to_string();
        assert!(fault.contains(&client_port) && fault.contains("404"), "{fault}");
        let fault = ask(&nothing_mounted(), &serve(members("")).await).await.unwrap_err().to_string();
        assert!(fault.contains("cluster's id"), "{fault}");
    }

    #[tokio::test]
    async fn nobody_there_and_nobody_who_answers() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let fault = ask(&nothing_mounted(), &url).await.unwrap_err();
        assert!(fault.to_string().contains("no answer within 3 s"), "{fault}");
        drop(listener);
        let fault = ask(&nothing_mounted(), &url).await.unwrap_err();
        assert_eq!((fault.kind, fault.why()), (Kind::Unreachable, Why::Unreachable), "{fault}");
    }

    #[tokio::test]
    async fn without_mounted_certificates_the_file_is_named() {
        let fault = ask(&nothing_mounted(), "https://127.0.0.1:1").await.unwrap_err();
        assert_eq!(fault.why(), Why::Certificate);
        assert!(fault.to_string().contains("peer/ca/ca.crt"), "{fault}");
    }
}
