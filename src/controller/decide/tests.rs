use std::collections::BTreeMap;

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::pod::{Said, Word};
use super::super::render::{Settings, render};
use super::*;
use crate::member::{Config, Listed, MemberId, Report, Role, Volume, Waiting, Why};

const UID: &str = "5d1c";
const TEMPLATE: &str = "main-new";

/// An Etcd, its objects as they should be, and pods that wait for the word.
struct World {
    etcd: Etcd,
    objects: Vec<Stands>,
    pods: Vec<Pod>,
    neighbours: Vec<Neighbour>,
    failures: Vec<(String, String)>,
}

use super::super::facts::Neighbour;
use super::super::object::Etcd;

fn settings() -> Settings {
    Settings { etcd_image: Some("etcd:v3.6.4".to_owned()), agent_image: "etcd-warden:1".to_owned() }
}

fn etcd(spec: &Value) -> Etcd {
    let metadata = json!({"name": "main", "namespace": "shop", "uid": UID, "resourceVersion": "7", "generation": 2,
        "finalizers": [LEAVE_FINALIZER]});
    let object = json!({"apiVersion": "v", "kind": "Etcd", "metadata": metadata, "spec": spec});
    Etcd::read(&serde_json::from_value(object).unwrap()).unwrap()
}

fn stands(kind: Kind, name: &str, object: Value) -> Stands {
    Stands { kind, name: name.to_owned(), uid: format!("uid-{name}"), is_terminating: false, object }
}

fn waits(why: Why) -> Option<Waiting> {
    Some(Waiting { why, message: format!("because of {why:?}"), since: "2026-11-29T20:00:00Z".to_owned() })
}

fn report(ordinal: u32) -> Report {
    Report {
        etcd: UID.to_owned(),
        started: "2026-11-29T20:00:00Z".to_owned(),
        name: format!("main-{ordinal}"),
        etcd_version: Some("3.6.4".to_owned()),
        volume: Volume::Empty,
        id: None,
        cluster: None,
        role: None,
        members: Vec::new(),
        took: None,
        left: false,
        waiting: waits(Why::NoWord),
    }
}

fn pod(ordinal: u32, report: Report) -> Pod {
    Pod {
        name: format!("main-{ordinal}"),
        uid: format!("pod-{ordinal}"),
        resource_version: format!("{ordinal}"),
        ordinal,
        is_terminating: false,
        is_ready: false,
        is_running: true,
        trouble: None,
        revision: TEMPLATE.to_owned(),
        word: None,
        told_to_leave: false,
        said: Said::Report(Box::new(report)),
    }
}

fn list(names: &[&str]) -> Vec<Listed> {
    let member = |(at, name): (usize, &&str)| Listed {
        id: MemberId(at as u64),
        name: (*name).to_owned(),
        learner: false,
    };
    names.iter().enumerate().map(member).collect()
}

/// A voter of cluster 9 that is well.
fn voter(ordinal: u32) -> Pod {
    let role = if ordinal == 0 { Role::Leader } else { Role::Voter };
    let id = MemberId(u64::from(ordinal));
    let mut pod = pod(
        ordinal,
        Report {
            volume: Volume::Data { member: id, cluster: ClusterId(9), starts: 1 },
            id: Some(id),
            cluster: Some(ClusterId(9)),
            role: Some(role),
            members: list(&["main-0", "main-1", "main-2", "src-0"]),
            waiting: None,
            ..report(ordinal)
        },
    );
    pod.is_ready = true;
    pod
}

fn of(pod: &mut Pod) -> &mut Report {
    match &mut pod.said {
        Said::Report(report) => report,
        _ => panic!("{} has no report", pod.name),
    }
}

impl World {
    fn new(spec: &Value) -> Self {
        let etcd = etcd(spec);
        let mut world = Self {
            etcd,
            objects: Vec::new(),
            pods: Vec::new(),
            neighbours: Vec::new(),
            failures: Vec::new(),
        };
        world.make();
        world.pods = (0..world.etcd.spec.replicas).map(|ordinal| pod(ordinal, report(ordinal))).collect();
        world
    }

    fn running(spec: &Value) -> Self {
        let mut world = Self::new(spec);
        world.pods = (0..world.etcd.spec.replicas).map(voter).collect();
        world
    }

    /// Its objects, as they should be.
    fn make(&mut self) {
        let facts_standing = self.facts().standing();
        let kept: Vec<Stands> =
            self.objects.drain(..).filter(|object| object.name == "main-cluster").collect();
        self.objects = render(&self.etcd, &settings(), &facts_standing)
            .unwrap()
            .iter()
            .map(|rendered| {
                let mut object = marked(rendered);
                if rendered.kind == Kind::StatefulSet {
                    object["metadata"]["generation"] = 1.into();
                    object["status"] = json!({"observedGeneration": 1, "updateRevision": TEMPLATE});
                }
                stands(rendered.kind, &rendered.name, object)
            })
            .chain(kept)
            .collect();
    }

    fn record(&mut self, cluster: &str) {
        let object = json!({"metadata": {"annotations": {super::super::render::BELONGS_TO: UID}}, "data": {"cluster-id": cluster}});
        self.objects.push(stands(Kind::ConfigMap, "main-cluster", object));
    }

    fn facts(&self) -> Facts<'_> {
        static SETTINGS: std::sync::LazyLock<Settings> = std::sync::LazyLock::new(settings);
        Facts {
            etcd: &self.etcd,
            objects: &self.objects,
            pods: &self.pods,
            neighbours: &self.neighbours,
            settings: &SETTINGS,
            failures: &self.failures,
            now: "2026-11-29T20:10:00.5Z".parse::<Timestamp>().unwrap(),
        }
    }

    fn decide(&self) -> Decision {
        decide(&self.facts())
    }

    /// Decides, keeps the status, and applies what is to be applied, until something else is to be done, or nothing is to be done or written.
    fn settle(&mut self) -> Vec<Step> {
        for _ in 0..5 {
            let decision = self.decide();
            let is_settled = decision.status == self.etcd.status && decision.steps.is_empty();
            self.etcd.status = decision.status;
            if is_settled || !decision.steps.iter().all(|step| matches!(step, Step::Apply { .. })) {
                return decision.steps;
            }
            self.make();
        }
        panic!("the status never settles");
    }

    fn condition(&self, kind: &str) -> (String, String, String) {
        let status = self.decide().status;
        let found = status.condition(kind).unwrap_or_else(|| panic!("no {kind}")).clone();
        (found.status, found.reason, found.message)
    }
}

fn three() -> Value {
    json!({"replicas": 3})
}

fn joining() -> Value {
    json!({"replicas": 3, "etcd": {"bootstrapWithExistingCluster": {
        "members": [{"name": "src-0", "peerUrls": ["http://10.0.0.1:2380"]}], "clientEndpoints": ["http://10.0.0.1:2379"]}}})
}

fn given(steps: &[Step]) -> Vec<(String, String)> {
    let given = |step: &Step| match step {
        Step::Give(pod, form) => Some((pod.name.clone(), form.token.clone())),
        _ => None,
    };
    steps.iter().filter_map(given).collect()
}

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
    let cases: [(&str, fn(&mut World)); 9] = [
        ("main-1 has no pod yet", |world| drop(world.pods.remove(1))),
        ("main-1 has not reported yet", |world| world.pods[1].said = Said::Nothing),
        ("main-1 can't be scheduled: no node", |world| {
            (world.pods[1].said, world.pods[1].trouble) =
                (Said::Stale, Some("can't be scheduled: no node".to_owned()));
        }),
        ("main-1 is ending", |world| world.pods[1].is_terminating = true),
        ("main-1 reports what doesn't count: x", |world| world.pods[1].said = Said::Odd("x".to_owned())),
        ("main-1 waits: because of ApiServer", |world| {
            of(&mut world.pods[1]).waiting = waits(Why::ApiServer)
        }),
        ("main-1 is about to start", |world| of(&mut world.pods[1]).waiting = None),
        ("main-1 has a volume that can't be read", |world| {
            (of(&mut world.pods[1]).volume, of(&mut world.pods[1]).waiting) =
                (Volume::Unreadable("half".to_owned()), None);
        }),
        ("main-1 waits: because of NoWord", |world| {
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
    let cases: [(&str, Value, fn(&mut World)); 6] = [
        ("recorded", three(), |world| world.record("9")),
        ("recorded, unreadably", three(), |world| world.record("x")),
        ("joining", joining(), |_| {}),
        ("members once", three(), |world| {
            world.etcd.status.members = vec![super::super::status::Member::default()];
        }),
        ("joined once, source cleared", three(), |world| {
            world.etcd.status.bootstrap_with_existing_cluster =
                Some(super::super::status::Snapshot::default());
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

#[test]
fn a_cluster_is_recorded_once_it_has_quorum() {
    let mut world = World::running(&three());
    assert!(world.settle().contains(&Step::Record(ClusterId(9))));
    world.record("9");
    assert_eq!(world.settle(), []);
    for kind in ["Ready", "AllMembersReady", "AllMembersUpdated", "Supported"] {
        assert_eq!(world.condition(kind).0, "True", "{kind}");
    }
    assert_eq!(world.condition("ClusterIDMismatch").0, "False");
    assert_eq!((world.etcd.status.ready, world.etcd.status.observed_generation), (Some(true), Some(2)));
    assert_eq!(world.etcd.status.members.len(), 3);
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
    assert!(message.contains("8") && message.contains("9"), "{message}");
}

#[test]
fn a_join_is_complete_on_proof_alone_and_told_with_its_record() {
    let breaks: [(&str, fn(&mut World)); 7] = [
        ("2/3 joined; main-1 waits: because of Unreachable", |world| {
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
        assert_eq!(world.etcd.status.bootstrap_with_existing_cluster, None);
    }
    let mut world = World::running(&joining());
    assert_eq!(world.settle(), [Step::Record(ClusterId(9))]);
    assert_eq!(world.condition(crate::etcd::BOOTSTRAPPED).0, "False");
    world.record("9");
    let decision = world.decide();
    assert!(decision.status.is_true(crate::etcd::BOOTSTRAPPED));
    assert_eq!(decision.status.bootstrap_with_existing_cluster.as_ref().unwrap().members[0].name, "src-0");
    assert!(decision.notes.iter().any(|note| note.reason == "BootstrapSucceeded" && !note.is_warning));
    // Sticky, whatever becomes of the members and of the spec.
    world.etcd.status = decision.status;
    world.etcd.spec.etcd.bootstrap_with_existing_cluster = None;
    world.pods.clear();
    assert_eq!(world.condition(crate::etcd::BOOTSTRAPPED).0, "True");
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

fn replaced(world: &mut World) -> Option<String> {
    match &world.settle()[..] {
        [Step::Replace(pod)] => Some(pod.name.clone()),
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
}

#[test]
fn what_could_cost_quorum_waits_and_is_named() {
    let cases: [(&str, fn(&mut World)); 6] = [
        ("main-1 is not ready", |world| world.pods[1].is_ready = false),
        ("because of Unhealthy", |world| of(&mut world.pods[1]).waiting = waits(Why::Unhealthy)),
        ("(src-0) is a learner", |world| of(&mut world.pods[1]).members[3].learner = true),
        ("the Etcd other/main", |world| {
            world.neighbours.push(Neighbour {
                etcd: "other/main".to_owned(),
                cluster: ClusterId(9),
                is_well: false,
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
fn a_pod_that_gives_nothing_is_replaced_though_others_are_not_well() {
    let mut world = World::running(&three());
    world.record("9");
    world.pods[1].is_ready = false;
    (world.pods[2].is_running, world.pods[2].said, world.pods[2].is_ready) = (false, Said::Stale, false);
    world.pods[2].revision = "main-old".to_owned();
    assert_eq!(replaced(&mut world).as_deref(), Some("main-2"));
}

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

/// A target of a join with all members in.
fn joined() -> World {
    let mut world = World::running(&joining());
    world.record("9");
    world.settle();
    world.etcd.is_terminating = true;
    world
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
        world.pods.remove(at);
        order.push(name);
        world.etcd.status.members.retain(|member| world.pods.iter().any(|pod| pod.name == member.name));
    }
    assert_eq!(order, ["main-2", "main-1", "main-0"]);
    assert!(matches!(&world.decide().steps[..], [Step::Delete { kind: Kind::StatefulSet, .. }]));
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
    let cases: [(&str, fn(&mut World)); 3] = [
        ("main-1 is not ready", |world| world.pods[1].is_ready = false),
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
        assert!(
            matches!(&world.decide().steps[..], [Step::Delete { kind: Kind::StatefulSet, .. }]),
            "{said}"
        );
    }
}

/// What one pod may be in while a cluster is being formed.
fn any_pod(ordinal: u32) -> impl Strategy<Value = Option<Pod>> {
    let word = prop_oneof![Just(None), (1_u32..4, any::<bool>()).prop_map(Some)];
    let took = prop_oneof![Just(None), (1_u32..4).prop_map(Some)];
    (0..8_u8, word, took, any::<bool>()).prop_map(move |(state, word, took, ready)| {
        let mut pod = match state {
            0 => return None,
            1 => Pod { said: Said::Stale, ..pod(ordinal, report(ordinal)) },
            2 => voter(ordinal),
            3 => Pod { is_terminating: true, ..pod(ordinal, report(ordinal)) },
            _ => pod(ordinal, report(ordinal)),
        };
        pod.is_ready &= ready;
        pod.word = word.map(|(attempt, ours)| {
            let initial_cluster = if ours { initial_cluster() } else { "another".to_owned() };
            Word::Form(Form { token: Form::token(UID, attempt), initial_cluster })
        });
        if let Said::Report(report) = &mut pod.said {
            report.took = took.map(|attempt| Form::token(UID, attempt));
        }
        Some(pod)
    })
}

fn initial_cluster() -> String {
    let world = World::new(&three());
    let config: Config = config(&world.etcd, &Standing::default()).unwrap();
    config.initial_cluster()
}

proptest! {
    /// The word is given only where no earlier one can have led, or lead, to a cluster.
    #[test]
    fn the_word_is_safe(
        pods in (any_pod(0), any_pod(1), any_pod(2)),
        recorded in any::<bool>(),
        attempt in prop_oneof![Just(None), (1_u32..4).prop_map(Some)],
    ) {
        let mut world = World::new(&three());
        world.pods = [pods.0, pods.1, pods.2].into_iter().flatten().collect();
        world.etcd.status.forming_attempt = attempt;
        if recorded {
            world.record("9");
        }
        let decision = world.decide();
        let words: BTreeMap<String, String> = given(&decision.steps).into_iter().collect();
        if let Some(next) = decision.status.forming_attempt.filter(|_| decision.status.forming_attempt != attempt) {
            prop_assert!(attempt.is_none_or(|attempt| next > attempt));
            prop_assert!(words.is_empty(), "recorded first");
        }
        if words.is_empty() {
            return Ok(());
        }
        prop_assert!(!recorded);
        prop_assert_eq!(world.pods.len(), 3);
        for pod in &world.pods {
            let report = pod.report().unwrap();
            prop_assert_eq!(&report.volume, &Volume::Empty);
            prop_assert!(report.role.is_none() && !pod.is_terminating && !pod.used_its_word());
            for token in words.values() {
                prop_assert_ne!(report.took.as_ref(), Some(token), "a new attempt has a new token");
                prop_assert_eq!(token, &Form::token(UID, attempt.unwrap()));
                if let Some(Word::Form(held)) = &pod.word {
                    prop_assert_eq!(&held.token, token, "no two attempts at once");
                    prop_assert_eq!(&held.initial_cluster, &initial_cluster());
                }
            }
        }
    }

    /// Whatever is seen, a second look at it writes nothing new.
    #[test]
    fn status_settles(pods in (any_pod(0), any_pod(1), any_pod(2)), joins in any::<bool>()) {
        let mut world = World::new(&if joins { joining() } else { three() });
        world.pods = [pods.0, pods.1, pods.2].into_iter().flatten().collect();
        world.settle();
    }

    /// At most one pod is replaced, and none of a cluster that could miss it.
    #[test]
    fn replacing_is_safe(
        pods in (any_pod(0), any_pod(1), any_pod(2)),
        outdated in any::<[bool; 3]>(),
    ) {
        let mut world = World::new(&three());
        world.pods = [pods.0, pods.1, pods.2].into_iter().flatten().collect();
        world.record("9");
        for pod in &mut world.pods {
            if outdated[pod.ordinal as usize] {
                pod.revision = "main-old".to_owned();
            }
        }
        let decision = world.decide();
        let replaced: Vec<&Pod> = world.pods.iter().filter(|pod| decision.steps.contains(&Step::Replace((*pod).into()))).collect();
        prop_assert!(replaced.len() <= 1);
        if let [pod] = replaced[..] {
            prop_assert!(outdated[pod.ordinal as usize] && world.pods.len() == 3);
            let all_well = world.pods.iter().all(|pod| pod.is_ready && pod.is_voter());
            let gives_nothing = !pod.is_running || !pod.is_voter();
            prop_assert!(all_well || gives_nothing);
            if all_well && pod.role() == Some(Role::Leader) {
                prop_assert!(outdated == [true, false, false]);
            }
        }
    }
}
