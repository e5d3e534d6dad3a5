//! What a join waits for: named, with the remedy; nothing changes at the source, and the join goes on by itself where the
//! cause is mended.

use etcd_warden::member::{Report, Volume, Why};

use super::shop::{Shop, etcd};
use super::source::Traits;
use super::writer::{Writer, until};

/// One target that has not started, and a source of so many members.
async fn beside(count: u8) -> Option<Shop> {
    let binary = etcd("3.6")?;
    let mut shop = Shop::open(1, &binary).await;
    shop.source(count, &binary).await;
    Some(shop)
}

/// Nothing of the target is in the source, or on its volume.
#[track_caller]
fn nothing_happened(shop: &Shop, count: u8) {
    let sources: Vec<String> = (1..=count).map(Shop::source_name).collect();
    assert_eq!(shop.members(&shop.source_url(1)), (sources, Vec::new()));
    assert!(!shop.volume(0).join("etcd.conf.yaml").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_member_that_the_spec_leaves_out_is_named() {
    let Some(mut shop) = beside(3).await else { return };
    let whole = shop.config.source.clone();
    shop.config.source.as_mut().unwrap().members.remove("source-2");
    shop.render();
    shop.start(0);
    shop.until_waiting(0, Why::SourceDiffers, &["source-2", "add it"]).await;
    nothing_happened(&shop, 3);
    shop.config.source = whole;
    shop.render();
    shop.until_voter(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_differs_is_named() {
    let Some(mut shop) = beside(1).await else { return };
    let members = &mut shop.config.source.as_mut().unwrap().members;
    let urls = members.remove("source-1").unwrap();
    members.insert("source-one".to_owned(), urls);
    shop.render();
    shop.start(0);
    shop.until_waiting(0, Why::SourceDiffers, &["source-1 (", "by the name source-one"]).await;
    nothing_happened(&shop, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn endpoints_of_another_cluster_are_named_and_that_one_is_not_joined() {
    let Some(mut shop) = beside(1).await else { return };
    let meant = shop.source_spec(3).members.split_off("source-2");
    shop.config.source.as_mut().unwrap().members = meant;
    shop.render();
    shop.start(0);
    let words = ["lead to another cluster", "source-1 (", "source-2 (", "correct clientEndpoints"];
    shop.until_waiting(0, Why::SourceDiffers, &words).await;
    nothing_happened(&shop, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_url_among_the_endpoints_is_named_and_the_own_service_is_not() {
    let Some(mut shop) = beside(1).await else { return };
    let url = shop.source_peer_url(1);
    shop.config.source.as_mut().unwrap().client_endpoints = vec![url.clone()];
    shop.render();
    shop.start(0);
    let mistake = format!("{url} is the peer URL of source-1");
    let said = shop.until_waiting(0, Why::Unreachable, &[&mistake, "2379"]).await;
    assert!(said.starts_with(&format!("waits for {url}: ")) && !said.contains("main-client"), "{said}");
    nothing_happened(&shop, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unhealthy_voter_is_named_and_waited_for() {
    let Some(mut shop) = beside(3).await else { return };
    let binary = shop.etcd.clone();
    let writer = Writer::to_source(&shop, 2);
    shop.stop_source(3);
    shop.start(0);
    let words = ["2 of 3", "source-3", &shop.source_url(3), "refused"];
    shop.until_waiting(0, Why::Unhealthy, &words).await;
    nothing_happened(&shop, 3);
    shop.start_source(3, 3, &binary, Traits::default());
    shop.until_voter(0).await;
    writer.lost_nothing(&shop, &shop.client_url(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_two_minors_behind_is_left_alone() {
    let (Some(old), Some(new)) = (etcd("3.5"), etcd("3.7")) else { return };
    let mut shop = Shop::open(1, &new).await;
    shop.source(1, &old).await;
    shop.start(0);
    shop.until_waiting(0, Why::Version, &["has etcd 3.7.", "use an image of 3.5 or 3.6"]).await;
    nothing_happened(&shop, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_learner_of_somebody_else_is_named_and_left_alone() {
    let Some(mut shop) = beside(1).await else { return };
    let source = shop.source_url(1);
    let stale = ["member", "add", "stale", "--learner", "--peer-urls", "http://192.0.2.1:2380"];
    // etcd refuses it for the first seconds of a source.
    until("took the learner", || shop.try_etcdctl(&source, &stale).status.success());
    shop.start(0);
    let message = shop.until_waiting(0, Why::OtherLearner, &["etcdctl member remove"]).await;
    let id = message.rsplit(' ').next().unwrap().to_owned();
    shop.etcdctl(&source, &["member", "remove", &id]);
    shop.until_voter(0).await;
    assert_eq!(shop.members(&source).0, ["main-0", "source-1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_whose_own_peer_url_a_source_member_holds_stops_and_names_it() {
    let Some(mut shop) = beside(1).await else { return };
    let source = shop.source_url(1);
    let listed = shop.etcdctl(&source, &["member", "list"]);
    let id = listed.split(',').next().unwrap().to_owned();
    let urls = format!("{},{}", shop.source_peer_url(1), shop.config.peer_urls(0)[0]);
    shop.etcdctl(&source, &["member", "update", &id, "--peer-urls", &urls]);
    shop.start(0);
    shop.until_waiting(0, Why::Collision, &["source-1", &shop.config.peer_urls(0)[0]]).await;
    nothing_happened(&shop, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_data_volume_stops_a_join_until_it_is_taken_away() {
    let Some(binary) = etcd("3.6") else { return };
    let mut other = Shop::open(1, &binary).await;
    let foreign = other.form().await;
    other.end(0, rustix::process::Signal::TERM);
    let Some(mut shop) = beside(1).await else { return };
    super::files::copy(&other.volume(0).join("new.etcd"), &shop.volume(0).join("new.etcd"));
    shop.start(0);
    let words = ["holds data of member", &foreign.to_string(), "delete the claim"];
    shop.until_waiting(0, Why::ForeignData, &words).await;
    nothing_happened(&shop, 1);
    std::fs::remove_dir_all(shop.volume(0).join("new.etcd")).unwrap();
    shop.until_voter(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_volume_that_only_root_may_write_is_named_with_the_remedy() {
    use std::os::unix::fs::PermissionsExt as _;
    let Some(mut shop) = beside(1).await else { return };
    shop.user = Some(65532);
    // The test's directory is root's alone, and stands above the volume.
    std::fs::set_permissions(shop.directory(), std::fs::Permissions::from_mode(0o755)).unwrap();
    shop.start(0);
    let volume = shop.volume(0).display().to_string();
    shop.until_waiting(0, Why::Configuration, &["user 65532", &volume, "spec.runAsRoot"]).await;
    nothing_happened(&shop, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_learner_that_voters_can_t_reach_is_taken_out_and_joins_anew() {
    let Some(mut shop) = beside(1).await else { return };
    shop.hidden = true;
    shop.hosts_of_source();
    let writer = Writer::to_source(&shop, 1);
    shop.start(0);
    let taken_out = |report: &Report| {
        let waiting = report.waiting.as_ref();
        waiting.is_some_and(|waiting| waiting.message.contains("it took itself out as member"))
    };
    let report = shop.until(0, "took itself out", taken_out).await;
    let message = report.waiting.unwrap().message;
    assert!(message.contains("no connection to its peer URL comes from source-1"), "{message}");
    shop.hidden = false;
    shop.hosts_of_source();
    let after = shop.until_voter(0).await;
    assert_ne!(after.id, report.id);
    assert_eq!(shop.members(&shop.source_url(1)).0, ["main-0", "source-1"]);
    writer.lost_nothing(&shop, &shop.client_url(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_learner_whose_data_is_damaged_is_copied_anew() {
    let Some(mut shop) = beside(1).await else { return };
    shop.hidden = true;
    shop.hosts_of_source();
    shop.start(0);
    let before = shop.until(0, "was started", |report| matches!(report.volume, Volume::Data { .. })).await;
    let database = shop.volume(0).join("new.etcd/member/snap/db");
    until("had a database", || database.exists());
    shop.end(0, rustix::process::Signal::KILL);
    std::fs::write(&database, "no database").unwrap();
    shop.hidden = false;
    shop.hosts_of_source();
    shop.start(0);
    let after = shop.until_voter(0).await;
    assert_ne!(after.id, before.id);
    assert!(shop.volume(0).join("new.etcd.aside").exists());
    assert_eq!(
        shop.members(&shop.source_url(1)),
        (vec!["main-0".to_owned(), "source-1".to_owned()], Vec::new())
    );
}
