//! Members join an existing cluster, one at a time, and it never becomes two.

use etcd_warden::member::{Report, Why};
use rustix::process::Signal;

use super::shop::{Shop, etcd};

#[tokio::test(flavor = "multi_thread")]
async fn three_targets_join_three_sources() {
    let Some(binary) = etcd("3.6") else { return };
    let mut shop = Shop::open(3, &binary).await;
    shop.source(3, &binary).await;
    for ordinal in 0..3 {
        shop.start(ordinal);
    }
    for ordinal in 0..3 {
        shop.until_voter(ordinal).await;
    }
    let all = ["main-0", "main-1", "main-2", "source-1", "source-2", "source-3"];
    let (voters, learners) = shop.members(&shop.client_url(0));
    assert_eq!((voters, learners), (all.map(str::to_owned).to_vec(), Vec::new()));
    let value = shop.etcdctl(&shop.client_url(2), &["get", "before", "--print-value-only"]);
    assert_eq!(value.trim(), "the join");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_joins_one_source_that_is_a_minor_older() {
    let (Some(old), Some(new)) = (etcd("3.5"), etcd("3.6")) else { return };
    let mut shop = Shop::open(1, &new).await;
    shop.source(1, &old).await;
    shop.start(0);
    let report = shop.until_voter(0).await;
    assert_eq!(report.members.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn source_unreachable_at_first_start_then_reachable() {
    let Some(binary) = etcd("3.6") else { return };
    let mut shop = Shop::open(1, &binary).await;
    let endpoint = format!("http://{}:2379", shop.source_address(1));
    shop.config.source = Some(etcd_warden::member::Source {
        members: [("source-1".to_owned(), vec![format!("http://{}:2380", shop.source_address(1))])].into(),
        client_endpoints: vec![endpoint.clone()],
    });
    shop.render();
    shop.start(0);
    let waits =
        |report: &Report| report.waiting.as_ref().is_some_and(|waiting| waiting.why == Why::Unreachable);
    let report = shop.until(0, "waited for the source", waits).await;
    assert!(report.waiting.unwrap().message.contains(&endpoint));
    assert!(!shop.volume(0).join("new.etcd").exists());
    shop.source(1, &binary).await;
    shop.until_voter(0).await;
    assert_eq!(shop.members(&endpoint).0, ["main-0", "source-1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_member_that_the_spec_leaves_out_is_named() {
    let Some(binary) = etcd("3.6") else { return };
    let mut shop = Shop::open(1, &binary).await;
    shop.source(3, &binary).await;
    shop.config.source.as_mut().unwrap().members.remove("source-2");
    shop.render();
    shop.start(0);
    let differs =
        |report: &Report| report.waiting.as_ref().is_some_and(|waiting| waiting.why == Why::SourceDiffers);
    let report = shop.until(0, "named the member", differs).await;
    assert!(report.waiting.unwrap().message.contains("source-2"));
    let source = format!("http://{}:2379", shop.source_address(1));
    assert_eq!(shop.members(&source).0, ["source-1", "source-2", "source-3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn scaling_out_is_a_join_against_oneself() {
    let Some(binary) = etcd("3.6") else { return };
    let mut shop = Shop::open(1, &binary).await;
    let cluster = shop.form().await;
    shop.config.replicas = 3;
    shop.render();
    for ordinal in 1..3 {
        shop.start(ordinal);
    }
    for ordinal in 1..3 {
        assert_eq!(shop.until_voter(ordinal).await.cluster, Some(cluster));
    }
    assert_eq!(shop.members(&shop.client_url(0)).0, ["main-0", "main-1", "main-2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_killed_while_it_joins_completes() {
    let Some(binary) = etcd("3.6") else { return };
    let mut shop = Shop::open(1, &binary).await;
    shop.source(1, &binary).await;
    // Once before it is added, once when it has an id, once as it catches up.
    let moments: [fn(&Report) -> bool; 3] =
        [|_| true, |report| report.id.is_some(), |report| report.role.is_some()];
    for moment in moments {
        shop.start(0);
        shop.until(0, "got so far", moment).await;
        shop.end(0, Signal::KILL);
    }
    shop.start(0);
    shop.until_voter(0).await;
    let source = format!("http://{}:2379", shop.source_address(1));
    assert_eq!(shop.members(&source), (vec!["main-0".to_owned(), "source-1".to_owned()], Vec::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_learner_of_somebody_else_is_named_and_left_alone() {
    let Some(binary) = etcd("3.6") else { return };
    let mut shop = Shop::open(1, &binary).await;
    shop.source(1, &binary).await;
    let source = format!("http://{}:2379", shop.source_address(1));
    let stale = ["member", "add", "stale", "--learner", "--peer-urls", "http://192.0.2.1:2380"];
    // etcd refuses it for the first seconds of a source.
    let deadline = std::time::Instant::now() + super::shop::SOON;
    while !shop.try_etcdctl(&source, &stale).status.success() {
        assert!(std::time::Instant::now() < deadline, "the learner was never added");
    }
    shop.start(0);
    let named =
        |report: &Report| report.waiting.as_ref().is_some_and(|waiting| waiting.why == Why::OtherLearner);
    let report = shop.until(0, "named the learner", named).await;
    let message = report.waiting.unwrap().message;
    let id = message.rsplit(' ').next().unwrap().to_owned();
    assert!(message.contains("etcdctl member remove"), "{message}");
    shop.etcdctl(&source, &["member", "remove", &id]);
    shop.until_voter(0).await;
    assert_eq!(shop.members(&source).0, ["main-0", "source-1"]);
}
