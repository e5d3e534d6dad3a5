//! What was rejected is in the log, and nothing that happens to the log changes an answer.

use std::collections::HashSet;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use etcd_warden::admission::{Audited, Enforcement};
use etcd_warden::audit::{Rotation, Target};
use etcd_warden::rules::Settings;
use etcd_warden::server::{Config, Rules};

use super::support::client::{Options, connect, connect_with, post};
use super::support::process::spawn;
use super::support::{accepted, rejected, review_of, start, until};

fn records(log: &str) -> Vec<serde_json::Value> {
    log.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn target(config: &mut Config, target: Target, required: bool) {
    config.audit = Some(etcd_warden::server::Audit { target, required });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejection_is_written_before_its_answer_and_nothing_else() {
    let server = start(|_| {});
    let mut client = connect(server.addresses.https, &server.ca).await;
    client.post("/validate", &accepted()).await.unwrap();
    client.post("/validate", &rejected()).await.unwrap();
    let log = records(&server.audit());
    assert_eq!(log.len(), 1);
    let record = &log[0];
    assert_eq!((&record["stage"], &record["decision"]), (&"validate".into(), &"rejected".into()));
    assert_eq!(record["object"]["name"], "main");
    let time = record["time"].as_str().unwrap();
    assert!(time.len() == 24 && time.ends_with('Z'), "milliseconds and UTC: {time}");
    assert!(record["durationMicros"].as_u64().unwrap() > 0);
    assert_eq!(server.metric("etcd_warden_audit_records_written_total").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_decision_is_written_where_all_are_wanted() {
    let judge = Arc::new(Rules::new(Settings::default(), Audited::All));
    let server = start(|config| config.judge = judge);
    for body in [accepted(), rejected()] {
        post(server.addresses.https, &server.ca, "/validate", &body).await;
    }
    assert_eq!(records(&server.audit()).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn mutate_writes_an_object_once() {
    let server = start(|_| {});
    let mut client = connect(server.addresses.https, &server.ca).await;
    for _ in 0..3 {
        assert!(client.post("/mutate", &rejected()).await.unwrap().allowed());
    }
    let log = records(&server.audit());
    assert_eq!((log.len(), &log[0]["decision"]), (1, &"found".into()));
    for _ in 0..3 {
        client.post("/validate", &rejected()).await.unwrap();
    }
    assert_eq!(records(&server.audit()).len(), 4, "every refusal is written");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_changes_no_answer() {
    for required in [false, true] {
        let rotation = Rotation { max_bytes: 1 << 20, max_files: 1 };
        let server = start(|config| target(config, Target::File("/dev/full".into(), rotation), required));
        assert_eq!(server.probe("/readyz").await.status, 200);
        assert!(!post(server.addresses.https, &server.ca, "/validate", &rejected()).await.allowed());
        let report = server.probe("/readyz?verbose").await;
        assert_eq!(report.status, if required { 503 } else { 200 });
        assert!(report.body.contains("audit: degraded") != required, "{report:?}");
        assert_eq!(server.metric("etcd_warden_audit_records_failed_total{reason=\"io\"}").await, 1);
        assert!(post(server.addresses.https, &server.ca, "/validate", &accepted()).await.allowed());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_hangs_stops_no_review() {
    let directory = tempfile::tempdir().unwrap();
    // A pipe whose reader does not read: it takes 64 KiB, then every write hangs.
    let pipe = directory.path().join("pipe");
    rustix_mkfifo(&pipe);
    let reader = fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    let rotation = Rotation { max_bytes: 1 << 20, max_files: 1 };
    let server = start(|config| target(config, Target::File(pipe, rotation), true));
    let mut client = connect(server.addresses.https, &server.ca).await;
    let long = review_of(-1, "hangs", &"x".repeat(200 * 1024));
    let began = Instant::now();
    assert!(!client.post("/validate", &long).await.unwrap().allowed());
    assert!(began.elapsed() >= Duration::from_millis(900), "it waits a second");
    assert_eq!(server.metric("etcd_warden_audit_records_failed_total{reason=\"timeout\"}").await, 1);
    assert_eq!(server.probe("/readyz").await.status, 503);
    for _ in 0..10 {
        assert!(client.post("/validate", &accepted()).await.unwrap().allowed());
    }
    let began = Instant::now();
    let answer = client.post("/validate?timeout=400ms", &rejected()).await.unwrap();
    assert!(!answer.allowed());
    assert!(began.elapsed() < Duration::from_millis(900), "no longer than its deadline");
    std::thread::spawn(move || std::io::copy(&mut &reader, &mut std::io::sink()));
    until("it is written in the end", async || server.probe("/readyz").await.status == 200).await;
}

fn rustix_mkfifo(path: &std::path::Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_rotated_under_load() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("audit.log");
    let rotation = Rotation { max_bytes: 20_000, max_files: 100 };
    let server = start(|config| target(config, Target::File(log, rotation), false));
    let mut client = connect(server.addresses.https, &server.ca).await;
    for number in 0..100 {
        client.post("/validate", &review_of(-1, &format!("number-{number}"), "")).await.unwrap();
    }
    let mut seen = HashSet::new();
    for entry in fs::read_dir(directory.path()).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        seen.extend(records(&text).into_iter().map(|record| record["uid"].to_string()));
    }
    assert_eq!(seen.len(), 100);
    assert!(server.metric("etcd_warden_audit_rotations_total").await >= 1);
}

/// What a client was told by a server that is then killed.
async fn reject_until_killed(
    number: usize,
    https: SocketAddr,
    ca: PathBuf,
    answers: Arc<AtomicUsize>,
) -> Vec<String> {
    let tls = Arc::new(Options::new(&ca).config());
    let mut client = connect_with(tls, "localhost", https).await.unwrap();
    let mut told = Vec::new();
    loop {
        let uid = format!("{number}-{}", told.len());
        let Ok(answer) = client.post("/validate", &review_of(-1, &uid, "")).await else { return told };
        assert!(!answer.allowed());
        told.push(uid);
        answers.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answered_rejection_survives_kill() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("audit.log");
    let arguments = ["--audit-log", "audit.log"];
    let mut server = spawn(directory.path(), &arguments);
    let answers = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..16)
        .map(|number| {
            tokio::spawn(reject_until_killed(number, server.https, server.ca.clone(), Arc::clone(&answers)))
        })
        .collect();
    until("there is load", async || answers.load(Ordering::SeqCst) > 1000).await;
    server.child.kill().unwrap();
    let mut told = Vec::new();
    for client in clients {
        told.extend(client.await.unwrap());
    }
    server.child.wait().unwrap();
    let text = fs::read_to_string(&log).unwrap();
    let whole = &text[..=text.rfind('\n').unwrap()];
    let written: HashSet<String> =
        records(whole).into_iter().map(|record| record["uid"].as_str().unwrap().to_owned()).collect();
    for uid in &told {
        assert!(written.contains(uid), "{uid} was answered");
    }
    // A line that the end tore off is gone after the next start.
    fs::write(&log, format!("{whole}{{\"torn\":")).unwrap();
    let _again = spawn(directory.path(), &arguments);
    assert_eq!(fs::read_to_string(&log).unwrap(), whole);
}

#[tokio::test(flavor = "multi_thread")]
async fn under_warn_a_violation_is_counted_and_recorded_and_let_in() {
    let rules =
        Rules { enforcement: Enforcement::Warn, ..Rules::new(Settings::default(), Audited::Rejections) };
    let server = start(|config| config.judge = Arc::new(rules));
    let answer = post(server.addresses.https, &server.ca, "/validate", &rejected()).await;
    assert!(answer.allowed() && answer.body.contains("would be refused: spec.replicas: "), "{}", answer.body);
    let labels = |decision: &str| {
        format!(
            "etcd_warden_decisions_total{{webhook=\"/validate\",operation=\"CREATE\",resource=\"etcds\",decision=\"{decision}\"}}"
        )
    };
    assert_eq!(server.metric(&labels("warned")).await, 1);
    assert_eq!(server.metric(&labels("rejected")).await, 0);
    let record: serde_json::Value = serde_json::from_str(server.audit().trim()).unwrap();
    assert_eq!((record["decision"].as_str(), record["enforcement"].as_str()), (Some("warned"), Some("warn")));
    assert_eq!(record["violations"][0]["rule"], "replicas-range");
}
