//! The authority that signs certificates of members and clients is exchanged for another one, under writes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use crate::harness::certificates::{secrets, sign, trust, until_mounted, with_tls};
use crate::harness::{Etcd, Follow, IMAGE_3_6, Installed, Namespace, Writer, eventually, spec};
use crate::support::pem::{Authority, Pair};

const SOON: Duration = Duration::from_mins(4);
const PODS: [&str; 3] = ["main-0", "main-1", "main-2"];
/// Where a member finds whom its peers and its clients are signed by, and where the writer does.
const TRUSTED: [&str; 2] = ["/var/etcd/ssl/peer/ca/ca.crt", "/var/etcd/ssl/ca/ca.crt"];

/// In the order in which users are told to do it: both are trusted, then the new one signs, then it alone is trusted.
#[test]
fn a_changed_authority_restarts_members_one_by_one_the_leader_last_and_loses_no_write() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    let (old, new) = (Authority::new("old CA"), Authority::new("new CA"));
    secrets(&shop, "main", &old);
    let main = Etcd::create(&shop, "main", &with_tls(spec(3, IMAGE_3_6)));
    main.until_ready();
    let formed = main.members(0);
    let writer = Writer::start(&shop, "https://main-client:2379", Some("client"));

    restarts(&main, || mounted(&shop, &trust(&shop, &[&old, &new])));
    assert_eq!(main.members(0), formed, "a restart is no membership change");
    let [server, client] = sign(&shop, "main", &new);
    for pod in PODS {
        until_mounted(&shop, pod, "/var/etcd/ssl/peer/server/tls.crt", &server);
        until_mounted(&shop, pod, "/var/etcd/ssl/server/tls.crt", &server);
        until_mounted(&shop, pod, "/var/etcd/ssl/client/tls.crt", &client);
    }
    until_mounted(&shop, "writer", "/tls/tls.crt", &client);
    restarts(&main, || mounted(&shop, &trust(&shop, &[&new])));
    assert_eq!(main.members(2), formed);

    let outdated = old.sign("client");
    eventually(SOON, "what the old authority has signed is refused for that", || {
        // etcd has closed the connection sometimes before its reason was read.
        let said = get_as(&shop, &outdated).expect_err("it is let in");
        if said.contains("tls: unknown certificate authority") { Ok(()) } else { Err(said) }
    });
    get_as(&shop, &new.sign("client")).unwrap();
    let (written, refused) = writer.nothing_is_lost_by(&main, 1);
    assert!(written > 20, "{written} writes; refused: {refused}");
}

/// The leader, which is the last one, has it first.
fn mounted(shop: &Namespace<'_>, bundle: &str) {
    until_mounted(shop, "writer", "/tls/ca.crt", bundle);
    for pod in PODS.into_iter().rev() {
        for path in TRUSTED {
            until_mounted(shop, pod, path, bundle);
        }
    }
}

/// Has the last member lead, does something that has all of them restarted, and watches how.
fn restarts(main: &Etcd<'_>, cause: impl FnOnce()) {
    let all: Vec<String> = (0..3).map(|ordinal| main.client_url(ordinal)).collect();
    main.lead(2, &all);
    let term = raft_term(main);
    let label = "--selector=app.kubernetes.io/part-of=main";
    let watch = Follow::start(main.shop, &["get", "pods", "--watch", label, READINESS]);
    eventually(SOON, "pods are watched", || watch.said().contains("main-2@"));
    let logs =
        PODS.map(|pod| (pod, Follow::start(main.shop, &["logs", "--follow", pod, "--container=etcd"])));
    let before: Vec<Value> = (0..3).map(|ordinal| main.pod_uid(ordinal)).collect();
    cause();
    eventually(SOON, "each pod is another one", || {
        let said = main.condition("AllMembersUpdated");
        let is_another = |ordinal: u32| {
            let uid = main.pod_uid(ordinal);
            !uid.is_null() && !before.contains(&uid)
        };
        if (0..3).all(is_another) { Ok(()) } else { Err(format!("{said:?}")) }
    });
    main.until_ready();
    let order = one_at_a_time(&watch.said());
    assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), 3, "{order:?}");
    assert_eq!(order.len(), 3, "none is restarted twice: {order:?}");
    let leading = |(_, log): &&(&str, Follow)| log.said().contains("handed leadership over");
    let handed_over: Vec<&str> = logs.iter().filter(leading).map(|(pod, _)| *pod).collect();
    // A busy machine may have had them elect one meanwhile that was through already.
    let elections = raft_term(main) - term;
    let is_last = handed_over == order[2..] || (handed_over.is_empty() && elections > 1);
    assert!(is_last, "{handed_over:?} of {order:?} handed over, {elections} elections");
}

fn raft_term(main: &Etcd<'_>) -> u64 {
    main.endpoint_status(0)["raftTerm"].as_u64().unwrap()
}

/// Each pod whenever it changes: name, UID, since when it is on its way out, whether it is ready.
const READINESS: &str = r#"--output=jsonpath={.metadata.name}{"@"}{.metadata.uid}{"@"}{.metadata.deletionTimestamp}{"@"}{.status.conditions[?(@.type=="Ready")].status}{"\n"}"#;

/// Never is more than one away. Returns in which order they were made anew.
fn one_at_a_time(watch: &str) -> Vec<String> {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    let mut away: BTreeMap<&str, bool> = BTreeMap::new();
    let mut order = Vec::new();
    for line in watch.lines() {
        let [pod, uid, ending, ready] = line.split('@').collect::<Vec<_>>()[..] else { panic!("{line}") };
        if seen.insert(pod, uid).is_some_and(|before| before != uid) {
            order.push(pod.to_owned());
        }
        away.insert(pod, !ending.is_empty() || ready != "True");
        assert!(away.values().filter(|away| **away).count() <= 1, "{away:?} in {watch}");
    }
    order
}

/// Reads a value with another certificate than the writer's own.
fn get_as(shop: &Namespace<'_>, pair: &Pair) -> Result<String, String> {
    // As arguments: what kubectl sends as standard input is lost where the command has begun before it is attached.
    let get = "printf %s \"$1\" >/tmp/other.crt && printf %s \"$2\" >/tmp/other.key && \
               ETCDCTL_CERT=/tmp/other.crt ETCDCTL_KEY=/tmp/other.key etcdctl --command-timeout=5s get written/1";
    shop.exec("writer", &["sh", "-c", get, "sh", &pair.chain, &pair.key]).attempt()
}
