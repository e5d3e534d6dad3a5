//! What is recorded, and what status says.

use super::*;

#[test]
fn a_cluster_is_recorded_once_it_has_quorum() {
    let mut world = World::running(&three());
    assert!(world.settle().contains(&Step::Record(ClusterId(9))));
    world.record("9");
    assert_eq!(world.settle(), []);
    for kind in ["Ready", "AllMembersReady", "AllMembersUpdated", "DataVolumesReady", "Supported"] {
        assert_eq!(world.condition(kind).0, "True", "{kind}");
    }
    assert_eq!(world.condition("ClusterIDMismatch").0, "False");
    assert_eq!((world.etcd.status.ready, world.etcd.status.observed_generation), (Some(true), Some(2)));
    assert_eq!(world.etcd.status.members.len(), 3);
    assert_eq!(
        (world.etcd.status.phase.as_deref(), world.etcd.status.join.as_deref()),
        (Some("Running"), None)
    );
    // Nothing is written while nothing changes.
    let later = decide(&Facts { now: "2027-01-01T00:00:00Z".parse().unwrap(), ..world.facts() });
    assert_eq!((later.status, later.steps, later.notes), (world.etcd.status.clone(), Vec::new(), Vec::new()));
}

#[test]
fn clusters_that_differ_are_never_recorded() {
    let mut world = World::running(&three());
    of(&mut world.pods[1]).cluster = Some(ClusterId(8));
    assert_eq!(world.settle(), []);
    let (status, _, message) = world.condition("ClusterIDMismatch");
    assert_eq!(status, "True");
    assert!(message.contains('8') && message.contains('9'), "{message}");
}

#[test]
fn a_join_is_complete_on_proof_alone_and_told_with_its_record() {
    let breaks: [(&str, Change); 7] = [
        ("2/3 joined; main-1: because of Unreachable", |world| {
            world.pods[1] = pod(1, Report { waiting: waits(Why::Unreachable), ..report(1) });
        }),
        ("main-1 is being joined", |world| of(&mut world.pods[1]).role = Some(Role::Learner)),
        ("main-1 is being joined", |world| world.pods[1].is_ready = false),
        ("main-1 has no pod yet", |world| drop(world.pods.remove(1))),
        ("the members don't report one cluster", |world| of(&mut world.pods[1]).cluster = Some(ClusterId(8))),
        ("has not: the source's src-0", |world| {
            world.pods.iter_mut().for_each(|pod| of(pod).members = list(&["main-0", "main-1", "main-2"]));
        }),
        ("has not: main-2 as a voter", |world| {
            world.pods.iter_mut().for_each(|pod| of(pod).members = list(&["main-0", "main-1", "src-0"]));
        }),
    ];
    for (said, hinder) in breaks {
        let mut world = World::running(&joining());
        hinder(&mut world);
        assert_eq!(world.settle(), [], "{said}");
        let (status, reason, message) = world.condition(crate::etcd::BOOTSTRAPPED);
        assert_eq!((status.as_str(), reason.as_str()), ("False", "BootstrapInProgress"));
        assert!(message.contains(said), "{said}: {message}");
        let join = world.etcd.status.join.as_deref();
        assert!(join.is_some_and(|join| message.starts_with(join)), "{said}: {join:?}, {message}");
        assert_eq!(world.etcd.status.phase.as_deref(), Some("Joining"));
        assert_eq!(world.etcd.status.bootstrap_with_existing_cluster, None);
    }
    let mut world = World::running(&joining());
    assert_eq!(world.settle(), [Step::Record(ClusterId(9))]);
    assert_eq!(world.condition(crate::etcd::BOOTSTRAPPED).0, "False");
    world.record("9");
    let decision = world.decide();
    assert!(decision.status.is_true(crate::etcd::BOOTSTRAPPED));
    assert_eq!(decision.status.bootstrap_with_existing_cluster.as_ref().unwrap().members[0].name, "src-0");
    assert_eq!(decision.status.join.as_deref(), Some("joined"));
    assert!(decision.notes.iter().any(|note| note.reason == "BootstrapSucceeded" && !note.is_warning));
    // Sticky, whatever becomes of the members and of the spec.
    world.etcd.status = decision.status;
    world.etcd.spec.etcd.bootstrap_with_existing_cluster = None;
    world.pods.clear();
    assert_eq!(world.condition(crate::etcd::BOOTSTRAPPED).0, "True");
}

#[test]
fn quorum_is_lost_only_where_it_was() {
    let mut world = World::running(&three());
    world.pods.iter_mut().for_each(|pod| pod.is_ready = false);
    assert_eq!(world.condition("Ready").1, "NotQuorateYet");
    world.record("9");
    let (status, reason, _) = world.condition("Ready");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "QuorumLost"));
    world.etcd.is_terminating = true;
    assert_eq!(world.condition("Ready").1, "Ending");
}

/// A pod that was ready a moment ago is no proof against those that are gone.
#[test]
fn quorum_is_lost_where_too_few_can_be_there() {
    let mut world = World::running(&three());
    world.record("9");
    world.pods.remove(1);
    assert_eq!(world.condition("Ready").0, "True", "3 of 4 voters, one of them another's");
    world.pods[1].is_running = false;
    let (status, reason, message) = world.condition("Ready");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "QuorumLost"));
    assert!(message.starts_with("3 voters are needed, and 2 can be there; main-1 has no pod"), "{message}");
}

#[test]
fn voters_of_others_are_known_until_the_list_is_another() {
    let mut world = World::running(&three());
    let others = |world: &World| world.decide().status.other_voters;
    assert_eq!(others(&world), ["src-0"]);
    world.settle();
    world.pods.clear();
    assert_eq!(others(&world), ["src-0"], "nobody says otherwise");
    let mut world = World::running(&three());
    world.settle();
    for pod in &mut world.pods {
        of(pod).members[3].learner = true;
    }
    assert_eq!(others(&world), [""; 0], "a learner has no vote");
    let mut world = World::running(&three());
    world.settle();
    for pod in &mut world.pods {
        *of(pod) = Report { waiting: waits(Why::Removed), ..report(pod.ordinal) };
    }
    assert_eq!(others(&world), [""; 0], "whose members are all removed has no part in it any more");
}

#[test]
fn who_falls_asleep_is_not_asleep_yet() {
    let mut world = World::running(&three());
    world.record("9");
    world.etcd.spec.replicas = 0;
    let phase = |world: &World| world.decide().status.phase.unwrap();
    assert_eq!(phase(&world), "Hibernating");
    world.make();
    assert!(world.condition("AllMembersUpdated").2.contains("3 pods are there, of which 0 stay"));
    world.pods.clear();
    assert_eq!(phase(&world), "Hibernated");
}

#[test]
fn events_about_two_members_are_two() {
    let mut world = World::running(&three());
    world.record("9");
    let notes = world.decide().notes;
    let about: Vec<&str> = notes.iter().filter_map(|note| note.member.as_deref()).collect();
    assert_eq!(about, ["main-0", "main-1", "main-2"]);
    world.settle();
}

#[test]
fn a_member_whose_role_is_not_known_yet_is_called_none() {
    let mut world = World::running(&three());
    of(&mut world.pods[1]).role = Some(Role::Learner);
    of(&mut world.pods[2]).role = None;
    let notes = world.decide().notes;
    let added = notes.iter().filter(|note| note.reason == "MemberAdded").map(|note| note.text.as_str());
    let added: Vec<&str> = added.collect();
    assert!(added[1].starts_with("main-1 is a learner with id "), "{added:?}");
    assert!(
        added[2].starts_with("main-2 has id ") && added[2].ends_with("in the cluster's member list"),
        "{added:?}"
    );
}

#[test]
fn volumes_and_backups_are_what_they_are() {
    let mut world = World::running(&three());
    assert!(world.decide().status.condition("BackupReady").is_none());
    world.etcd.spec.backup.insert("store".to_owned(), json!({"prefix": "p"}));
    assert_eq!(world.condition("BackupReady").0, "False");
    of(&mut world.pods[1]).volume = Volume::Unreadable("half a log".to_owned());
    let (status, _, message) = world.condition("DataVolumesReady");
    assert_eq!((status.as_str(), message.as_str()), ("False", "the volume of main-1: half a log"));
    world.pods[1].said = Said::Nothing;
    let (status, _, message) = world.condition("DataVolumesReady");
    assert!(status == "Unknown" && message.contains("main-1"), "{status}: {message}");
}

#[test]
fn the_last_operation_says_what_the_loop_is_at() {
    let mut world = World::running(&three());
    world.record("9");
    world.settle();
    let state = |world: &World| world.decide().status.last_operation.unwrap();
    let stands = state(&world);
    assert_eq!((&*stands.kind, &*stands.state, &*stands.run_id), ("Reconcile", "Succeeded", "generation-2"));
    world.failures.push(("ERR_X".to_owned(), "x".to_owned()));
    assert_eq!(state(&world).state, "Error");
    world.failures.clear();
    world.etcd.is_terminating = true;
    let ends = state(&world);
    assert_eq!((&*ends.kind, &*ends.state), ("Delete", "Processing"));
}

/// Beside the configuration, where no pod is restarted for it.
#[test]
fn the_highest_number_of_starts_is_kept() {
    let mut world = World::running(&three());
    let starts = |world: &World| {
        let config = world.objects.iter().find(|object| object.name == "main-config").unwrap();
        crate::member::Starts::read(config.object["data"]["starts.json"].as_str().unwrap()).unwrap()
    };
    let set = |world: &mut World, number| {
        of(&mut world.pods[1]).volume =
            Volume::Data { member: MemberId(1), cluster: ClusterId(9), starts: number };
        // To keep a number is no update.
        assert_eq!(world.decide().status.phase.as_deref(), Some("Running"));
        world.settle();
    };
    world.record("9");
    world.settle();
    let before = world.objects.iter().find(|object| object.kind == Kind::StatefulSet).cloned();
    for (reported, kept) in [(5, 5), (3, 5)] {
        set(&mut world, reported);
        assert_eq!(starts(&world).of("main-1").unwrap().starts, kept);
    }
    let after = world.objects.iter().find(|object| object.kind == Kind::StatefulSet).cloned();
    assert_eq!(before, after);
}

#[test]
fn members_of_others_that_join_are_listed_until_the_join_is_complete() {
    let mut world = World::new(&joining());
    let members = [("other-0", "http://o:2380"), ("src-0", "http://not-what-the-spec-says:2380")];
    let members = members.map(|(name, url)| (name.to_owned(), vec![url.to_owned()]));
    world.neighbours.push(Neighbour {
        etcd: "other/other".to_owned(),
        unwell: None,
        members: members.into(),
    });
    world.make();
    let config = world.objects.iter().find(|object| object.name == "main-config").unwrap();
    let config: Config = serde_json::from_str(config.object["data"][Config::KEY].as_str().unwrap()).unwrap();
    let listed = config.source.unwrap().members;
    assert_eq!(listed["other-0"], ["http://o:2380"]);
    assert_eq!(listed["src-0"], ["http://10.0.0.1:2380"], "the spec's word counts");
}

#[test]
fn an_object_of_somebody_else_is_left_alone_and_named() {
    let mut world = World::new(&three());
    for object in &mut world.objects {
        if object.name == "main-peer" {
            object.object = json!({"metadata": {"labels": {"theirs": "yes"}}});
        }
    }
    let decision = world.decide();
    assert_eq!(decision.steps, []);
    let [error] = &decision.status.last_errors[..] else { panic!("{:?}", decision.status.last_errors) };
    assert_eq!(error.code, "ERR_FOREIGN_OBJECT");
    assert!(error.description.contains("kubectl delete service main-peer -n shop"), "{}", error.description);
    assert!(decision.notes.iter().any(|note| note.is_warning));
    assert_eq!(decision.status.observed_generation, None);
}

#[test]
fn a_foreign_change_is_mended_by_uid() {
    let mut world = World::running(&three());
    world.record("9");
    let at = world.objects.iter().position(|object| object.name == "main-client").unwrap();
    world.objects[at].object["spec"]["ports"][0]["port"] = 1.into();
    let steps = world.decide().steps;
    assert!(
        matches!(&steps[..], [Step::Apply { kind: Kind::Service, uid: Some(uid), .. }] if uid == "uid-main-client")
    );
}
