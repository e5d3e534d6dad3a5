//! Decisions, by tables and by chance.

mod chance;
mod ending;
mod forming;
mod rolling;
mod telling;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::facts::Neighbour;
use super::super::object::Etcd;
use super::super::pod::{Said, Word};
use super::super::render::{Settings, render};
use super::*;
use crate::member::{Config, Listed, MemberId, Report, Role, Volume, Waiting, Why};

const UID: &str = "5d1c";
const TEMPLATE: &str = "main-new";

/// What happens to a world.
type Change = fn(&mut World);

/// An Etcd, its objects as they should be, and pods that wait for the word.
struct World {
    etcd: Etcd,
    objects: Vec<Stands>,
    pods: Vec<Pod>,
    neighbours: Vec<Neighbour>,
    failures: Vec<(String, String)>,
}

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

#[allow(clippy::unnecessary_wraps, reason = "it stands where there may be none")]
fn waits(why: Why) -> Option<Waiting> {
    Some(Waiting { why, message: format!("because of {why:?}"), since: "2026-11-29T20:00:00Z".to_owned() })
}

fn report(ordinal: u32) -> Report {
    let started = "2026-11-29T20:00:00Z".to_owned();
    Report {
        etcd_version: Some("3.6.4".to_owned()),
        waiting: waits(Why::NoWord),
        ..Report::new(UID.to_owned(), started, format!("main-{ordinal}"))
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
        unwell: false,
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

    /// All pods have been given the word to form, and none has followed it.
    fn with_the_word() -> (Self, Form) {
        let mut world = Self::new(&three());
        let steps = world.settle();
        let Some(Step::Give(_, form)) = steps.first().cloned() else { panic!("{steps:?}") };
        for pod in &mut world.pods {
            pod.word = Some(Word::Form(form.clone()));
        }
        (world, form)
    }

    fn running(spec: &Value) -> Self {
        let mut world = Self::new(spec);
        world.pods = (0..world.etcd.spec.replicas).map(voter).collect();
        world.make();
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
        let object = json!({"metadata": {"annotations": {crate::controller::render::BELONGS_TO: UID}}, "data": {"cluster-id": cluster}});
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
