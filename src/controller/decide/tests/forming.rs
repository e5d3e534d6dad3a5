//! Forming a cluster.

use super::*;

#[test]
fn what_is_new_is_held_before_anything_is_made() {
    let mut world = World::new(&three());
    world.objects.clear();
    world.pods.clear();
    world.etcd.finalizers.clear();
    assert_eq!(world.decide().steps, [Step::Hold]);
    world.etcd.finalizers.push(LEAVE_FINALIZER.to_owned());
    let steps = world.decide().steps;
    assert_eq!(steps.len(), 8);
    assert!(steps.iter().all(|step| matches!(step, Step::Apply { uid: None, .. })), "{steps:?}");
}

#[test]
fn the_word_is_given_once_an_attempt_is_recorded() {
    let mut world = World::new(&three());
    let first = world.decide();
    assert_eq!((first.status.forming_attempt, first.steps.len()), (Some(1), 0));
    assert!(first.notes.iter().any(|note| note.reason == "Forming"));
    let steps = world.settle();
    let token = "5d1c/1".to_owned();
    assert_eq!(given(&steps), ["main-0", "main-1", "main-2"].map(|pod| (pod.to_owned(), token.clone())));
    let Step::Give(_, form) = &steps[0] else { panic!("{steps:?}") };
    assert_eq!(form.initial_cluster.split(',').count(), 3);
    for pod in &mut world.pods {
        pod.word = Some(Word::Form(form.clone()));
    }
    assert_eq!(world.settle(), [], "it is given");
}

#[test]
fn whatever_isn_t_empty_and_waiting_holds_the_word_up_and_is_named() {
    let cases: [(&str, Change); 9] = [
        ("main-1 has no pod yet", |world| drop(world.pods.remove(1))),
        ("main-1 has not reported yet", |world| world.pods[1].said = Said::Nothing),
        ("main-1 can't be scheduled: no node", |world| {
            (world.pods[1].said, world.pods[1].trouble) =
                (Said::Stale, Some("can't be scheduled: no node".to_owned()));
        }),
        ("main-1 is ending", |world| world.pods[1].is_terminating = true),
        ("main-1 reports what doesn't count: x", |world| world.pods[1].said = Said::Odd("x".to_owned())),
        ("main-1: because of ApiServer", |world| {
            of(&mut world.pods[1]).waiting = waits(Why::ApiServer);
        }),
        ("main-1 is about to start", |world| of(&mut world.pods[1]).waiting = None),
        ("main-1 has a volume that can't be read", |world| {
            (of(&mut world.pods[1]).volume, of(&mut world.pods[1]).waiting) =
                (Volume::Unreadable("half".to_owned()), None);
        }),
        ("main-1: because of NoWord", |world| {
            of(&mut world.pods[1]).volume =
                Volume::Data { member: MemberId(1), cluster: ClusterId(1), starts: 1 };
        }),
    ];
    for (said, hinder) in cases {
        let mut world = World::new(&three());
        hinder(&mut world);
        assert_eq!(given(&world.settle()), [], "{said}");
        assert_eq!(world.etcd.status.forming_attempt, None, "{said}");
        let (_, _, message) = world.condition("Ready");
        assert!(message.contains(said) || message.contains("no member"), "{said}: {message}");
    }
}

#[test]
fn no_word_where_there_is_or_was_a_cluster() {
    let cases: [(&str, Value, Change); 6] = [
        ("recorded", three(), |world| world.record("9")),
        ("recorded, unreadably", three(), |world| world.record("x")),
        ("joining", joining(), |_| {}),
        ("members once", three(), |world| {
            world.etcd.status.members = vec![crate::controller::status::Member::default()];
        }),
        ("joined once, source cleared", three(), |world| {
            world.etcd.status.bootstrap_with_existing_cluster =
                Some(crate::controller::status::Snapshot::default());
        }),
        ("terminating", three(), |world| world.etcd.is_terminating = true),
    ];
    for (case, spec, change) in cases {
        let mut world = World::new(&spec);
        change(&mut world);
        world.make();
        assert_eq!(given(&world.settle()), [], "{case}");
        assert_eq!(world.etcd.status.forming_attempt, None, "{case}");
    }
}

/// An agent takes its word before it says anything else.
#[test]
fn while_a_word_is_being_used_no_other_attempt_begins() {
    let (mut world, form) = World::with_the_word();
    let report = of(&mut world.pods[0]);
    (report.took, report.waiting) = (Some(form.token), None);
    assert_eq!(world.settle(), []);
    assert_eq!(world.etcd.status.forming_attempt, Some(1));
    let (_, _, message) = world.condition("Ready");
    assert!(message.contains("main-0 is about to start"), "{message}");
    // It came to nothing: the volume is empty, and a word is waited for again.
    of(&mut world.pods[0]).waiting = waits(Why::NoWord);
    assert_eq!(world.decide().status.forming_attempt, Some(2));
}

/// Its pods went before they had followed the word.
#[test]
fn a_cluster_that_was_begun_without_its_quorum_says_how_to_begin_anew() {
    let (mut world, form) = World::with_the_word();
    let begun = |waiting| Report {
        role: None,
        members: Vec::new(),
        waiting: waits(waiting),
        took: Some(form.token.clone()),
        ..voter(0).report().unwrap().clone()
    };
    world.pods[0] = Pod { word: world.pods[0].word.clone(), ..pod(0, begun(Why::CatchingUp)) };
    world.settle();
    assert_eq!(world.etcd.status.phase.as_deref(), Some("Forming"));
    let says = |world: &World| world.condition("Ready").2;
    assert!(!says(&world).contains("kubectl delete"), "the others have the word still: {}", says(&world));
    for ordinal in [1, 2] {
        let waiting = Report { waiting: waits(Why::Unreachable), ..report(ordinal) };
        world.pods[ordinal as usize] = pod(ordinal, waiting);
    }
    assert_eq!(given(&world.settle()), [], "nobody knows who has followed it");
    let said = says(&world);
    assert!(said.contains("begun without main-1, main-2, and can have no quorum"), "{said}");
    assert!(said.contains("kubectl delete pvc -n shop -l app.kubernetes.io/part-of=main"), "{said}");
    assert_eq!(world.etcd.status.phase.as_deref(), Some("Forming"));
    world.record("9");
    assert!(!says(&world).contains("kubectl delete"));
}

#[test]
fn a_used_word_is_never_given_again() {
    let mut world = World::new(&three());
    world.etcd.status.forming_attempt = Some(1);
    let form = Form { token: "5d1c/1".to_owned(), initial_cluster: "old".to_owned() };
    world.pods[0].word = Some(Word::Form(form));
    of(&mut world.pods[2]).took = Some("5d1c/4".to_owned());
    // Given for another cluster: a new attempt, above all that are known.
    assert_eq!(world.decide().status.forming_attempt, Some(5));
    let steps = world.settle();
    assert!(matches!(&steps[..], [Step::TakeBack(pod)] if pod.name == "main-0"), "{steps:?}");
    world.pods[0].word = None;
    assert_eq!(given(&world.settle()).len(), 3);
    // All took it and none has anything of it.
    for pod in &mut world.pods {
        of(pod).took = Some("5d1c/5".to_owned());
    }
    assert_eq!(world.decide().status.forming_attempt, Some(6));
}
