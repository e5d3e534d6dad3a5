//! The plain port.

use super::support::client::{connect, plain, post};
use super::support::{accepted, rejected, start, until};

#[tokio::test(flavor = "multi_thread")]
async fn live_ready_and_counted_from_the_start() {
    let server = start(|_| {});
    let live = server.probe("/livez").await;
    assert_eq!((live.status, live.body.as_str()), (200, "alive\n"));
    let ready = server.probe("/readyz").await;
    assert_eq!((ready.status, ready.body.as_str()), (200, "ready\n"));
    let verbose = server.probe("/readyz?verbose").await.body;
    assert_eq!(verbose, "[+] certificate: ok\n[+] serving: ok\n[+] audit: ok\nready\n");
    let lost = server.probe("/validate").await;
    assert_eq!((lost.status, lost.body.contains("/readyz?verbose")), (404, true));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_metric_is_there_before_the_first_review() {
    let server = start(|_| {});
    let metrics = server.probe("/metrics").await;
    assert!(metrics.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    assert!(metrics.body.ends_with("# EOF\n"));
    for series in [
        "controller_runtime_webhook_latency_seconds_bucket{le=\"0.00005\",webhook=\"/validate\"} 0",
        "controller_runtime_webhook_requests_total{webhook=\"/mutate\",code=\"503\"} 0",
        "controller_runtime_webhook_requests_in_flight{webhook=\"/validate\"} 0",
        "controller_runtime_webhook_panics_total 0",
        "certwatcher_read_certificate_total ",
        "certwatcher_read_certificate_errors_total 0",
        "etcd_warden_certificate_not_after_seconds ",
        "etcd_warden_decisions_total{webhook=\"/validate\",operation=\"DELETE\",resource=\"etcds\",decision=\"rejected\"} 0",
        "etcd_warden_rule_violations_total{rule=\"",
        "etcd_warden_warnings_total{id=\"",
        "etcd_warden_body_bytes_count 0",
        "etcd_warden_shed_total 0",
        "etcd_warden_deadline_exceeded_total 0",
        "etcd_warden_malformed_total 0",
        "etcd_warden_connections 0",
        "etcd_warden_handshake_failures_total{reason=\"tls\"} 0",
        "etcd_warden_audit_records_written_total 0",
        "etcd_warden_audit_records_failed_total{reason=\"queue_full\"} 0",
        "etcd_warden_audit_rotations_total 0",
        "etcd_warden_ready 1",
        "etcd_warden_build_info{version=\"",
    ] {
        assert!(metrics.body.lines().any(|line| line.starts_with(series)), "{series} in\n{}", metrics.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reviews_are_counted_by_what_came_of_them() {
    let server = start(|_| {});
    let mut client = connect(server.addresses.https, &server.ca).await;
    client.post("/validate", &accepted()).await.unwrap();
    client.post("/validate", &rejected()).await.unwrap();
    client.post("/mutate", &rejected()).await.unwrap();
    let decisions = |webhook: &str, decision: &str| {
        format!(
            "etcd_warden_decisions_total{{webhook=\"{webhook}\",operation=\"CREATE\",resource=\"etcds\",decision=\"{decision}\"}}"
        )
    };
    assert_eq!(server.metric(&decisions("/validate", "allowed")).await, 1);
    assert_eq!(server.metric(&decisions("/validate", "rejected")).await, 1);
    assert_eq!(server.metric(&decisions("/mutate", "found")).await, 1);
    let answered = "controller_runtime_webhook_requests_total{webhook=\"/validate\",code=\"200\"}";
    assert_eq!(server.metric(answered).await, 2);
    assert_eq!(server.metric("etcd_warden_connections").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_an_audit_log_has_no_condition_for_it() {
    let server = start(|config| config.audit = None);
    assert!(!post(server.addresses.https, &server.ca, "/validate", &rejected()).await.allowed());
    assert!(!server.probe("/readyz?verbose").await.body.contains("audit"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_told_server_is_not_ready_while_it_drains() {
    let server = start(|config| config.drain_time = super::support::SOON);
    let mut client = connect(server.addresses.https, &server.ca).await;
    assert!(!client.post("/validate", &accepted()).await.unwrap().closes());
    server.stopper.drain();
    until("not ready", async || plain(server.addresses.probes, "/readyz").await.status == 503).await;
    assert!(server.probe("/readyz").await.body.contains("draining"));
    assert_eq!(server.metric("etcd_warden_ready").await, 0);
    assert_eq!(server.probe("/livez").await.status, 200);
    let last = client.post("/validate", &accepted()).await.unwrap();
    assert!(last.allowed() && last.closes());
    assert!(client.closed().await);
    let new = post(server.addresses.https, &server.ca, "/validate", &accepted()).await;
    assert!(new.allowed() && new.closes(), "it accepts while it drains");
}
