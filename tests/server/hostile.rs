//! What comes to an open port.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::support::client::{Options, connect, post};
use super::support::{Running, accepted, start, until};

async fn still_answers(server: &Running) {
    assert!(post(server.addresses.https, &server.ca, "/validate", &accepted()).await.allowed());
}

/// Sends bytes without TLS and reads until the server closes.
async fn raw(server: &Running, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(server.addresses.https).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    // A reset is an end too.
    let _ = stream.read_to_end(&mut answer).await;
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_tls_is_turned_away_and_counted() {
    let server = start(|_| {});
    for bytes in [
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".as_slice(),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        &[0x16, 0x03, 0x01, 0x00, 0x05, 1, 2, 3, 4, 5],
        &[0xff; 4096],
    ] {
        let answer = raw(&server, bytes).await;
        assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    }
    let failed = "etcd_warden_handshake_failures_total{reason=\"tls\"}";
    until("four handshakes have failed", async || server.metric(failed).await == 4).await;
    still_answers(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handshake_has_its_time() {
    let server = start(|config| config.limits.handshake = Duration::from_millis(100));
    assert_eq!(raw(&server, &[0x16, 0x03, 0x01]).await, b"");
    let failed = "etcd_warden_handshake_failures_total{reason=\"timeout\"}";
    until("the handshake has timed out", async || server.metric(failed).await == 1).await;
    until("the connection is gone", async || server.metric("etcd_warden_connections").await == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_http2_preface_inside_tls_ends_the_connection() {
    let server = start(|_| {});
    let mut client = connect(server.addresses.https, &server.ca).await;
    client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    assert!(client.closed().await);
    still_answers(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_server_name_gets_the_certificate_that_there_is() {
    let server = start(|_| {});
    let options = Options { name: "elsewhere.example", ..Options::new(&server.ca) };
    // The client is the one to refuse.
    assert!(options.connect(server.addresses.https).await.is_err());
    let options = Options { name: "127.0.0.1", ..Options::new(&server.ca) };
    let mut without_name = options.connect(server.addresses.https).await.unwrap();
    assert!(without_name.post("/validate", &accepted()).await.unwrap().allowed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_silent_connections_hold_nobody_up() {
    let server = start(|_| {});
    let mut silent = Vec::new();
    for _ in 0..1000 {
        silent.push(TcpStream::connect(server.addresses.https).await.unwrap());
    }
    until("all are held", async || server.metric("etcd_warden_connections").await >= 1000).await;
    for _ in 0..20 {
        still_answers(&server).await;
    }
    drop(silent);
    until("all are gone", async || server.metric("etcd_warden_connections").await == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_byte_at_a_time_is_bounded_by_the_deadline() {
    let server = start(|_| {});
    let mut client = connect(server.addresses.https, &server.ca).await;
    client.send(b"POST /validate?timeout=500ms HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n").await.unwrap();
    let (mut read, mut write) = tokio::io::split(client.stream);
    let writing = tokio::spawn(async move {
        while write.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let mut answer = vec![0; 12];
    read.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, b"HTTP/1.1 408");
    writing.abort();
    still_answers(&server).await;
}
