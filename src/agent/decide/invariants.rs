//! What no row may ever do, whatever the facts are.

use std::time::Duration;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::agent::acceptance::SETTLED;
use crate::agent::facts::{Sibling, Told, Unseen};
use crate::agent::testing::{CLUSTER, config, record, voter};
use crate::member::{Config, Leave, SeenStarts, Volume};

const SOURCE: &[(&str, &str)] = &[("source-1", "http://source-1:2380")];

fn word(token: &str) -> Form {
    Form { token: token.to_owned(), initial_cluster: config(3, &[]).initial_cluster() }
}

fn id() -> impl Strategy<Value = MemberId> {
    let own = word("uid-1/2").member("main-0").unwrap();
    prop_oneof![4 => (1_u64..5).prop_map(MemberId), 1 => Just(own)]
}

fn cluster() -> impl Strategy<Value = ClusterId> {
    select(vec![CLUSTER, ClusterId(0xc2), word("uid-1/2").cluster().unwrap()])
}

fn data() -> impl Strategy<Value = Data> {
    prop_oneof![
        3 => Just(Data::None),
        3 => (id(), cluster()).prop_map(|(member, cluster)| Data::Log { member, cluster }),
        1 => Just(Data::Half),
        1 => Just(Data::Unreadable("broken".to_owned())),
    ]
}

fn noted() -> impl Strategy<Value = Noted> {
    let life = (0..5, id(), cluster()).prop_map(|(kind, id, cluster)| match kind {
        0 => Life::Forming { token: "uid-1/1".to_owned() },
        1 => Life::Prepared { id, cluster },
        2 => Life::Running { id, cluster },
        3 => Life::Rejoining { id, cluster },
        _ => Life::Left { id, cluster },
    });
    let pod = select(vec!["main-0", "main-0", "main-1"]);
    let etcd = select(vec!["uid-1", "uid-1", "uid-2"]);
    let of_pod = (life, pod, etcd).prop_map(|(life, pod, etcd)| {
        let mut record = record(life);
        pod.clone_into(&mut record.pod);
        etcd.clone_into(&mut record.etcd);
        Noted::Record(Box::new(record))
    });
    prop_oneof![2 => Just(Noted::None), 3 => of_pod, 1 => Just(Noted::Unreadable("broken".to_owned()))]
}

fn member() -> impl Strategy<Value = Member> {
    let names = select(vec!["", "main-0", "main-1", "main-9", "source-1", "source-2"]);
    let urls = select(vec![
        "http://main-0.main-peer.shop.svc:2380",
        "http://main-1.main-peer.shop.svc:2380",
        "http://main-9.main-peer.shop.svc:2380",
        "http://source-1:2380",
        "http://source-2:2380",
    ]);
    (id(), names, urls, any::<bool>(), option::of(0_u64..10)).prop_map(|(id, name, url, learner, well)| {
        let mut member = voter(id.0, name, &[url]);
        (member.learner, member.well_for) = (learner, well.map(Duration::from_secs));
        member
    })
}

fn live() -> impl Strategy<Value = Live> {
    (cluster(), vec(member(), 1..5), vec(Just("NOSPACE".to_owned()), 0..2)).prop_map(
        |(cluster, mut members, alarms)| {
            members.sort_by_key(|member| member.id);
            members.dedup_by_key(|member| member.id);
            Live { cluster, members, alarms }
        },
    )
}

fn told() -> impl Strategy<Value = Told> {
    let form = select(vec!["uid-1/1", "uid-1/2", "uid-2/1"]);
    let volume = prop_oneof![
        Just(Volume::Empty),
        (id(), cluster()).prop_map(|(member, cluster)| Volume::Data { member, cluster, starts: 1 }),
    ];
    let sibling = option::of(volume).prop_map(|volume| Sibling { pod: "main-1".to_owned(), volume });
    let parts = (
        option::of(cluster()),
        option::of(form),
        any::<bool>(),
        option::of(id()),
        option::of((id(), 0_u64..6)),
    );
    (parts, vec(sibling, 0..3)).prop_map(|((formed, form, took, leave, starts_seen), siblings)| Told {
        formed,
        form: form.map(word),
        took: took.then(|| "uid-1/1".to_owned()),
        leave: leave.map(|member| Leave { member }),
        starts_seen: starts_seen.map(|(member, starts)| SeenStarts { member, starts }).into_iter().collect(),
        siblings,
    })
}

fn facts() -> impl Strategy<Value = Facts> {
    let cluster = option::of(live())
        .prop_map(|live| live.ok_or_else(|| Unseen { why: Why::Unreachable, message: "refused".to_owned() }));
    let told = option::weighted(0.9, told()).prop_map(|told| told.ok_or_else(|| "away".to_owned()));
    let parts = (any::<[bool; 2]>(), data(), noted(), cluster, told);
    parts.prop_map(|([join, ending], data, record, cluster, told)| Facts {
        config: Config { ending, ..config(3, if join { SOURCE } else { &[] }) },
        ordinal: 0,
        data,
        record,
        cluster,
        told,
    })
}

fn learners(live: &Live, without: MemberId) -> usize {
    live.members.iter().filter(|member| member.learner && member.id != without).count()
}

/// A new cluster begins only where nothing was, by a word that wasn't used; what others have begun is of that word.
fn begins_only_where_nothing_was(facts: &Facts, word: &Form) {
    assert_eq!((&facts.data, &facts.record), (&Data::None, &Noted::None));
    assert_eq!(facts.config.source, None);
    let told = facts.told.as_ref().unwrap();
    assert_eq!(told.formed, None);
    assert_eq!(told.form.as_ref(), Some(word));
    assert_ne!(told.took.as_ref(), Some(&word.token));
    assert!(word.token.starts_with("uid-1/"));
    let siblings = facts.sibling_data().map(|(_, _, cluster)| cluster);
    let seen: Vec<ClusterId> = siblings.chain(facts.live().map(|live| live.cluster)).collect();
    assert!(seen.iter().all(|cluster| Some(*cluster) == word.cluster()), "{seen:?}");
    if let Some(live) = facts.live() {
        let own = live.members.iter().find(|member| Some(member.id) == word.member("main-0"));
        assert!(own.is_some_and(|own| !own.learner), "{live:?}");
    }
}

/// An entry is removed only where it is its own, and a voter only where the add will be accepted.
fn removes_only_its_own(facts: &Facts, id: MemberId) {
    let live = facts.live().unwrap();
    let own = entry::own(facts, live).unwrap();
    assert_eq!((own.id, &facts.data), (id, &Data::None));
    if own.learner {
        return;
    }
    assert!(live.alarms.is_empty());
    assert_eq!(learners(live, id), 0);
    let voters = live.members.iter().filter(|member| !member.learner && member.id != id);
    let well = voters.clone().filter(|voter| voter.well_for.is_some_and(|time| time >= SETTLED)).count();
    assert!(well > 0 && well * 2 >= voters.count(), "{well} are well");
}

fn removes_only_a_stray(facts: &Facts, id: MemberId) {
    let member = find(facts.live().unwrap(), id).unwrap();
    assert!(member.learner && member.peer_urls[0].contains("main-9"), "{member:?}");
}

fn starts_only_its_own_cluster(facts: &Facts) {
    let (_, cluster) = log(facts).unwrap();
    assert!(facts.live().is_none_or(|live| live.cluster == cluster));
    assert!(facts.heard().is_none_or(|told| told.formed.is_none_or(|formed| formed == cluster)));
}

fn adds_only_what_is_not_there(facts: &Facts) {
    let live = facts.live().unwrap();
    assert_eq!((facts.config.ending, &facts.data), (false, &Data::None));
    assert!(entry::own(facts, live).is_none() && entry::collision(facts, live).is_none());
    assert_eq!((learners(live, MemberId(0)), live.alarms.len()), (0, 0));
}

/// What never had a log, or what has left; of a join, which begins nothing new.
fn forgets_only_what_nobody_misses(facts: &Facts) {
    let record = facts.own_record().unwrap();
    if let Life::Left { id, .. } = record.life {
        assert!(record.etcd != facts.config.owner.uid && facts.config.source.is_some());
        assert_eq!(find(facts.live().unwrap(), id), None);
    } else {
        assert!(log(facts).is_none() && !matches!(facts.data, Data::Unreadable(_)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_step_does_harm(facts in facts()) {
        let (_, step) = decide(&facts);
        assert!(facts.told.is_ok() || matches!(step, Step::Start | Step::Hold(_)));
        let leaving = facts.heard().and_then(|told| told.leave.as_ref()).map(|leave| leave.member);
        match &step {
            Step::Form(word) => begins_only_where_nothing_was(&facts, word),
            Step::RemoveOwn(id) => {
                removes_only_its_own(&facts, *id);
                // One way out at a time.
                assert_ne!(leaving, Some(*id));
            }
            Step::RemoveStray(id) => removes_only_a_stray(&facts, *id),
            Step::Leave(id) => assert_eq!(leaving, Some(*id)),
            Step::Start => starts_only_its_own_cluster(&facts),
            Step::StartExisting(id) => assert!(facts.data == Data::None && facts.is_prepared(*id)),
            Step::Add => adds_only_what_is_not_there(&facts),
            Step::SetAside => assert!(facts.data != Data::None && facts.cluster.is_ok()),
            Step::Forget => forgets_only_what_nobody_misses(&facts),
            Step::Hold(hold) => assert!(!hold.message.is_empty()),
        }
    }
}
