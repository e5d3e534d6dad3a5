//! Joins in which something is killed: they complete, and leave nothing behind.

use std::time::Duration;

use etcd_warden::member::{Report, Why};
use rustix::process::Signal;

use super::shop::{Shop, etcd};
use super::source::Traits;
use super::writer::Writer;

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
    assert_eq!(
        shop.members(&shop.source_url(1)),
        (vec!["main-0".to_owned(), "source-1".to_owned()], Vec::new())
    );
}

/// Milliseconds after which it is killed: anything between two looks and a whole join, another sequence each day.
fn moments() -> impl Iterator<Item = u64> {
    let day = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() / 86_400;
    println!("seed {day}");
    std::iter::successors(Some(day), |seed| {
        Some(seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1))
    })
    .skip(1)
    .map(|seed| 50 + (seed >> 33) % 2500)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_killed_at_random_moments_of_a_join_completes() {
    let Some(binary) = etcd("3.6") else { return };
    let mut shop = Shop::open(1, &binary).await;
    shop.source(3, &binary).await;
    let writer = Writer::to_source(&shop, 3);
    for moment in moments().take(8) {
        shop.start(0);
        // The moment is what is tried, not something that is waited for.
        tokio::time::sleep(Duration::from_millis(moment)).await;
        shop.end(0, Signal::KILL);
    }
    shop.start(0);
    shop.until_voter(0).await;
    let (voters, learners) = shop.members(&shop.client_url(0));
    assert_eq!((voters.len(), learners.len()), (4, 0), "{voters:?} {learners:?}");
    writer.lost_nothing(&shop, &shop.client_url(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_member_that_is_killed_while_a_target_joins_holds_it_up_only() {
    let Some(binary) = etcd("3.6") else { return };
    let mut shop = Shop::open(1, &binary).await;
    shop.source(3, &binary).await;
    let writer = Writer::to_source(&shop, 3);
    shop.start(0);
    shop.until(0, "was added", |report| report.id.is_some()).await;
    shop.stop_source(2);
    shop.start_source(2, 3, &binary, Traits::default());
    shop.until_voter(0).await;
    assert_eq!(shop.members(&shop.client_url(0)).0, ["main-0", "source-1", "source-2", "source-3"]);
    writer.lost_nothing(&shop, &shop.client_url(0));
}

/// As by `kubectl delete pod --force`: the next pod is there before the last one has ended.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_waits_while_another_one_is_at_work_on_its_volume() {
    let Some(binary) = etcd("3.6") else { return };
    let mut shop = Shop::open(1, &binary).await;
    shop.source(1, &binary).await;
    std::fs::create_dir_all(shop.volume(0)).unwrap();
    let other = std::fs::File::open(shop.volume(0)).unwrap();
    other.lock().unwrap();
    shop.start(0);
    shop.until_waiting(0, Why::Configuration, &["another process is at work on the volume"]).await;
    assert_eq!(shop.members(&shop.source_url(1)), (vec!["source-1".to_owned()], Vec::new()));
    drop(other);
    shop.until_voter(0).await;
}
