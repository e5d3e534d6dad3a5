//! Rolling changes.

use super::*;

fn replaced(world: &mut World) -> Option<String> {
    match &world.settle()[..] {
        [Step::Replace { pod, .. }] => Some(pod.name.clone()),
        [] => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn pods_are_replaced_one_at_a_time_and_the_leader_last() {
    let mut world = World::running(&three());
    world.record("9");
    world.pods.iter_mut().for_each(|pod| pod.revision = "main-old".to_owned());
    let mut order = Vec::new();
    while let Some(name) = replaced(&mut world) {
        let at = world.pods.iter().position(|pod| pod.name == name).unwrap();
        world.pods[at].is_terminating = true;
        assert_eq!(replaced(&mut world), None, "one at a time");
        let back = world.pods.remove(at);
        assert_eq!(replaced(&mut world), None, "one at a time");
        assert_eq!(world.condition("AllMembersUpdated").0, "False", "{name} isn't there");
        world.pods.insert(
            at,
            Pod { is_terminating: false, is_ready: false, revision: TEMPLATE.to_owned(), ..back },
        );
        assert_eq!(replaced(&mut world), None, "only while all are well");
        world.pods[at].is_ready = true;
        order.push(name);
    }
    assert_eq!(order, ["main-2", "main-1", "main-0"]);
    assert_eq!(world.condition("AllMembersUpdated").0, "True");
    world.pods.remove(1);
    let (status, _, message) = world.condition("AllMembersUpdated");
    assert_eq!(
        (status.as_str(), message.as_str()),
        ("False", "2 of 3 pods are there as the spec wants them")
    );
}

#[test]
fn what_could_cost_quorum_waits_and_is_named() {
    let cases: [(&str, Change); 8] = [
        ("main-1 is not ready", |world| {
            (world.pods[1].is_ready, world.pods[1].revision) = (false, TEMPLATE.to_owned());
        }),
        ("main-1 is not ready", |world| {
            (world.pods[1].is_ready, world.pods[2].is_ready) = (false, false);
        }),
        ("because of Unhealthy", |world| of(&mut world.pods[1]).waiting = waits(Why::Unhealthy)),
        ("(src-0) is a learner", |world| of(&mut world.pods[1]).members[3].learner = true),
        ("src-0 (3) is not well", |world| of(&mut world.pods[1]).members[3].unwell = true),
        ("the Etcd other/main", |world| {
            world.neighbours.push(Neighbour {
                etcd: "other/main".to_owned(),
                unwell: Some("main-0 of the Etcd other/main is not ready".to_owned()),
                members: std::collections::BTreeMap::new(),
            });
        }),
        ("more than one minor away", |world| of(&mut world.pods[1]).etcd_version = Some("3.4.9".to_owned())),
        ("has not been seen by its controller", |world| {
            let set = world.objects.iter_mut().find(|object| object.kind == Kind::StatefulSet).unwrap();
            set.object["metadata"]["generation"] = 2.into();
        }),
    ];
    for (said, hinder) in cases {
        let mut world = World::running(&three());
        world.record("9");
        world.etcd.status = world.decide().status;
        world.make();
        world.pods.iter_mut().for_each(|pod| pod.revision = "main-old".to_owned());
        hinder(&mut world);
        let decision = world.decide();
        assert_eq!(decision.steps, [], "{said}");
        let updated = decision.status.condition("AllMembersUpdated").unwrap();
        assert!(updated.status == "False" && updated.message.contains(said), "{said}: {}", updated.message);
    }
}

#[test]
fn an_authority_that_changed_is_a_reason_to_restart_one_by_one() {
    let mut world = World::running(&three());
    world.record("9");
    for at in [0, 2] {
        of(&mut world.pods[at]).ca_changed = true;
    }
    let steps = world.settle();
    assert!(
        matches!(&steps[..], [Step::Replace { pod, because }] if pod.name == "main-2" && because.contains("authority")),
        "{steps:?}"
    );
}

#[test]
fn a_leader_that_is_the_first_to_have_another_authority_is_restarted_last() {
    let mut world = World::running(&three());
    world.record("9");
    world.settle();
    of(&mut world.pods[0]).ca_changed = true;
    assert_eq!(replaced(&mut world), None);
    let (status, _, message) = world.condition("AllMembersUpdated");
    assert!(
        status == "False" && message.contains("main-0 leads") && message.contains("after main-1"),
        "{message}"
    );
    // Since when they are waited for is told by this condition alone.
    let config = world.objects.iter().position(|object| object.name == "main-config").unwrap();
    let config = world.objects.remove(config);
    assert_eq!(world.condition("AllMembersUpdated").0, "False");
    world.objects.push(config);
    // Not for ever: who was started since the Secret changed has nothing to report.
    let later = decide(&Facts { now: "2026-11-29T20:13:01Z".parse().unwrap(), ..world.facts() });
    assert!(matches!(&later.steps[..], [Step::Replace { pod, .. }] if pod.name == "main-0"), "{later:?}");
    for at in [1, 2] {
        of(&mut world.pods[at]).ca_changed = true;
        assert_eq!(replaced(&mut world), Some(format!("main-{at}")));
        let back = of(&mut world.pods[at]);
        (back.ca_changed, back.started) = (false, "2026-11-29T20:11:00Z".to_owned());
    }
    assert_eq!(replaced(&mut world).as_deref(), Some("main-0"), "the leader last");
}

#[test]
fn a_pod_that_gives_nothing_is_replaced_though_others_are_not_well() {
    let mut world = World::running(&three());
    world.record("9");
    world.pods[1].is_ready = false;
    (world.pods[2].is_running, world.pods[2].said, world.pods[2].is_ready) = (false, Said::Stale, false);
    world.pods[2].revision = "main-old".to_owned();
    assert_eq!(replaced(&mut world).as_deref(), Some("main-2"));
}

/// What a spec that was wrong has broken is mended by the one that corrects it.
#[test]
fn a_member_that_can_not_run_is_replaced_first_and_one_that_is_not_well_where_it_is_the_only_one() {
    let broken: [Change; 3] = [
        |world| {
            let report = of(&mut world.pods[1]);
            (report.role, report.waiting) = (None, waits(Why::Configuration));
        },
        |world| {
            let report = of(&mut world.pods[1]);
            (report.role, report.waiting) = (None, waits(Why::EtcdEnds));
        },
        |_| {},
    ];
    for (at, hinder) in broken.iter().enumerate() {
        let mut world = World::running(&three());
        world.record("9");
        world.etcd.status = world.decide().status;
        world.make();
        hinder(&mut world);
        world.pods[1].is_ready = false;
        // As the others see it.
        of(&mut world.pods[0]).members[1].unwell = true;
        world.pods.iter_mut().for_each(|pod| pod.revision = "main-old".to_owned());
        assert_eq!(replaced(&mut world).as_deref(), Some("main-1"), "{at}");
        // Where another one isn't well, only what gives nothing at all can't be missed.
        world.pods[0].is_ready = false;
        assert_eq!(replaced(&mut world).is_some(), at < 2, "{at}");
    }
    // The spec as it is may be what is wrong.
    let mut world = World::running(&three());
    world.record("9");
    for at in [1, 2] {
        let report = of(&mut world.pods[at]);
        (report.role, report.waiting) = (None, waits(Why::EtcdEnds));
        world.pods[at].is_ready = false;
    }
    (0..2).for_each(|at| world.pods[at].revision = "main-old".to_owned());
    assert_eq!(replaced(&mut world), None, "main-2 is as the spec wants it, and down");
    // Nor does one that is not well come two minors further.
    let mut world = World::running(&three());
    world.record("9");
    of(&mut world.pods[1]).etcd_version = Some("3.4.9".to_owned());
    (world.pods[1].is_ready, world.pods[1].revision) = (false, "main-old".to_owned());
    assert_eq!(replaced(&mut world), None);

    let mut alone = World::running(&json!({"replicas": 1}));
    alone.record("9");
    let report = of(&mut alone.pods[0]);
    (report.role, report.waiting) = (None, waits(Why::EtcdEnds));
    (alone.pods[0].is_ready, alone.pods[0].revision) = (false, "main-old".to_owned());
    assert_eq!(replaced(&mut alone).as_deref(), Some("main-0"));
}

#[test]
fn who_has_the_word_to_form_is_not_replaced_but_where_it_can_not_follow_it() {
    let (mut world, _) = World::with_the_word();
    world.pods.iter_mut().for_each(|pod| pod.revision = "main-old".to_owned());
    assert_eq!(replaced(&mut world), None);
    assert!(world.condition("AllMembersUpdated").2.starts_with("waits: main-0"));
    of(&mut world.pods[1]).waiting = waits(Why::EtcdEnds);
    assert_eq!(replaced(&mut world).as_deref(), Some("main-1"));
}

/// What a cluster of one is lost by: etcd 3.7 ends at what 3.5 wrote, and no image goes back.
#[test]
fn an_image_stays_until_every_member_has_said_that_the_next_can_read_its_log() {
    let mut world = World::running(&three());
    world.record("9");
    world.etcd.status = world.decide().status;
    let image = |world: &World| {
        let set = world.objects.iter().find(|object| object.kind == Kind::StatefulSet).unwrap();
        set.object["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap().to_owned()
    };
    world.etcd.spec.etcd.image = Some("etcd:v3.7.3".to_owned());
    let says = |pods: &mut [Pod], holds: [Option<bool>; 3]| {
        pods.iter_mut().zip(holds).for_each(|(pod, holds)| of(pod).holds_v2 = holds);
    };
    for (holds, said) in [
        ([None, None, None], "main-0 has not said yet"),
        ([Some(false), Some(true), None], "the log of main-1 holds what etcd 3.5 wrote"),
        ([Some(false), Some(false), None], "main-2 has not said yet"),
    ] {
        says(&mut world.pods, holds);
        world.make();
        assert_eq!(image(&world), "etcd:v3.6.4", "{said}");
        assert_eq!(world.decide().steps, [], "{said}");
        let (status, _, message) = world.condition("AllMembersUpdated");
        assert!(status == "False" && message.contains(said), "{said}: {message}");
        assert!(message.ends_with("until then etcd:v3.6.4 stays"), "{message}");
    }
    // Nor does one that sleeps come up with it.
    let awake = std::mem::take(&mut world.pods);
    world.etcd.spec.replicas = 0;
    world.make();
    assert_eq!(image(&world), "etcd:v3.6.4");
    assert!(world.condition("AllMembersUpdated").2.contains("no member runs"));

    (world.etcd.spec.replicas, world.pods) = (3, awake);
    world.make();
    says(&mut world.pods, [Some(false); 3]);
    assert!(matches!(&world.decide().steps[..], [Step::Apply { kind: Kind::StatefulSet, .. }]));
    world.make();
    assert_eq!(image(&world), "etcd:v3.7.3");
    world.pods.iter_mut().for_each(|pod| pod.revision = "main-old".to_owned());
    assert_eq!(replaced(&mut world).as_deref(), Some("main-2"));
    // Members of 3.7 have nothing to say of it.
    of(&mut world.pods[2]).holds_v2 = None;
    world.make();
    assert_eq!(image(&world), "etcd:v3.7.3");
}
