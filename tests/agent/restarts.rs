//! A restart is never a membership change; a lost disk is a new member.

use etcd_warden::member::{LEAVE, Leave, Role, Volume, Why};
use rustix::process::Signal;

use super::shop::{Shop, etcd};

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_the_id_and_needs_no_api_server() {
    let Some(binary) = etcd("3.6") else { return };
    let mut shop = Shop::open(1, &binary).await;
    shop.form().await;
    shop.etcdctl(&shop.client_url(0), &["put", "k", "kept"]);
    let before = shop.report(0).unwrap();
    shop.end(0, Signal::TERM);
    shop.api.set_away(true);
    shop.start(0);
    let read = || shop.etcdctl(&shop.client_url(0), &["get", "k", "--print-value-only"]);
    let deadline = std::time::Instant::now() + super::shop::SOON;
    while !shop.probe(0, "/readyz").await.is_some_and(|answer| answer.starts_with("HTTP/1.1 200")) {
        assert!(std::time::Instant::now() < deadline, "never ready");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(read().trim(), "kept");
    shop.api.set_away(false);
    let after = shop.until_voter(0).await;
    assert_eq!((after.id, after.cluster), (before.id, before.cluster));
    assert!(matches!(after.volume, Volume::Data { starts: 2, .. }), "{after:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_hands_over_before_it_stops() {
    let Some(binary) = etcd("3.6") else { return };
    let mut shop = Shop::open(3, &binary).await;
    shop.form().await;
    let leads = |shop: &Shop, ordinal| shop.report(ordinal).unwrap().role == Some(Role::Leader);
    let leader = (0..3).find(|ordinal| leads(&shop, *ordinal)).unwrap();
    let log = shop.log(leader);
    shop.end(leader, Signal::TERM);
    let said = std::fs::read_to_string(log).unwrap();
    assert!(said.contains("handed leadership over"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_disk_of_one_of_three_is_replaced_by_a_new_member() {
    let Some(binary) = etcd("3.6") else { return };
    let mut shop = Shop::open(3, &binary).await;
    let cluster = shop.form().await;
    shop.etcdctl(&shop.client_url(0), &["put", "k", "kept"]);
    let before = shop.report(2).unwrap().id;
    shop.end(2, Signal::KILL);
    std::fs::remove_dir_all(shop.volume(2)).unwrap();
    shop.start(2);
    let after = shop.until_voter(2).await;
    assert_eq!(after.cluster, Some(cluster));
    assert_ne!(after.id, before);
    assert_eq!(shop.members(&shop.client_url(2)).0, ["main-0", "main-1", "main-2"]);
    assert_eq!(shop.etcdctl(&shop.client_url(2), &["get", "k", "--print-value-only"]).trim(), "kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_leaves_on_the_loops_word_and_stays_down() {
    let Some(binary) = etcd("3.6") else { return };
    let mut shop = Shop::open(3, &binary).await;
    shop.form().await;
    let member = shop.report(1).unwrap().id.unwrap();
    shop.api.annotate("main-1", LEAVE, &serde_json::to_string(&Leave { member }).unwrap());
    let left = shop.until(1, "left", |report| report.left).await;
    assert_eq!(left.waiting.map(|waiting| waiting.why), Some(Why::Removed));
    assert_eq!(shop.members(&shop.client_url(0)).0, ["main-0", "main-2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_while_nothing_changes() {
    let Some(binary) = etcd("3.6") else { return };
    let mut shop = Shop::open(1, &binary).await;
    shop.form().await;
    let before = shop.api.writes();
    // Longer than a settled member's looks are apart.
    tokio::time::sleep(std::time::Duration::from_secs(25)).await;
    assert_eq!(shop.api.writes(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_older_than_the_cluster_is_not_started_though_the_volume_forgot_what_ran_on_it() {
    let (Some(old), Some(new)) = (etcd("3.5"), etcd("3.6")) else { return };
    let mut shop = Shop::open(3, &new).await;
    shop.form().await;
    shop.until_agreed("3.6").await;
    let before = shop.report(2).unwrap().id;
    shop.end(2, Signal::TERM);
    std::fs::remove_file(shop.volume(2).join("etcd-warden.json")).unwrap();
    shop.etcd = old;
    shop.start(2);
    shop.until_waiting(2, Why::Version, &["the cluster has version 3.6", "use an image of 3.6 or 3.7"]).await;
    shop.end(2, Signal::TERM);
    shop.etcd = new;
    shop.start(2);
    assert_eq!(shop.until_voter(2).await.id, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_voter_that_is_down_is_listed_as_unwell_by_the_others() {
    let Some(binary) = etcd("3.6") else { return };
    let mut shop = Shop::open(1, &binary).await;
    shop.source(3, &binary).await;
    shop.start(0);
    let unwell = |report: &etcd_warden::member::Report| {
        let unwell = report.members.iter().filter(|member| member.unwell);
        unwell.map(|member| member.name.clone()).collect::<Vec<_>>()
    };
    assert!(unwell(&shop.until_voter(0).await).is_empty());
    shop.stop_source(2);
    shop.until(0, "listed it as unwell", |report| unwell(report) == ["source-2"]).await;
    shop.start_source(2, 3, &binary, super::source::Traits::default());
    shop.until(0, "listed all as well", |report| unwell(report).is_empty()).await;
}

/// etcd 3.7 ends at requests of the v2 API, which 3.5 writes when it starts: the log of a member that came from there holds
/// them until 3.6 takes a snapshot.
#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_the_next_minor_cannot_read_is_reported_until_a_snapshot_takes_its_place() {
    let (Some(old), Some(new), Some(next)) = (etcd("3.5"), etcd("3.6"), etcd("3.7")) else { return };
    let mut shop = Shop::open(1, &old).await;
    shop.form().await;
    shop.end(0, Signal::TERM);
    shop.etcd = new;
    shop.start(0);
    shop.until(0, "told what its log holds", |report| report.holds_v2 == Some(true)).await;

    shop.end(0, Signal::TERM);
    shop.config.etcd.snapshot_count = 10;
    shop.render();
    shop.start(0);
    shop.until_voter(0).await;
    for _ in 0..20 {
        shop.etcdctl(&shop.client_url(0), &["put", "k", "kept"]);
    }
    shop.until(0, "told that it holds it no more", |report| report.holds_v2 == Some(false)).await;
    shop.end(0, Signal::TERM);
    shop.etcd = next;
    shop.start(0);
    let report = shop.until_voter(0).await;
    assert_eq!(report.holds_v2, None, "3.7 runs on no other log");
    assert_eq!(shop.etcdctl(&shop.client_url(0), &["get", "k", "--print-value-only"]).trim(), "kept");
}
