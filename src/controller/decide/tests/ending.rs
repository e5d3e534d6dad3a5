//! Hibernation, and the end.

use super::*;

#[test]
fn hibernation_keeps_what_is_known_and_says_so() {
    let mut world = World::running(&three());
    world.record("9");
    assert_eq!(world.settle(), []);
    world.etcd.spec.replicas = 0;
    world.pods.clear();
    world.make();
    assert_eq!(world.settle(), []);
    assert_eq!(
        world.condition("Ready"),
        ("Unknown".to_owned(), "NotChecked".to_owned(), "hibernated: spec.replicas is 0".to_owned())
    );
    let members: Vec<(&str, &str)> = world
        .etcd
        .status
        .members
        .iter()
        .map(|member| (member.status.as_str(), member.reason.as_str()))
        .collect();
    assert_eq!(members, [("Unknown", "Hibernated"); 3]);
}

#[test]
fn an_etcd_of_its_own_goes_pods_first() {
    let mut world = World::running(&three());
    world.record("9");
    world.settle();
    world.etcd.is_terminating = true;
    let deleted = |steps: &[Step]| -> Vec<String> {
        steps
            .iter()
            .map(|step| match step {
                Step::Delete { kind, name, .. } => format!("{}/{name}", kind.name()),
                other => format!("{other:?}"),
            })
            .collect()
    };
    assert_eq!(deleted(&world.settle()), ["StatefulSet/main"]);
    let set = world.objects.iter().position(|object| object.kind == Kind::StatefulSet).unwrap();
    world.objects[set].is_terminating = true;
    assert_eq!(world.decide().steps, []);
    world.objects.remove(set);
    world.pods.clear();
    assert_eq!(deleted(&world.decide().steps).len(), 8);
    world.objects.clear();
    assert_eq!(world.decide().steps, [Step::Release]);
}

/// A target of a join with all members in, which know that it ends.
fn joined() -> World {
    let mut world = World::running(&joining());
    world.record("9");
    world.settle();
    world.etcd.is_terminating = true;
    world.make();
    world
}

#[test]
fn nobody_leaves_before_it_is_sure_that_nobody_joins_any_more() {
    let mut world = World::running(&joining());
    // One is in, one is about to add itself, and one has no container yet.
    let (empty, learner) = (Volume::Empty, Some(Role::Learner));
    let report = of(&mut world.pods[1]);
    (report.volume, report.id, report.cluster, report.role) = (empty, None, None, None);
    (of(&mut world.pods[0]).role, world.pods[0].is_ready) = (learner, false);
    (world.pods[2].is_running, world.pods[2].said, world.pods[2].is_ready) = (false, Said::Nothing, false);
    world.etcd.status = world.decide().status;
    world.etcd.status.members.retain(|member| member.name == "main-0");
    world.make();
    world.etcd.is_terminating = true;
    assert!(
        matches!(&world.decide().steps[..], [Step::Apply { kind: Kind::ConfigMap, name, .. }] if name == "main-config")
    );
    world.make();
    assert_eq!(world.decide().steps, []);
    let (_, _, message) = world.condition("Left");
    assert!(message.contains("main-1") && message.contains("nobody joins any more"), "{message}");
    of(&mut world.pods[1]).waiting = waits(Why::Ending);
    assert_eq!(told(&world).as_deref(), Some("main-0"));
    // Nor is it missed when a voter leaves.
    (of(&mut world.pods[0]).role, world.pods[0].is_ready) = (Some(Role::Leader), true);
    world.pods.remove(2);
    assert_eq!(told(&world).as_deref(), Some("main-0"));
    // The same where nobody is in at all: the pods stay until nobody can be.
    world.etcd.status.members.clear();
    let report = of(&mut world.pods[0]);
    (report.volume, report.id, report.role) = (Volume::Empty, None, None);
    assert_eq!(world.decide().steps, []);
    of(&mut world.pods[0]).waiting = waits(Why::Ending);
    assert!(matches!(&world.decide().steps[..], [Step::Delete { kind: Kind::StatefulSet, .. }]));
}

fn told(world: &World) -> Option<String> {
    match &world.decide().steps[..] {
        [Step::Tell(pod, leave)] => {
            assert_eq!(format!("main-{}", leave.member), pod.name);
            Some(pod.name.clone())
        }
        _ => None,
    }
}

#[test]
fn members_leave_one_by_one_before_anything_is_deleted() {
    let mut world = joined();
    let mut order = Vec::new();
    while let Some(name) = told(&world) {
        let at = world.pods.iter().position(|pod| pod.name == name).unwrap();
        world.pods[at].told_to_leave = true;
        assert_eq!(world.decide().steps, [], "one at a time");
        assert!(world.condition("Left").2.contains("allow-quorum-loss"));
        // It stays down in its pod.
        world.pods[at].is_ready = false;
        let report = of(&mut world.pods[at]);
        (report.left, report.role, report.waiting) = (true, None, waits(Why::Removed));
        order.push(name);
        world.etcd.status = world.decide().status;
    }
    assert_eq!(order, ["main-2", "main-1", "main-0"]);
    assert!(matches!(&world.decide().steps[..], [Step::Delete { kind: Kind::StatefulSet, .. }]));
}

/// One whose etcd doesn't get up takes itself out to join anew, and then learns that nobody joins any more.
#[test]
fn a_member_that_took_itself_out_is_not_waited_for_once_a_list_shows_it() {
    let mut world = joined();
    world.pods[2].is_ready = false;
    let report = of(&mut world.pods[2]);
    report.volume = Volume::Unreadable("no data, and a record of an earlier life".to_owned());
    (report.role, report.waiting, report.members) = (None, waits(Why::Ending), Vec::new());
    assert_eq!(told(&world), None, "who sees no list may be a member still");
    of(&mut world.pods[2]).members = list(&["main-0", "main-1"]);
    assert_eq!(told(&world).as_deref(), Some("main-2"));
    (0..3).for_each(|at| of(&mut world.pods[at]).left = true);
    assert!(matches!(&world.decide().steps[..], [Step::Delete { kind: Kind::StatefulSet, .. }]));

    // A volume that is empty shows no list: its member may be one still, under an id that it doesn't know.
    let lost = Report { waiting: waits(Why::Ending), ..super::report(2) };
    for (members, is_out) in [(&[][..], false), (&["main-2", "src-0"], false), (&["src-0"], true)] {
        world.pods[2] = pod(2, Report { members: list(members), ..lost.clone() });
        let deletes = matches!(&world.decide().steps[..], [Step::Delete { .. }]);
        assert_eq!(deletes, is_out, "{members:?}");
        assert_eq!(world.decide().status.members.iter().any(|member| member.name == "main-2"), !is_out);
    }
}

/// It is out already: nobody misses it, and all that it has to do is to note that it left.
#[test]
fn a_member_that_somebody_removed_leaves_at_once() {
    let mut world = joined();
    world.pods[0].is_ready = false;
    let report = of(&mut world.pods[0]);
    (report.role, report.waiting) = (None, waits(Why::Removed));
    for at in [1, 2] {
        of(&mut world.pods[at]).members.retain(|member| member.name != "main-0");
    }
    world.pods[1].is_ready = false;
    assert_eq!(told(&world).as_deref(), Some("main-0"), "whoever else isn't well");
    world.pods[0].told_to_leave = true;
    assert_eq!(world.decide().steps, [], "until it has noted it");
    of(&mut world.pods[0]).left = true;
    world.etcd.status = world.decide().status;
    assert_eq!(world.decide().steps, []);
    assert!(world.condition("Left").2.contains("main-1 is not ready"));
    world.pods[1].is_ready = true;
    assert_eq!(told(&world).as_deref(), Some("main-2"));

    // One whose volume was emptied then, as it advised, has nothing to note, and doesn't come back once it has gone.
    (1..3).for_each(|at| of(&mut world.pods[at]).left = true);
    world.etcd.status.members = joined().etcd.status.members;
    let lost = Report { waiting: waits(Why::Ending), ..super::report(0) };
    world.pods[0] = pod(0, Report { members: list(&["src-0"]), ..lost });
    assert!(matches!(&world.decide().steps[..], [Step::Delete { kind: Kind::StatefulSet, .. }]));
    world.etcd.status = world.decide().status;
    world.pods.clear();
    world.objects.retain(|object| object.kind != Kind::StatefulSet);
    let steps = world.decide().steps;
    assert!(steps.iter().all(|step| matches!(step, Step::Delete { .. })) && !steps.is_empty(), "{steps:?}");
}

/// All that pods need to come up and to report.
#[test]
fn members_that_sleep_are_woken_to_leave() {
    let mut world = joined();
    world.pods.clear();
    world.etcd.spec.replicas = 0;
    world.make();
    assert_eq!(world.decide().steps, []);
    world.etcd.spec.replicas = 3;
    let kinds: Vec<Kind> = world
        .decide()
        .steps
        .iter()
        .map(|step| match step {
            Step::Apply { kind, .. } => *kind,
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(kinds.contains(&Kind::Role) && kinds.contains(&Kind::StatefulSet), "{kinds:?}");
    assert!(!kinds.contains(&Kind::PodDisruptionBudget), "what is owned may be on its way out: {kinds:?}");
    world.make();
    assert_eq!(world.decide().steps, []);
    world.pods = (0..3).map(voter).collect();
    assert_eq!(told(&world).as_deref(), Some("main-2"));
    // Where pods are there before they may report.
    world.objects.retain(|object| object.kind != Kind::Role);
    world.pods[1].said = Said::Nothing;
    assert!(matches!(&world.decide().steps[..], [Step::Apply { kind: Kind::Role, .. }]));
}

#[test]
fn a_member_that_left_is_no_member_any_more() {
    let mut world = joined();
    let at = 2;
    (of(&mut world.pods[at]).left, world.pods[at].is_ready) = (true, false);
    world.etcd.status = world.decide().status;
    assert_eq!(world.etcd.status.members.len(), 2);
}

#[test]
fn a_leave_that_isn_t_safe_waits_and_says_for_what() {
    let cases: [(&str, Change); 5] = [
        ("main-0 can't start its container etcd: ErrImagePull", |world| {
            for pod in &mut world.pods {
                (pod.is_running, pod.is_ready, pod.said) = (false, false, Said::Stale);
                pod.trouble = Some("can't start its container etcd: ErrImagePull: no such image".to_owned());
            }
        }),
        ("main-1 is not ready", |world| world.pods[1].is_ready = false),
        ("because of Unhealthy", |world| of(&mut world.pods[1]).waiting = waits(Why::Unhealthy)),
        ("main-1 has no pod that could take it out", |world| drop(world.pods.remove(1))),
        ("set spec.replicas to the number of its members", |world| {
            world.pods.clear();
            world.etcd.spec.replicas = 0;
        }),
    ];
    for (said, hinder) in cases {
        let mut world = joined();
        hinder(&mut world);
        assert_eq!(world.decide().steps, [], "{said}");
        let (status, reason, message) = world.condition("Left");
        assert_eq!((status.as_str(), reason.as_str()), ("False", "LeaveInProgress"));
        assert!(message.contains(said), "{said}: {message}");
        world.etcd.annotations.insert(crate::etcd::ALLOW_QUORUM_LOSS.to_owned(), "true".to_owned());
        let decision = world.decide();
        assert!(matches!(&decision.steps[..], [Step::Delete { kind: Kind::StatefulSet, .. }]), "{said}");
        let told =
            decision.notes.iter().find(|note| note.reason == "QuorumGivenUp").map(|note| note.text.clone());
        let told = told.unwrap_or_default();
        assert!(told.contains("main-0 (0), main-1 (1), main-2 (2)"), "{said}: {told}");
        assert!(told.contains("lives on, remove each: etcdctl member remove ID"), "{told}");
    }
}

/// Whatever keeps a pod from becoming a member: nobody joins any more, and nobody misses it.
#[test]
fn a_pod_that_is_no_member_keeps_no_member_from_leaving() {
    let cases: [(&str, Change); 3] = [
        ("no node", |world| {
            let pod = &mut world.pods[2];
            (pod.is_running, pod.is_ready, pod.said) = (false, false, Said::Nothing);
            pod.trouble = Some("can't be scheduled: 0/1 nodes are available".to_owned());
        }),
        ("no image", |world| {
            let pod = &mut world.pods[2];
            (pod.is_running, pod.is_ready, pod.said) = (false, false, Said::Nothing);
            pod.trouble = Some("can't start its container etcd: ImagePullBackOff: no such image".to_owned());
        }),
        ("no volume that it may write", |world| {
            let volume = Volume::Unreadable("user 65532 may not read and write /var/etcd/data".to_owned());
            world.pods[2] = pod(2, Report { volume, waiting: waits(Why::Configuration), ..report(2) });
        }),
    ];
    for (said, hinder) in cases {
        let mut world = World::running(&joining());
        hinder(&mut world);
        for pod in &mut world.pods[..2] {
            of(pod).members = list(&["main-0", "main-1", "src-0"]);
        }
        world.etcd.status = world.decide().status;
        world.etcd.is_terminating = true;
        world.make();
        assert_eq!(told(&world).as_deref(), Some("main-1"), "{said}");
        // One that the cluster has is missed, whoever knows of it.
        of(&mut world.pods[0]).members = list(&["main-0", "main-1", "main-2", "src-0"]);
        assert_eq!(world.decide().steps, [], "{said}");
        assert!(world.condition("Left").2.contains("main-2"), "{said}");
    }
}

#[test]
fn a_member_whose_pod_does_not_run_is_made_anew_where_the_spec_was_corrected() {
    let mut world = joined();
    let stuck = &mut world.pods[2];
    (stuck.is_running, stuck.is_ready, stuck.said) = (false, false, Said::Stale);
    stuck.trouble = Some("can't start its container etcd: ImagePullBackOff: no such image".to_owned());
    assert_eq!(world.decide().steps, []);
    let (_, _, message) = world.condition("Left");
    assert!(message.contains("main-2 can't start its container etcd: ImagePullBackOff"), "{message}");

    world.etcd.spec.etcd.image = Some("etcd:v3.6.5".to_owned());
    assert!(matches!(&world.decide().steps[..], [Step::Apply { kind: Kind::StatefulSet, .. }]));
    world.make();
    world.pods.iter_mut().for_each(|pod| pod.revision = "main-old".to_owned());
    assert!(matches!(&world.decide().steps[..], [Step::Replace { pod, .. }] if pod.name == "main-2"));
    // The same where the agent runs, and says that it can't run etcd.
    world.pods[2] = voter(2);
    (world.pods[2].is_ready, world.pods[2].revision) = (false, "main-old".to_owned());
    let report = of(&mut world.pods[2]);
    (report.role, report.waiting) = (None, waits(Why::Configuration));
    assert!(matches!(&world.decide().steps[..], [Step::Replace { pod, .. }] if pod.name == "main-2"));
    // It comes back and leaves; the others leave as they are.
    world.pods[2] = voter(2);
    assert_eq!(told(&world).as_deref(), Some("main-2"));
}
