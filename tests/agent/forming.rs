//! A cluster is formed, on the loop's word, once.

use etcd_warden::member::{FORM, Form, Volume, Why};
use rustix::process::Signal;

use super::shop::{Shop, etcd};

#[tokio::test(flavor = "multi_thread")]
async fn one_member_forms_a_cluster_and_serves_with_each_minor() {
    for minor in ["3.5", "3.6", "3.7"] {
        let Some(binary) = etcd(minor) else { return };
        let mut shop = Shop::open(1, &binary).await;
        let cluster = shop.form().await;
        let report = shop.report(0).unwrap();
        assert_eq!((report.took.as_deref(), report.cluster), (Some("uid-1/1"), Some(cluster)));
        // The write that takes the word says that nothing is waited for.
        let taking = shop.api.reports("main-0").into_iter().find(|report| report.took.is_some()).unwrap();
        assert_eq!(taking.waiting, None);
        assert!(report.etcd_version.as_ref().unwrap().starts_with(minor), "{report:?}");
        assert!(matches!(report.volume, Volume::Data { starts: 1, .. }), "{report:?}");
        assert_eq!(shop.members(&shop.client_url(0)).0, ["main-0"]);
        assert!(shop.probe(0, "/readyz").await.unwrap().starts_with("HTTP/1.1 200"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn three_members_form_one_cluster() {
    let Some(binary) = etcd("3.6") else { return };
    let mut shop = Shop::open(3, &binary).await;
    let cluster = shop.form().await;
    let clusters = (0..3).map(|ordinal| shop.report(ordinal).unwrap().cluster.unwrap());
    assert_eq!(clusters.collect::<Vec<_>>(), [cluster; 3]);
    assert_eq!(shop.members(&shop.client_url(1)).0, ["main-0", "main-1", "main-2"]);
    (0..3).for_each(|ordinal| shop.lost_no_volume(ordinal));
}

/// A pod that has waited for long looks seldom: by then the others may have begun, or be a cluster already.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_hears_the_word_late_is_of_the_same_cluster_all_the_same() {
    for minor in ["3.5", "3.6", "3.7"] {
        let Some(binary) = etcd(minor) else { return };
        let mut shop = Shop::open(3, &binary).await;
        (0..3).for_each(|ordinal| shop.start(ordinal));
        shop.until_empty().await;
        let word = shop.give_word_to(0, 1);
        shop.until(0, "began", |report| matches!(report.volume, Volume::Data { .. })).await;
        shop.give_word_to(1, 1);
        shop.until_voter(1).await;
        shop.give_word_to(2, 1);
        for ordinal in 0..3 {
            let report = shop.until_voter(ordinal).await;
            assert_eq!(report.cluster, word.cluster());
            assert_eq!(report.id, word.member(&report.name), "nobody was replaced");
            shop.lost_no_volume(ordinal);
        }
        assert_eq!(shop.members(&shop.client_url(2)).0, ["main-0", "main-1", "main-2"]);
    }
}

/// Until every member has said what it runs, etcd calls the cluster's version 3.0.
#[tokio::test(flavor = "multi_thread")]
async fn a_member_restarts_before_the_cluster_has_agreed_on_a_version() {
    let Some(binary) = etcd("3.6") else { return };
    let mut shop = Shop::open(3, &binary).await;
    (0..3).for_each(|ordinal| shop.start(ordinal));
    shop.until_empty().await;
    (0..2).for_each(|ordinal| drop(shop.give_word_to(ordinal, 1)));
    shop.until_voter(0).await;
    let before = shop.until_voter(1).await.id;
    shop.end(1, Signal::KILL);
    shop.start(1);
    assert_eq!(shop.until_voter(1).await.id, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_word_nothing_is_formed_and_the_agent_lives() {
    let Some(binary) = etcd("3.6") else { return };
    let mut shop = Shop::open(1, &binary).await;
    shop.start(0);
    let waits = |report: &etcd_warden::member::Report| {
        report.waiting.as_ref().is_some_and(|waiting| waiting.why == Why::NoWord)
    };
    shop.until(0, "waited for the word", waits).await;
    assert!(shop.probe(0, "/livez").await.unwrap().starts_with("HTTP/1.1 200"));
    assert!(shop.probe(0, "/readyz").await.unwrap().starts_with("HTTP/1.1 503"));
    assert!(!shop.volume(0).join("new.etcd").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_used_word_is_not_used_again() {
    let Some(binary) = etcd("3.6") else { return };
    let mut shop = Shop::open(1, &binary).await;
    shop.form().await;
    let word = shop.api.annotation("main-0", FORM).unwrap();
    shop.end(0, Signal::KILL);
    // A new pod over an empty volume, told the same word; nobody remembers but the record of the cluster.
    std::fs::remove_dir_all(shop.volume(0)).unwrap();
    shop.start(0);
    shop.api.annotate("main-0", FORM, &word);
    let report = shop.until(0, "waited", |report| report.waiting.is_some()).await;
    assert_eq!(report.volume, Volume::Empty);
    assert_eq!(report.waiting.unwrap().why, Why::LostData);
    assert_eq!(serde_json::from_str::<Form>(&word).unwrap().token, "uid-1/1");
    assert!(!shop.volume(0).join("new.etcd").exists());
}
