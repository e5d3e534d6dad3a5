//! The program under load: requests a second, and its resident memory at rest, after a tenth and at the end.
//!
//! `cargo bench --bench server` sends a million reviews over 16 kept TLS connections; `REVIEWS=100000` fewer.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::panic,
    unreachable_pub,
    reason = "a benchmark"
)]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

#[path = "../tests/support/mod.rs"]
mod support;

use support::client::{Options, connect_with};
use support::process::spawn;

const CONNECTIONS: usize = 16;

/// Resident memory of a process, in kB.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

async fn load(https: SocketAddr, ca: PathBuf, reviews: usize) {
    let tls = Arc::new(Options::new(&ca).config());
    let senders: Vec<_> = (0..CONNECTIONS)
        .map(|number| {
            let tls = Arc::clone(&tls);
            tokio::spawn(async move {
                let mut client = connect_with(tls, "localhost", https).await.unwrap();
                for sent in 0..reviews / CONNECTIONS {
                    // Every hundredth is refused, and has an audit record.
                    let review = if sent % 100 == number { support::rejected() } else { support::accepted() };
                    assert_eq!(client.post("/validate", &review).await.unwrap().status, 200);
                }
            })
        })
        .collect();
    for sender in senders {
        sender.await.unwrap();
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    // `cargo test --benches` only wants to know that it builds.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let reviews: usize = std::env::var("REVIEWS").map_or(1_000_000, |text| text.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let server = spawn(directory.path(), &["--audit-log", "audit.log", "--audit-max-size", "8Mi"]);
    let pid = server.child.id();
    let at_rest = resident(pid);
    load(server.https, server.ca.clone(), reviews / 10).await;
    let after_a_tenth = resident(pid);
    let started = Instant::now();
    load(server.https, server.ca.clone(), reviews - reviews / 10).await;
    #[allow(clippy::cast_precision_loss, reason = "a figure to be read")]
    let rate = (reviews - reviews / 10) as f64 / started.elapsed().as_secs_f64();
    let at_the_end = resident(pid);
    println!("{reviews} reviews, {rate:.0} a second");
    println!("resident: {at_rest} kB at rest, {after_a_tenth} kB after a tenth, {at_the_end} kB at the end");
    #[allow(clippy::cast_precision_loss, reason = "a figure to be read")]
    let growth = at_the_end as f64 / after_a_tenth as f64;
    println!("end ÷ tenth: {growth:.2}");
}
