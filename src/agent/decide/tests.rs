//! Each row of the table, in situations of the field.

use super::*;
use crate::agent::acceptance::SETTLED;
use crate::agent::facts::{Sibling, Told, Unseen};
use crate::agent::testing::{CLUSTER, config, facts, live, others, record, voter};
use crate::member::{Leave, SeenStarts, Volume};

const OWN_URL: &str = "http://main-0.main-peer.shop.svc:2380";
const OWN: MemberId = MemberId(0xa0);
const OTHER_CLUSTER: ClusterId = ClusterId(0xc2);
const SOURCE: &[(&str, &str)] = &[("source-1", "http://source-1:2380")];

/// The row that matches must be this one, and its step too.
#[track_caller]
fn decides(facts: &Facts, row: &str, step: &Step) {
    assert_eq!(decide(facts), (row, step.clone()));
}

/// The row that matches must be this one, and hold for this reason with these words.
#[track_caller]
fn holds(facts: &Facts, row: &str, why: Why, words: &[&str]) {
    let (matched, step) = decide(facts);
    let Step::Hold(hold) = step else { panic!("{matched}: {step:?}") };
    assert_eq!((matched, hold.why), (row, why), "{}", hold.message);
    for word in words {
        assert!(hold.message.contains(word), "{word:?} is not in {:?}", hold.message);
    }
}

fn told(facts: &mut Facts) -> &mut Told {
    facts.told.as_mut().unwrap()
}

fn unseen() -> Result<Live, Unseen> {
    facts().cluster
}

fn log_of_own() -> Data {
    Data::Log { member: OWN, cluster: CLUSTER }
}

fn noted(life: Life) -> Noted {
    Noted::Record(Box::new(record(life)))
}

fn running() -> Noted {
    noted(Life::Running { id: OWN, cluster: CLUSTER })
}

fn own_voter() -> Member {
    voter(OWN.0, "main-0", &[OWN_URL])
}

/// A member of a cluster of three that runs.
fn restarted() -> Facts {
    Facts {
        data: log_of_own(),
        record: running(),
        cluster: Ok(live(vec![own_voter(), others(1), others(2)])),
        ..facts()
    }
}

/// A pod of a target with an empty volume, and its source.
fn joiner() -> Facts {
    Facts { config: config(3, SOURCE), cluster: Ok(live(vec![others(1), others(2), others(3)])), ..facts() }
}

fn word(attempt: u32) -> Form {
    Form { token: Form::token("uid-1", attempt), initial_cluster: config(3, &[]).initial_cluster() }
}

fn siblings(volumes: [Option<Volume>; 2]) -> Vec<Sibling> {
    let pods = ["main-1", "main-2"].into_iter().zip(volumes);
    pods.map(|(pod, volume)| Sibling { pod: pod.to_owned(), volume }).collect()
}

fn data_of(member: u64, cluster: ClusterId) -> Volume {
    Volume::Data { member: MemberId(member), cluster, starts: 1 }
}

fn seen(starts: u64) -> Vec<SeenStarts> {
    vec![SeenStarts { member: OWN, starts }]
}

#[test]
fn told_to_leave_it_leaves_and_then_stays_down() {
    let mut facts = restarted();
    told(&mut facts).leave = Some(Leave { member: OWN });
    decides(&facts, "leave", &Step::Leave(OWN));
    facts.record = noted(Life::Left { id: OWN, cluster: CLUSTER });
    holds(&facts, "leave", Why::Removed, &["a0", "stays down"]);
}

#[test]
fn a_claim_whose_member_left_with_an_earlier_etcd_joins_anew_once_it_is_seen_to_be_out() {
    let record = noted(Life::Left { id: OWN, cluster: CLUSTER });
    let mut facts = Facts { data: log_of_own(), record, ..joiner() };
    facts.config.owner.uid = "uid-2".to_owned();
    decides(&facts, "leave", &Step::Forget);
    facts.cluster.as_mut().unwrap().members.push(own_voter());
    holds(&facts, "leave", Why::Removed, &["claim of pod main-0", "an earlier Etcd", "delete the claim"]);
    facts.cluster = unseen();
    holds(&facts, "leave", Why::Unreachable, &["refused"]);
    // Without a source there is nobody to ask.
    facts.config.source = None;
    holds(&facts, "leave", Why::Removed, &["an earlier Etcd", "delete the claim"]);
}

#[test]
fn a_word_to_leave_for_another_life_is_not_followed() {
    let mut facts = restarted();
    told(&mut facts).leave = Some(Leave { member: MemberId(1) });
    decides(&facts, "own_data", &Step::Start);
}

#[test]
fn a_joiner_that_was_only_added_leaves_too() {
    let mut facts = joiner();
    let mut own = voter(OWN.0, "", &[OWN_URL]);
    own.learner = true;
    facts.cluster = Ok(live(vec![others(1), own]));
    told(&mut facts).leave = Some(Leave { member: OWN });
    decides(&facts, "leave", &Step::Leave(OWN));
}

#[test]
fn claim_restored_from_an_older_copy_is_a_lost_disk() {
    let mut facts = restarted();
    told(&mut facts).starts_seen = seen(4);
    decides(&facts, "rolled_back", &Step::SetAside);
    told(&mut facts).starts_seen = seen(3);
    decides(&facts, "own_data", &Step::Start);
}

#[test]
fn a_member_that_joined_anew_counts_from_the_beginning() {
    let mut facts = restarted();
    told(&mut facts).starts_seen = vec![SeenStarts { member: MemberId(0xa1), starts: 40 }];
    decides(&facts, "own_data", &Step::Start);
}

#[test]
fn an_older_copy_without_the_rest_of_the_cluster_is_left_alone() {
    let mut facts = Facts { cluster: unseen(), ..restarted() };
    told(&mut facts).starts_seen = seen(4);
    holds(&facts, "rolled_back", Why::LostData, &["main-0", "3 times", "4 were seen"]);
    let mut facts = Facts { cluster: Ok(live(vec![own_voter()])), ..restarted() };
    told(&mut facts).starts_seen = seen(4);
    holds(&facts, "rolled_back", Why::LostData, &["only voter"]);
}

#[test]
fn swapped_claims_are_named() {
    let mut facts = restarted();
    let mut foreign = record(Life::Running { id: OWN, cluster: CLUSTER });
    foreign.pod = "main-1".to_owned();
    facts.record = Noted::Record(Box::new(foreign));
    holds(&facts, "another_members_data", Why::ForeignData, &["main-0", "main-1"]);
}

#[test]
fn swapped_claims_without_records_are_known_by_the_list() {
    let other = voter(OWN.0, "main-1", &["http://main-1.main-peer.shop.svc:2380"]);
    let facts = Facts { record: Noted::None, cluster: Ok(live(vec![other, others(1)])), ..restarted() };
    holds(&facts, "another_members_data", Why::ForeignData, &["main-1", "a0"]);
}

#[test]
fn a_cloned_claim_is_known_by_the_sibling_that_has_the_same_id() {
    let mut facts = Facts { record: Noted::None, cluster: unseen(), ..restarted() };
    told(&mut facts).siblings = siblings([Some(data_of(OWN.0, CLUSTER)), None]);
    holds(&facts, "another_members_data", Why::ForeignData, &["main-1"]);
}

#[test]
fn a_restart_needs_no_api_server_and_no_quorum() {
    let facts = Facts { told: Err("away".to_owned()), cluster: unseen(), ..restarted() };
    decides(&facts, "own_data", &Step::Start);
}

#[test]
fn a_restart_while_the_cluster_forms_goes_on() {
    let forming = noted(Life::Forming { token: "uid-1/1".to_owned() });
    let facts = Facts { data: log_of_own(), record: forming, ..facts() };
    decides(&facts, "own_data", &Step::Start);
}

#[test]
fn data_without_a_record_starts_where_the_list_has_it() {
    decides(&Facts { record: Noted::None, ..restarted() }, "own_data", &Step::Start);
}

#[test]
fn a_member_that_gave_up_its_id_puts_its_data_aside() {
    let gave_up = noted(Life::Rejoining { id: OWN, cluster: CLUSTER });
    let facts = Facts { record: gave_up, cluster: Ok(live(vec![others(1), others(2)])), ..restarted() };
    decides(&facts, "removed_itself", &Step::SetAside);
}

#[test]
fn a_member_that_was_removed_by_hand_stays_down() {
    let facts = Facts { cluster: Ok(live(vec![others(1), others(2)])), ..restarted() };
    holds(&facts, "removed_by_somebody", Why::Removed, &["a0", "claim of pod main-0"]);
}

#[test]
fn a_foreign_data_volume_stops_a_join() {
    let facts = Facts { data: Data::Log { member: OWN, cluster: OTHER_CLUSTER }, ..joiner() };
    holds(&facts, "another_clusters_data", Why::ForeignData, &["c2", "c1", "main-0"]);
}

#[test]
fn data_of_another_cluster_than_the_recorded_one_is_not_started() {
    let mut facts = Facts { cluster: unseen(), ..restarted() };
    told(&mut facts).formed = Some(OTHER_CLUSTER);
    holds(&facts, "another_clusters_data", Why::ForeignData, &["c1", "c2"]);
}

#[test]
fn volumes_that_disagree_stop() {
    let mut facts = Facts { data: log_of_own(), ..facts() };
    told(&mut facts).siblings = siblings([Some(data_of(1, OTHER_CLUSTER)), Some(data_of(2, OTHER_CLUSTER))]);
    holds(&facts, "another_clusters_data", Why::ForeignData, &["c1", "c2"]);
}

#[test]
fn a_recreated_object_goes_on_with_kept_volumes() {
    let mut facts = Facts { data: log_of_own(), ..facts() };
    told(&mut facts).siblings = siblings([Some(data_of(1, CLUSTER)), Some(Volume::Empty)]);
    decides(&facts, "former_cluster", &Step::Start);
}

#[test]
fn the_record_of_another_object_does_not_start_one_volume_alone() {
    let mut former = record(Life::Running { id: OWN, cluster: CLUSTER });
    former.etcd = "uid-0".to_owned();
    let facts = Facts { data: log_of_own(), record: Noted::Record(Box::new(former)), ..facts() };
    holds(&facts, "former_cluster", Why::LostData, &["1 of 2"]);
}

#[test]
fn one_of_three_kept_volumes_is_no_quorum() {
    let mut facts = Facts { data: log_of_own(), ..facts() };
    told(&mut facts).siblings = siblings([None, Some(Volume::Empty)]);
    holds(&facts, "former_cluster", Why::LostData, &["1 of 2", "main-1 not heard of"]);
}

#[test]
fn a_first_start_without_a_log_is_forgotten() {
    let forming = noted(Life::Forming { token: "uid-1/1".to_owned() });
    for data in [Data::Half, Data::None] {
        decides(&Facts { data, record: forming.clone(), ..facts() }, "never_had_a_log", &Step::Forget);
    }
}

#[test]
fn a_damaged_learner_is_a_copy() {
    let mut own = own_voter();
    own.learner = true;
    let facts = Facts {
        data: Data::Unreadable("crc".to_owned()),
        cluster: Ok(live(vec![own, others(1)])),
        ..restarted()
    };
    decides(&facts, "useless_data", &Step::SetAside);
}

#[test]
fn a_damaged_voter_is_left_to_a_person() {
    let facts = Facts { data: Data::Unreadable("crc".to_owned()), ..restarted() };
    holds(&facts, "unreadable", Why::LostData, &["crc", "delete the claim"]);
    let facts = Facts { data: Data::None, record: Noted::Unreadable("half".to_owned()), ..facts };
    holds(&facts, "unreadable", Why::LostData, &["half"]);
}

#[test]
fn half_a_directory_waits_for_the_cluster_that_tells_what_it_was() {
    let facts = Facts { data: Data::Half, record: running(), ..facts() };
    holds(&facts, "useless_data", Why::Unreachable, &["main-client"]);
}

#[test]
fn source_unreachable_at_first_start_waits_and_never_forms() {
    let mut facts = Facts { cluster: unseen(), ..joiner() };
    told(&mut facts).form = Some(word(1));
    holds(&facts, "unreachable", Why::Unreachable, &["main-client"]);
}

#[test]
fn an_empty_volume_of_a_formed_cluster_waits() {
    let mut facts = facts();
    (told(&mut facts).formed, told(&mut facts).form) = (Some(CLUSTER), Some(word(1)));
    holds(&facts, "unreachable", Why::Unreachable, &[]);
}

#[test]
fn all_volumes_lost_says_just_that() {
    let mut facts = facts();
    told(&mut facts).formed = Some(CLUSTER);
    told(&mut facts).siblings = siblings([Some(Volume::Empty), Some(Volume::Empty)]);
    holds(&facts, "unreachable", Why::LostData, &["every member", "backup"]);
}

#[test]
fn endpoints_that_lead_to_another_cluster_are_not_joined() {
    let mut facts = joiner();
    told(&mut facts).formed = Some(OTHER_CLUSTER);
    holds(&facts, "another_cluster_answers", Why::SourceDiffers, &["c1", "c2"]);
}

#[test]
fn a_prepared_member_is_started_and_not_added_again() {
    let prepared = noted(Life::Prepared { id: OWN, cluster: CLUSTER });
    let mut own = voter(OWN.0, "", &[OWN_URL]);
    own.learner = true;
    let facts = Facts { record: prepared, cluster: Ok(live(vec![others(1), own])), ..joiner() };
    decides(&facts, "own_entry_prepared", &Step::StartExisting(OWN));
}

#[test]
fn a_learner_that_lost_its_disk_is_removed_and_added_anew() {
    let mut own = own_voter();
    own.learner = true;
    let facts = Facts { record: running(), cluster: Ok(live(vec![others(1), own])), ..joiner() };
    decides(&facts, "own_entry_learner", &Step::RemoveOwn(OWN));
}

#[test]
fn a_lost_disk_of_a_voter_is_replaced_while_the_rest_is_well() {
    let facts = Facts { data: Data::None, record: Noted::None, ..restarted() };
    decides(&facts, "own_entry_voter", &Step::RemoveOwn(OWN));
}

#[test]
fn a_lost_disk_waits_for_voters_that_have_been_well_for_a_while() {
    let mut other = others(1);
    other.well_for = Some(SETTLED / 2);
    let cluster = Ok(live(vec![own_voter(), other, others(2)]));
    let facts = Facts { data: Data::None, record: Noted::None, cluster, ..restarted() };
    holds(&facts, "own_entry_voter", Why::Unhealthy, &["disk was lost", "source-1"]);
}

#[test]
fn a_lost_disk_waits_while_another_member_joins() {
    let mut learner = voter(0xb, "", &["http://main-1.main-peer.shop.svc:2380"]);
    learner.learner = true;
    let cluster = Ok(live(vec![own_voter(), others(1), others(2), learner]));
    let facts = Facts { data: Data::None, record: Noted::None, cluster, ..restarted() };
    holds(&facts, "own_entry_voter", Why::OtherLearner, &["one at a time"]);
}

#[test]
fn another_etcd_of_that_name_is_named() {
    let cluster = Ok(live(vec![voter(9, "main-0", &["http://main-0.main-peer.other.svc:2380"])]));
    holds(
        &Facts { cluster, ..joiner() },
        "collision",
        Why::Collision,
        &["main-0", "other", "memberNamePrefix"],
    );
}

#[test]
fn a_target_whose_own_peer_url_a_source_member_holds_stops() {
    let cluster = Ok(live(vec![voter(9, "source-1", &[OWN_URL])]));
    let words = [OWN_URL, "source-1", "etcdctl member update 9"];
    holds(&Facts { cluster, ..joiner() }, "collision", Why::Collision, &words);
}

#[test]
fn a_learner_that_no_pod_will_be_is_removed() {
    let mut stray = voter(0xd, "", &["http://main-7.main-peer.shop.svc:2380"]);
    stray.learner = true;
    let cluster = Ok(live(vec![others(1), stray]));
    decides(&Facts { cluster, ..joiner() }, "stray_learner", &Step::RemoveStray(MemberId(0xd)));
}

#[test]
fn an_unhealthy_voter_of_the_source_is_waited_for() {
    let mut down = others(3);
    (down.well_for, down.unwell) = (None, Some("connection refused".to_owned()));
    let cluster = Ok(live(vec![others(1), others(2), down]));
    let words = ["2 of 3", "source-3", "connection refused"];
    holds(&Facts { cluster, ..joiner() }, "add_not_accepted", Why::Unhealthy, &words);
}

#[test]
fn while_the_etcd_is_being_deleted_nobody_joins_any_more() {
    let mut facts = joiner();
    facts.config.ending = true;
    holds(&facts, "ending", Why::Ending, &["deleted"]);
    facts.cluster = unseen();
    holds(&facts, "ending", Why::Ending, &["deleted"]);
    // Who was added takes itself out again.
    let mut learner = own_voter();
    learner.learner = true;
    facts.cluster = Ok(live(vec![others(1), learner]));
    decides(&facts, "own_entry_learner", &Step::RemoveOwn(OWN));
}

#[test]
fn a_joiner_adds_itself() {
    decides(&joiner(), "add", &Step::Add);
}

#[test]
fn scaling_out_is_a_join_against_oneself() {
    let mut facts = joiner();
    facts.config = config(3, &[]);
    told(&mut facts).formed = Some(CLUSTER);
    decides(&facts, "add", &Step::Add);
}

#[test]
fn who_waits_for_the_others_over_a_volume_that_was_lost_says_so() {
    let mut facts = facts();
    told(&mut facts).formed = Some(CLUSTER);
    holds(&facts, "unreachable", Why::Unreachable, &["refused"]);
    told(&mut facts).starts_seen = seen(4);
    let words = ["refused; the claim of pod main-0 is empty, where member a0 was", "restore a backup"];
    holds(&facts, "unreachable", Why::LostData, &words);
    // As its own record has it: it gave its entry up to join anew.
    facts.record = running();
    holds(&facts, "unreachable", Why::Unreachable, &[]);
}

/// Whoever looks late sees others that have begun by the same word.
#[test]
fn a_word_that_others_have_followed_already_is_followed_and_no_other_cluster() {
    let (cluster, own) = (word(1).cluster().unwrap(), word(1).member("main-0").unwrap());
    let mut facts = facts();
    told(&mut facts).form = Some(word(1));
    told(&mut facts).siblings = siblings([Some(data_of(1, cluster)), Some(Volume::Empty)]);
    decides(&facts, "form", &Step::Form(word(1)));
    let entry = voter(own.0, "main-0", &[OWN_URL]);
    facts.cluster = Ok(Live { cluster, ..live(vec![entry.clone(), others(1), others(2)]) });
    decides(&facts, "form", &Step::Form(word(1)));

    // Its entry is another one, or none, or a learner's.
    for members in [vec![own_voter(), others(1)], vec![others(1)], vec![Member { learner: true, ..entry }]] {
        let facts = Facts { cluster: Ok(Live { cluster, ..live(members) }), ..facts.clone() };
        assert_ne!(decide(&facts).0, "form");
    }
    // It is recorded: whoever has no data then has lost it, as far as anybody can know.
    told(&mut facts).formed = Some(cluster);
    decides(&facts, "own_entry_voter", &Step::RemoveOwn(own));
    told(&mut facts).formed = None;
    // The word of another attempt.
    told(&mut facts).form = Some(word(2));
    assert_ne!(decide(&facts).0, "form");
    facts.cluster = unseen();
    holds(&facts, "unreachable", Why::Unreachable, &[]);
}

#[test]
fn the_word_to_form_is_followed_once() {
    let mut facts = facts();
    told(&mut facts).form = Some(word(1));
    decides(&facts, "form", &Step::Form(word(1)));
    told(&mut facts).took = Some(word(1).token);
    holds(&facts, "no_word", Why::NoWord, &["word"]);
    told(&mut facts).form = Some(word(2));
    decides(&facts, "form", &Step::Form(word(2)));
}

#[test]
fn a_word_for_another_etcd_is_not_followed() {
    let mut facts = facts();
    told(&mut facts).form = Some(Form { token: "uid-11/1".to_owned(), ..word(1) });
    holds(&facts, "no_word", Why::NoWord, &[]);
}

#[test]
fn no_cluster_is_formed_beside_a_sibling_with_data() {
    let mut facts = facts();
    told(&mut facts).form = Some(word(1));
    told(&mut facts).siblings = siblings([Some(data_of(1, CLUSTER)), Some(Volume::Empty)]);
    holds(&facts, "unreachable", Why::Unreachable, &[]);
}

#[test]
fn without_the_api_server_nothing_but_a_start_happens() {
    for facts in [facts(), joiner(), Facts { data: Data::None, ..restarted() }] {
        let facts = Facts { told: Err("the API server is away".to_owned()), ..facts };
        holds(&facts, "api_server", Why::ApiServer, &["away"]);
    }
}
