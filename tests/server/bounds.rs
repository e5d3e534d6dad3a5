//! Everything that gets no review, and what it gets instead.

use std::sync::Arc;
use std::time::Duration;

use super::judges::{Gate, Gated, Panicking};
use super::support::client::{Answer, Client, connect, post};
use super::support::{accepted, rejected, review_of, start, until};

const BODY_BYTES: usize = 7 * 1024 * 1024;

/// That an answer is a text that ends in a newline and names what to do.
fn says(answer: &Answer, status: u16, part: &str) {
    assert_eq!(answer.status, status, "{answer:?}");
    assert!(answer.body.ends_with('\n') && answer.body.contains(part), "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
}

#[tokio::test(flavor = "multi_thread")]
async fn reviews_are_answered_on_one_connection() {
    let server = start(|_| {});
    let mut client = connect(server.addresses.https, &server.ca).await;
    for path in ["/validate", "/mutate", "/validate?timeout=10s"] {
        let answer = client.post(path, &accepted()).await.unwrap();
        assert!(answer.allowed(), "{answer:?}");
        assert!(!answer.closes());
    }
    let answer = client.post("/validate", &rejected()).await.unwrap();
    assert_eq!((answer.status, answer.allowed()), (200, false));
    assert_eq!(answer.header("content-type"), Some("application/json"));
}

#[tokio::test(flavor = "multi_thread")]
async fn other_paths_methods_and_types_are_told_what_to_do() {
    let server = start(|_| {});
    let mut client = connect(server.addresses.https, &server.ca).await;
    for path in ["/", "/validate/", "/healthz", "/Validate"] {
        says(&client.post(path, &accepted()).await.unwrap(), 404, "/validate or /mutate");
    }
    for method in ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        let request = format!("{method} /validate HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
        client.send(request.as_bytes()).await.unwrap();
        let answer = client.answer().await.unwrap();
        says(&answer, 405, "POST");
        assert_eq!(answer.header("allow"), Some("POST"), "{method}");
    }
    says(&client.post_as("/validate", "text/yaml", &accepted()).await.unwrap(), 415, "application/json");
    let parameters = "application/json; charset=utf-8";
    assert!(client.post_as("/validate", parameters, &accepted()).await.unwrap().allowed());
}

#[tokio::test(flavor = "multi_thread")]
async fn connect_and_strange_targets_leave_the_server_well() {
    let server = start(|_| {});
    for request in [
        "CONNECT localhost:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST http://elsewhere/validate HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
        "NONSENSE\r\n\r\n",
        "POST /validate HTTP/9.9\r\n\r\n",
    ] {
        let mut client = connect(server.addresses.https, &server.ca).await;
        client.send(request.as_bytes()).await.unwrap();
        // Some get an answer, some only the end of their connection.
        if let Ok(answer) = client.answer().await {
            assert!((400..500).contains(&answer.status), "{request}: {answer:?}");
        }
    }
    assert!(post(server.addresses.https, &server.ca, "/validate", &accepted()).await.allowed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_no_review_is_counted() {
    let server = start(|_| {});
    for body in ["", "no json", "{"] {
        says(&post(server.addresses.https, &server.ca, "/validate", body).await, 400, "AdmissionReview");
    }
    assert_eq!(server.metric("etcd_warden_malformed_total").await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_says_it_is_too_long_is_not_read() {
    let server = start(|_| {});
    let mut client = connect(server.addresses.https, &server.ca).await;
    let length = BODY_BYTES + 1;
    let head = format!(
        "POST /validate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    client.send(head.as_bytes()).await.unwrap();
    says(&client.answer().await.unwrap(), 413, "7340032");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chunked_body_is_bounded_all_the_same() {
    let server = start(|_| {});
    let mut client = connect(server.addresses.https, &server.ca).await;
    client.send(CHUNKED).await.unwrap();
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 20, "x".repeat(1 << 20));
    for _ in 0..8 {
        client.send(chunk.as_bytes()).await.unwrap();
    }
    client.send(b"0\r\n\r\n").await.unwrap();
    says(&client.answer().await.unwrap(), 413, "7340032");
    // What was read to the end leaves the connection in order.
    assert!(client.post("/validate", &accepted()).await.unwrap().allowed());
}

const CHUNKED: &[u8] =
    b"POST /validate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn chunks_make_a_whole_review() {
    let server = start(|_| {});
    let mut client = connect(server.addresses.https, &server.ca).await;
    client.send(CHUNKED).await.unwrap();
    for part in rejected().as_bytes().chunks(100) {
        client.send(format!("{:x}\r\n", part.len()).as_bytes()).await.unwrap();
        client.send(part).await.unwrap();
        client.send(b"\r\n").await.unwrap();
    }
    client.send(b"0\r\n\r\n").await.unwrap();
    assert!(!client.answer().await.unwrap().allowed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_nearly_7_mib_is_judged() {
    let server = start(|_| {});
    let note = "x".repeat(BODY_BYTES - 2000);
    let answer = post(server.addresses.https, &server.ca, "/validate", &review_of(-1, "long", &note)).await;
    assert_eq!((answer.status, answer.allowed()), (200, false));
    // A record that takes longer than a review may comes after its answer.
    until("the record is written", async || server.audit().contains("\"uid\":\"long\"")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_comes_too_slowly_gets_408() {
    let server = start(|_| {});
    let mut client = connect(server.addresses.https, &server.ca).await;
    client.send(b"POST /validate?timeout=400ms HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{").await.unwrap();
    let answer = client.answer().await.unwrap();
    says(&answer, 408, "timeout");
    assert!(answer.closes());
    assert!(client.closed().await);
    assert_eq!(server.metric("etcd_warden_deadline_exceeded_total").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_past_the_deadline_is_a_refusal_with_504() {
    let gate = Arc::new(Gate::default());
    let judge = Arc::new(Gated(Arc::clone(&gate)));
    let server = start(|config| config.judge = judge);
    // Long enough to be decided beside the workers, which the gate would hold otherwise.
    let body = review_of(1, "late", &"x".repeat(300 * 1024));
    let answer = post(server.addresses.https, &server.ca, "/validate?timeout=300ms", &body).await;
    assert_eq!(answer.status, 200);
    let review: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(review["response"]["status"]["code"], 504, "{review}");
    assert_eq!(review["response"]["uid"], "late");
    assert!(post(server.addresses.https, &server.ca, "/mutate?timeout=300ms", &body).await.allowed());
    assert_eq!(server.metric("etcd_warden_deadline_exceeded_total").await, 2);
    gate.open();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_costs_one_answer() {
    let server = start(|config| config.judge = Arc::new(Panicking));
    let mut client = connect(server.addresses.https, &server.ca).await;
    for note in ["panic".to_owned(), format!("panic{}", "x".repeat(300 * 1024))] {
        let answer = client.post("/validate", &review_of(1, "u", &note)).await.unwrap();
        says(&answer, 500, "defect");
        assert!(client.post("/validate", &accepted()).await.unwrap().allowed());
    }
    assert_eq!(server.metric("controller_runtime_webhook_panics_total").await, 2);
    assert_eq!(
        server.metric("controller_runtime_webhook_requests_in_flight{webhook=\"/validate\"}").await,
        0
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_have_a_size() {
    let server = start(|_| {});
    let mut long = connect(server.addresses.https, &server.ca).await;
    let head = format!("POST /validate HTTP/1.1\r\nHost: a\r\nX-Long: {}\r\n\r\n", "x".repeat(256 * 1024));
    // The server may close before it has read all of it.
    let _ = long.send(head.as_bytes()).await;
    if let Ok(answer) = long.answer().await {
        assert_eq!(answer.status, 431);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_request_has_its_time() {
    let server = start(|config| config.limits.first_request = Duration::from_millis(200));
    let mut silent = connect(server.addresses.https, &server.ca).await;
    assert!(silent.closed().await);
    let mut slow = connect(server.addresses.https, &server.ca).await;
    slow.send(b"POST /validate HTTP/1.1\r\nHo").await.unwrap();
    assert!(slow.closed().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_connection_has_its_time() {
    let server = start(|config| config.limits.idle = Duration::from_millis(200));
    let mut idle = connect(server.addresses.https, &server.ca).await;
    assert!(idle.post("/validate", &accepted()).await.unwrap().allowed());
    assert!(idle.closed().await, "nothing comes");
    let mut slow = connect(server.addresses.https, &server.ca).await;
    assert!(slow.post("/validate", &accepted()).await.unwrap().allowed());
    slow.send(b"POST /validate HTTP/1.1\r\nHo").await.unwrap();
    assert!(slow.closed().await, "a head that never ends");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_shorter_than_it_says_ends_with_its_connection() {
    let server = start(|_| {});
    let Client { mut stream } = connect(server.addresses.https, &server.ca).await;
    tokio::io::AsyncWriteExt::write_all(&mut stream, b"POST /validate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{}").await.unwrap();
    drop(stream);
    until("the request is over", async || {
        server.metric("controller_runtime_webhook_requests_in_flight{webhook=\"/validate\"}").await == 0
    })
    .await;
}
