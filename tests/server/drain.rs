//! The end of a server, and that nothing is lost by it.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::judges::{Gate, Gated};
use super::support::client::{Client, Options, connect, connect_with, plain, post};
use super::support::process::spawn;
use super::support::{SOON, accepted, review_of, start, until};

const CLIENTS: usize = 64;

/// What the clients of a drain share.
struct Field {
    /// Where new connections go: to the server that is to end, until that says so.
    first: SocketAddr,
    second: SocketAddr,
    tls: Arc<rustls::ClientConfig>,
    over: AtomicBool,
    moved: AtomicUsize,
}

/// Posts without a pause; goes over to the second server when the first says `Connection: close`.
async fn client(field: Arc<Field>) -> usize {
    let mut connection = connect_with(Arc::clone(&field.tls), "localhost", field.first).await.unwrap();
    let mut answered = 0;
    while !field.over.load(Ordering::SeqCst) {
        let answer =
            connection.post("/validate", &accepted()).await.expect("an accepted request is answered");
        assert!(answer.allowed());
        answered += 1;
        if answer.closes() {
            connection = connect_with(Arc::clone(&field.tls), "localhost", field.second).await.unwrap();
            field.moved.fetch_add(1, Ordering::SeqCst);
        }
    }
    answered
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_busy_clients_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["--drain-time", "1s", "--audit", "off"];
    let mut first = spawn(directory.path(), &arguments);
    let second = spawn(directory.path(), &arguments);
    let tls = Arc::new(Options::new(&first.ca).config());
    let field = Arc::new(Field {
        first: first.https,
        second: second.https,
        tls,
        over: false.into(),
        moved: 0.into(),
    });
    let clients: Vec<_> = (0..CLIENTS).map(|_| tokio::spawn(client(Arc::clone(&field)))).collect();
    until("all are at work", async || connections(first.probes).await == CLIENTS).await;
    first.signal(Signal::TERM);
    until("all have moved", async || field.moved.load(Ordering::SeqCst) == CLIENTS).await;
    assert!(tokio::task::spawn_blocking(move || first.status()).await.unwrap().success());
    field.over.store(true, Ordering::SeqCst);
    for client in clients {
        assert!(client.await.unwrap() > 1);
    }
}

async fn connections(probes: SocketAddr) -> usize {
    let metrics = plain(probes, "/metrics").await.body;
    let line = metrics.lines().find_map(|line| line.strip_prefix("etcd_warden_connections "));
    line.unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_in_flight_is_answered_after_accepting_has_ended() {
    let gate = Arc::new(Gate::default());
    let judge = Arc::new(Gated(Arc::clone(&gate)));
    let server = start(|config| config.judge = judge);
    let (https, ca) = (server.addresses.https, server.ca.clone());
    let long = review_of(1, "held", &"x".repeat(300 * 1024));
    let held = tokio::spawn(async move { post(https, &ca, "/validate?timeout=30s", &long).await });
    until("it is in flight", async || {
        server.metric("controller_runtime_webhook_requests_in_flight{webhook=\"/validate\"}").await == 1
    })
    .await;
    server.stopper.drain();
    until("nobody listens", async || TcpStream::connect(https).await.is_err()).await;
    assert_eq!(server.probe("/livez").await.status, 200, "the plain port stays to the end");
    gate.open();
    assert!(held.await.unwrap().allowed());
    assert!(timeout(SOON, server.done).await.unwrap().unwrap().is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_before_its_first_request_is_waited_for() {
    let server = start(|_| {});
    let https = server.addresses.https;
    let shaken = connect(https, &server.ca).await;
    let silent = TcpStream::connect(https).await.unwrap();
    until("both are held", async || server.metric("etcd_warden_connections").await == 2).await;
    server.stopper.drain();
    until("nobody listens", async || TcpStream::connect(https).await.is_err()).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!server.done.is_finished());
    for mut client in [shaken, handshake(silent, &server.ca).await] {
        let answer = client.post("/validate", &accepted()).await.unwrap();
        assert!(answer.allowed() && answer.closes());
    }
    assert!(timeout(SOON, server.done).await.unwrap().unwrap().is_ok());
}

async fn handshake(socket: TcpStream, ca: &Path) -> Client {
    let connector = tokio_rustls::TlsConnector::from(Arc::new(Options::new(ca).config()));
    let name = rustls::pki_types::ServerName::try_from("localhost").unwrap();
    Client { stream: connector.connect(name, socket).await.unwrap() }
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_say_nothing_hold_the_end_up_for_a_bounded_time() {
    let server = start(|config| {
        config.limits.handshake = Duration::from_millis(200);
        config.limits.first_request = Duration::from_millis(200);
    });
    let _silent = TcpStream::connect(server.addresses.https).await.unwrap();
    let _shaken = connect(server.addresses.https, &server.ca).await;
    server.stopper.drain();
    assert!(timeout(SOON, server.done).await.unwrap().unwrap().is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_do_not_hold_the_end_up() {
    let server = start(|_| {});
    let mut idle = connect(server.addresses.https, &server.ca).await;
    assert!(idle.post("/validate", &accepted()).await.unwrap().allowed());
    server.stopper.drain();
    assert!(timeout(SOON, server.done).await.unwrap().unwrap().is_ok());
    assert!(idle.closed().await);
}

#[test]
fn a_second_signal_ends_at_once() {
    for (second, status) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let directory = tempfile::tempdir().unwrap();
        let mut server = spawn(directory.path(), &["--drain-time", "1h", "--audit", "off"]);
        server.signal(Signal::TERM);
        wait_until_not_ready(server.probes);
        server.signal(second);
        assert_eq!(server.status().code(), Some(status));
    }
}

fn wait_until_not_ready(probes: SocketAddr) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(until("not ready", async || plain(probes, "/readyz").await.status == 503));
}

#[test]
fn interrupt_drains_too() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = spawn(directory.path(), &["--drain-time", "0s"]);
    server.signal(Signal::INT);
    assert_eq!(server.status().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_longer_than_the_grace_is_cut_and_said() {
    let gate = Arc::new(Gate::default());
    let judge = Arc::new(Gated(Arc::clone(&gate)));
    let server = start(|config| {
        config.judge = judge;
        config.shutdown_grace = Duration::from_millis(100);
        config.limits.handshake = Duration::from_millis(500);
        config.limits.first_request = Duration::from_millis(500);
    });
    let mut client = connect(server.addresses.https, &server.ca).await;
    let long = review_of(1, "held", &"x".repeat(300 * 1024));
    let held = tokio::spawn(async move { client.post("/validate?timeout=30s", &long).await });
    until("it is in flight", async || {
        server.metric("controller_runtime_webhook_requests_in_flight{webhook=\"/validate\"}").await == 1
    })
    .await;
    // It is the connection's first request: the wait for it is bounded too.
    server.stopper.drain();
    let ended = timeout(SOON * 2, server.done).await.unwrap().unwrap();
    assert!(ended.is_err_and(|error| error.to_string().contains("--shutdown-grace")));
    assert!(held.await.unwrap().is_err());
    gate.open();
}
