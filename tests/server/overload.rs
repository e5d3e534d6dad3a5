//! More than the server takes at once.

use std::sync::Arc;
use std::time::Duration;

use super::judges::{Gate, Gated};
use super::support::client::{connect, post};
use super::support::{accepted, review_of, start, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_full_server_answers_503_at_once() {
    let gate = Arc::new(Gate::default());
    let judge = Arc::new(Gated(Arc::clone(&gate)));
    let server = start(|config| {
        config.judge = judge;
        config.limits.max_concurrent = 1;
    });
    let (https, ca) = (server.addresses.https, server.ca.clone());
    let long = review_of(1, "held", &"x".repeat(300 * 1024));
    let held = tokio::spawn(async move { post(https, &ca, "/validate?timeout=30s", &long).await });
    let in_flight = "controller_runtime_webhook_requests_in_flight{webhook=\"/validate\"}";
    until("one is being judged", async || server.metric(in_flight).await == 1).await;
    let mut client = connect(server.addresses.https, &server.ca).await;
    until("the place is taken", async || {
        let answer = client.post("/mutate", "no json, but it does not come to that").await.unwrap();
        let shed = answer.status == 503;
        assert!(!shed || (answer.header("retry-after") == Some("1") && answer.body.contains("try again")));
        assert!(!answer.closes());
        shed
    })
    .await;
    assert!(server.metric("etcd_warden_shed_total").await >= 1);
    gate.open();
    assert!(held.await.unwrap().allowed());
    until("the place is free", async || client.post("/validate", &accepted()).await.unwrap().status == 200)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_past_its_deadline_keeps_its_place() {
    let gate = Arc::new(Gate::default());
    let judge = Arc::new(Gated(Arc::clone(&gate)));
    let server = start(|config| {
        config.judge = judge;
        config.limits.max_concurrent = 1;
    });
    let long = review_of(1, "held", &"x".repeat(300 * 1024));
    let late = post(server.addresses.https, &server.ca, "/validate?timeout=200ms", &long).await;
    assert!(late.body.contains("504"), "{late:?}");
    let next = post(server.addresses.https, &server.ca, "/validate", &accepted()).await;
    assert_eq!(next.status, 503, "the thread is still at work");
    gate.open();
    until("the thread is done", async || {
        post(server.addresses.https, &server.ca, "/validate", &accepted()).await.status == 200
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_beyond_the_limit_wait() {
    let server = start(|config| config.limits.max_connections = 2);
    let mut first = connect(server.addresses.https, &server.ca).await;
    let second = connect(server.addresses.https, &server.ca).await;
    let (https, ca) = (server.addresses.https, server.ca.clone());
    let third = tokio::spawn(async move { post(https, &ca, "/validate", &accepted()).await });
    assert!(first.post("/validate", &accepted()).await.unwrap().allowed());
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!third.is_finished());
    drop(second);
    assert!(third.await.unwrap().allowed());
}
