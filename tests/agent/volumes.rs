//! Claims that are swapped, restored, lost: etcd's member list and its data are the witness.

use std::fs;

use etcd_warden::member::{SeenStarts, Starts, Volume, Why};
use rustix::process::Signal;

use super::files::copy;
use super::shop::{Shop, etcd};

/// A cluster of three with a value in it.
async fn three() -> Option<Shop> {
    let mut shop = Shop::open(3, &etcd("3.6")?).await;
    shop.form().await;
    shop.etcdctl(&shop.client_url(0), &["put", "k", "kept"]);
    Some(shop)
}

#[track_caller]
fn three_with_the_value(shop: &Shop, ordinal: u32) {
    let endpoint = shop.client_url(ordinal);
    assert_eq!(
        shop.members(&endpoint),
        (["main-0", "main-1", "main-2"].map(str::to_owned).to_vec(), Vec::new())
    );
    assert_eq!(shop.etcdctl(&endpoint, &["get", "k", "--print-value-only"]).trim(), "kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn swapped_claims_stop_both_and_are_named() {
    let Some(mut shop) = three().await else { return };
    let ids = [1, 2].map(|ordinal| shop.report(ordinal).unwrap().id);
    let swap = |shop: &Shop| {
        let aside = shop.volume(8);
        fs::rename(shop.volume(1), &aside).unwrap();
        fs::rename(shop.volume(2), shop.volume(1)).unwrap();
        fs::rename(&aside, shop.volume(2)).unwrap();
    };
    for ordinal in [1, 2] {
        shop.end(ordinal, Signal::TERM);
    }
    swap(&shop);
    for ordinal in [1, 2] {
        shop.start(ordinal);
    }
    shop.until_waiting(1, Why::ForeignData, &["claim of pod main-1", "main-2"]).await;
    shop.until_waiting(2, Why::ForeignData, &["claim of pod main-2", "main-1"]).await;
    for ordinal in [1, 2] {
        shop.end(ordinal, Signal::TERM);
    }
    swap(&shop);
    for ordinal in [1, 2] {
        shop.start(ordinal);
    }
    for (ordinal, id) in (1..).zip(ids) {
        assert_eq!(shop.until_voter(ordinal).await.id, id);
    }
    three_with_the_value(&shop, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_restored_from_an_older_copy_is_a_lost_disk() {
    let Some(mut shop) = three().await else { return };
    let before = shop.report(2).unwrap();
    shop.end(2, Signal::TERM);
    copy(&shop.volume(2), &shop.volume(7));
    shop.start(2);
    let restarted = shop.until_voter(2).await;
    assert!(matches!(restarted.volume, Volume::Data { starts: 2, .. }), "{restarted:?}");
    shop.end(2, Signal::TERM);
    fs::remove_dir_all(shop.volume(2)).unwrap();
    fs::rename(shop.volume(7), shop.volume(2)).unwrap();
    // A new pod remembers nothing: the loop does.
    let mut starts = Starts::default();
    starts.note("main-2", SeenStarts { member: before.id.unwrap(), starts: 2 });
    shop.render_with(Some(&starts));
    shop.start(2);
    let after = shop.until_voter(2).await;
    assert_ne!(after.id, before.id);
    assert!(shop.volume(2).join("new.etcd.aside").exists());
    three_with_the_value(&shop, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_of_three_volumes_lost_is_told_and_nothing_new_is_formed() {
    let Some(mut shop) = three().await else { return };
    for ordinal in [1, 2] {
        shop.end(ordinal, Signal::KILL);
        fs::remove_dir_all(shop.volume(ordinal)).unwrap();
        shop.start(ordinal);
    }
    for ordinal in [1, 2] {
        let report = shop.until(ordinal, "waited", |report| report.waiting.is_some()).await;
        assert_eq!(report.volume, Volume::Empty);
        shop.until_waiting(ordinal, Why::Unreachable, &["main-client"]).await;
        assert!(!shop.volume(ordinal).join("new.etcd").exists());
    }
    let read = ["get", "k", "--print-value-only", "--consistency", "s"];
    assert_eq!(shop.etcdctl(&shop.client_url(0), &read).trim(), "kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_volumes_lost_is_told_and_nothing_new_is_formed() {
    let Some(mut shop) = three().await else { return };
    for ordinal in 0..3 {
        shop.end(ordinal, Signal::KILL);
        fs::remove_dir_all(shop.volume(ordinal)).unwrap();
    }
    for ordinal in 0..3 {
        shop.start(ordinal);
    }
    for ordinal in 0..3 {
        shop.until_waiting(ordinal, Why::LostData, &["every member", "restore a backup"]).await;
        assert!(!shop.volume(ordinal).join("new.etcd").exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recreated_object_goes_on_with_kept_volumes() {
    let Some(mut shop) = three().await else { return };
    let cluster = shop.report(0).unwrap().cluster;
    for ordinal in 0..3 {
        shop.end(ordinal, Signal::TERM);
    }
    "uid-9".clone_into(&mut shop.config.owner.uid);
    shop.render();
    shop.api.forget("configmaps", "main-cluster");
    fs::remove_dir_all(shop.volume(2)).unwrap();
    for ordinal in 0..3 {
        shop.start(ordinal);
    }
    for ordinal in 0..3 {
        assert_eq!(shop.until_voter(ordinal).await.cluster, cluster);
    }
    three_with_the_value(&shop, 2);
}
