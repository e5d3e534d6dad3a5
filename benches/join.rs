//! Three targets join three sources: by agents, and beside it by hand.
//!
//! `cargo bench --bench join` prints for both when each member became a voter, and the ratio of the whole. By hand means
//! a sequence of `etcdctl` commands and etcd processes without a pause that waits for what agents wait for: etcd takes
//! the add, the learner knows the leader and is at most 100 entries behind it, twice a second apart, and it answers a
//! linearizable read once it votes. Needs root, and etcd as `tests/cluster/bed build` makes it.
#![allow(
    missing_docs,
    unreachable_pub,
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark"
)]
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::print_stdout, reason = "a benchmark")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::Value;

#[path = "../tests/agent/api.rs"]
mod api;
#[path = "../tests/agent/files.rs"]
mod files;
#[path = "../tests/agent/shop.rs"]
mod shop;
#[path = "../tests/agent/source.rs"]
mod source;

use shop::{SOON, Shop, etcd};

const RUNS: usize = 3;
/// etcd refuses changes of a membership in its first 5 s.
const SETTLED: Duration = Duration::from_secs(6);
/// As agents have it.
const BEHIND_MAX: u64 = 100;

/// When each member had become a voter.
type Times = Vec<Duration>;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let Some(binary) = etcd("3.6") else { return };
    let mut ratios = Vec::new();
    for run in 1..=RUNS {
        let by_hand = runtime.block_on(by_hand(&binary));
        let by_agents = runtime.block_on(by_agents(&binary));
        let ratio = whole(&by_agents) / whole(&by_hand);
        println!("run {run}: by hand {}, by agents {}: {ratio:.2}", shown(&by_hand), shown(&by_agents));
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    println!("median: {:.2}", ratios[RUNS / 2]);
}

fn whole(times: &Times) -> f64 {
    times.iter().max().unwrap().as_secs_f64()
}

fn shown(times: &Times) -> String {
    let mut times = times.clone();
    times.sort();
    times.iter().map(|time| format!("{:.1} s", time.as_secs_f64())).collect::<Vec<_>>().join(", ")
}

async fn beside_sources(binary: &Path) -> Shop {
    let mut shop = Shop::open(3, binary).await;
    shop.source(3, binary).await;
    tokio::time::sleep(SETTLED).await;
    shop
}

async fn by_agents(binary: &Path) -> Times {
    let mut shop = beside_sources(binary).await;
    let began = Instant::now();
    for ordinal in 0..3 {
        shop.start(ordinal);
    }
    let shop = &shop;
    join_all((0..3).map(|ordinal| async move {
        shop.until_voter(ordinal).await;
        began.elapsed()
    }))
    .await
}

async fn by_hand(binary: &Path) -> Times {
    let mut shop = beside_sources(binary).await;
    let began = Instant::now();
    let mut times = Times::new();
    for ordinal in 0..3 {
        let initial_cluster = added(&shop, ordinal);
        start(&mut shop, ordinal, &initial_cluster);
        let id = caught_up(&shop, ordinal).await;
        repeat(&shop, &shop.source_url(1), &["member", "promote", &id]);
        repeat(&shop, &shop.client_url(ordinal), &["get", "before"]);
        times.push(began.elapsed());
    }
    times
}

/// Starts a target's member as a person would, with what `etcdctl member add` printed.
fn start(shop: &mut Shop, ordinal: u32, initial_cluster: &str) {
    let script = "mount --bind \"$1\" /etc/hosts && shift && exec setpriv --pdeathsig KILL -- \"$@\"";
    let listen = |port: u16| format!("http://{}:{port}", shop.address(ordinal));
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh"]).arg(shop.hosts_of_source());
    command.arg(shop.etcd.join("etcd")).args(["--name", &shop.config.member(ordinal)]);
    command.args(["--initial-cluster", initial_cluster, "--initial-cluster-state", "existing"]);
    command.arg("--data-dir").arg(shop.volume(ordinal));
    command.args(["--listen-peer-urls", &listen(2380), "--listen-client-urls", &listen(2379)]);
    command.args(["--listen-metrics-urls", &listen(2381)]);
    command.args(["--advertise-client-urls", &shop.config.client_url(ordinal)]);
    command.args(["--initial-advertise-peer-urls", &shop.config.peer_urls(ordinal).join(",")]);
    let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    shop.sources.insert(200 + u8::try_from(ordinal).unwrap(), process);
}

/// `ETCD_INITIAL_CLUSTER`, as `etcdctl member add` prints it.
fn added(shop: &Shop, ordinal: u32) -> String {
    let urls = shop.config.peer_urls(ordinal).join(",");
    let name = shop.config.member(ordinal);
    let said =
        repeat(shop, &shop.source_url(1), &["member", "add", &name, "--learner", "--peer-urls", &urls]);
    let line = said.lines().find_map(|line| line.strip_prefix("ETCD_INITIAL_CLUSTER=")).unwrap();
    line.trim_matches('"').to_owned()
}

/// A command until it succeeds.
fn repeat(shop: &Shop, endpoint: &str, arguments: &[&str]) -> String {
    let deadline = Instant::now() + SOON;
    loop {
        let output = shop.try_etcdctl(endpoint, arguments);
        if output.status.success() {
            return String::from_utf8(output.stdout).unwrap();
        }
        assert!(Instant::now() < deadline, "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The id of a learner that has held the conditions of a promotion for a second.
async fn caught_up(shop: &Shop, ordinal: u32) -> String {
    let deadline = Instant::now() + SOON;
    let mut held: Option<Instant> = None;
    loop {
        let seen = in_step(shop, ordinal);
        match (&seen, held) {
            (Some(id), Some(since)) if since.elapsed() >= Duration::from_secs(1) => return id.clone(),
            (Some(_), None) => held = Some(Instant::now()),
            (None, _) => held = None,
            (Some(_), Some(_)) => {}
        }
        assert!(Instant::now() < deadline, "main-{ordinal} never caught up");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The id of a learner that knows the leader and is close to it.
fn in_step(shop: &Shop, ordinal: u32) -> Option<String> {
    let sources = (1..=3).map(|number| shop.source_url(number));
    let endpoints = sources.chain([shop.client_url(ordinal)]).collect::<Vec<_>>().join(",");
    let said = shop.try_etcdctl(&endpoints, &["endpoint", "status", "-w", "json"]);
    let statuses: Vec<Value> = serde_json::from_slice(&said.stdout).ok()?;
    let status = |index: usize| statuses.get(index).map(|entry| &entry["Status"]);
    let (learner, own) = (status(3)?, status(3)?["header"]["member_id"].as_u64()?);
    let leader = learner["leader"].as_u64().filter(|leader| *leader != 0)?;
    let leads = statuses
        .iter()
        .map(|entry| &entry["Status"])
        .find(|status| status["header"]["member_id"] == leader)?;
    let applied = |status: &Value| status["raftAppliedIndex"].as_u64();
    let behind = applied(leads)?.saturating_sub(applied(learner)?);
    (behind <= BEHIND_MAX && leads["raftTerm"] == learner["raftTerm"]).then(|| format!("{own:x}"))
}
