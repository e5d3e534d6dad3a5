//! One wall held against the other: every fixture goes to the custom resource definition alone, and to the webhook
//! alone.
//!
//! Stored objects that break rules are written through a second version of the resource that has no schema.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use etcd_warden::etcd::crd::{self, Enforcement, Strength};
use etcd_warden::rules::RULES;
use serde_json::{Value, json};

use crate::harness::api::{Answer, Api, Content, ETCDS};
use crate::harness::cases::Case;
use crate::harness::{Bed, Warden, eventually, is_long};
use std::time::Duration;

/// The version without a schema.
const OPEN: &str = "open";
const STRICT: &str = "v1alpha1";

/// A definition whose version `v1alpha1` has this schema, beside one without any.
fn definition(schema: Option<Strength>) -> Value {
    let open = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let mut definition = crd::definition(schema.unwrap_or(Strength::Full), true).unwrap();
    let versions = definition["spec"]["versions"].as_array_mut().unwrap();
    if schema.is_none() {
        versions[0]["schema"] = open.clone();
        // The check behind /scale is the API server's own.
        versions[0]["subresources"] = json!({"status": {}});
    }
    versions.push(json!({
        "name": OPEN, "served": true, "storage": false, "schema": open, "subresources": {"status": {}},
    }));
    definition
}

/// An API server that judges fixtures.
pub(super) struct Wall {
    api: Api,
    /// Namespaces that are there.
    namespaces: RefCell<BTreeSet<String>>,
}

impl Wall {
    pub(super) fn new(bed: &Bed, schema: Option<Strength>) -> Self {
        let wall = Self { api: bed.api(), namespaces: RefCell::default() };
        let definition = definition(schema);
        let name = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/etcds.druid.gardener.cloud";
        wall.api.apply(name, &definition).ok();
        let schema = definition["spec"]["versions"][0]["schema"].to_string().len();
        eventually(Duration::from_secs(30), "the API server serves this definition", || {
            wall.serves(schema > 1000)
        });
        // Whoever a fixture is from may do what it does.
        let everyone = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "everyone"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}],
        });
        wall.api.apply("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/everyone", &everyone).ok();
        wall
    }

    /// Whether an object that no schema takes is refused, as it should be or shouldn't.
    fn serves(&self, strict: bool) -> Result<(), String> {
        let probe = json!({"apiVersion": format!("druid.gardener.cloud/{STRICT}"), "kind": "Etcd",
            "metadata": {"name": "probe"}, "spec": {"replicas": "many"}});
        let answer = self.api.post(&format!("{ETCDS}/{STRICT}/namespaces/default/etcds?dryRun=All"), &probe);
        let refused = answer.code == 422;
        let served = answer.is_ok() || refused;
        if served && refused == strict { Ok(()) } else { Err(answer.message().to_owned()) }
    }

    fn collection(version: &str, namespace: &str) -> String {
        format!("{ETCDS}/{version}/namespaces/{namespace}/etcds")
    }

    pub(super) fn with_namespace(&self, namespace: &str) {
        if !self.namespaces.borrow_mut().insert(namespace.to_owned()) {
            return;
        }
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        let answer = self.api.post("/api/v1/namespaces", &object);
        assert!(answer.is_ok() || answer.code == 409, "{}", answer.message());
    }

    /// The API server's answer to a fixture. Nothing where what is stored in it can't be.
    pub(super) fn judge(&self, case: &Case) -> Option<Answer> {
        self.with_namespace(&case.namespace);
        if case.operation == "CREATE" {
            let path = format!("{}?dryRun=All", Self::collection(STRICT, &case.namespace));
            let object = case.written();
            return Some(self.api.request("POST", &path, Some((&object, Content::Object)), &case.user));
        }
        let stored = self.store(&case.stored(), &case.old["status"], case.is_terminating());
        let answer = stored.map(|stored| self.change(case, &stored));
        self.remove(&case.namespace, &case.object_name);
        answer
    }

    /// Writes an object past every rule; what is stored then.
    pub(super) fn store(&self, object: &Value, status: &Value, terminating: bool) -> Option<Value> {
        let (namespace, name) = names(object);
        let mut object = object.clone();
        object["apiVersion"] = json!(format!("druid.gardener.cloud/{OPEN}"));
        if terminating && object["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty) {
            object["metadata"]["finalizers"] = json!(["scenarios.example/held"]);
        }
        let collection = Self::collection(OPEN, &namespace);
        let mut stored = Some(self.api.post(&collection, &object)).filter(Answer::is_ok)?.body;
        if !status.is_null() {
            stored["status"] = status.clone();
            let path = format!("{collection}/{name}/status");
            stored = Some(self.api.put(&path, &stored)).filter(Answer::is_ok)?.body;
        }
        if terminating {
            stored = self.api.delete(&format!("{collection}/{name}")).ok();
        }
        Some(stored)
    }

    fn change(&self, case: &Case, stored: &Value) -> Answer {
        let path = format!("{}/{}", Self::collection(STRICT, &case.namespace), case.object_name);
        if case.operation == "DELETE" {
            return self.api.request("DELETE", &format!("{path}?dryRun=All"), None, &case.user);
        }
        let mut object = case.written();
        object["metadata"]["name"] = json!(case.object_name);
        object["metadata"]["namespace"] = json!(case.namespace);
        object["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"].clone();
        if case.is_terminating() && case.old["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty) {
            object["metadata"]["finalizers"] = json!(["scenarios.example/held"]);
        }
        let path = format!("{path}{}?dryRun=All", case.subresource);
        self.api.request("PUT", &path, Some((&object, Content::Object)), &case.user)
    }

    /// Takes an object away past every rule.
    pub(super) fn remove(&self, namespace: &str, name: &str) {
        let path = format!("{}/{name}", Self::collection(OPEN, namespace));
        let answer = self.api.delete(&path);
        // It is gone; or here it is, held by something.
        if answer.body["kind"] == "Status" {
            assert!(answer.is_ok() || answer.code == 404, "{namespace}/{name}: {}", answer.message());
        } else {
            self.api.merge(&path, &json!({"metadata": {"finalizers": null}})).ok();
            assert_eq!(self.api.get(&path).code, 404, "{namespace}/{name} is still there");
        }
    }
}

fn names(object: &Value) -> (String, String) {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    (text("namespace"), text("name"))
}

/// The rule that a refusal of CEL or of the webhook names.
pub(super) fn names_a_rule(message: &str) -> bool {
    RULES.iter().any(|rule| message.contains(&format!("[{}]", rule.id)))
}

/// What a wall let pass of a rule's rejected fixtures, and how many it refused.
#[derive(Debug, Default)]
struct Tally {
    refused: usize,
    passed: Vec<String>,
}

/// The full definition alone.
fn the_definition_refuses_what_it_says(bed: &Bed) {
    let wall = Wall::new(bed, Some(Strength::Full));
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    let mut judged = 0;
    for case in Case::all().iter().filter(|case| case.operation != "DELETE" && !case.only_warns()) {
        let Some(answer) = wall.judge(case) else { continue };
        judged += 1;
        if case.accepted {
            let by_cel = !answer.is_ok() && names_a_rule(answer.message());
            assert!(!by_cel, "{}/{} is refused by CEL: {}", case.folder, case.name, answer.message());
        } else {
            let tally = tallies.entry(case.folder.clone()).or_default();
            tally.refused += usize::from(!answer.is_ok());
            tally.passed.extend(answer.is_ok().then(|| case.name.clone()));
        }
    }
    assert!(judged > 450, "only {judged} fixtures were judged");
    for rule in RULES {
        let Some(tally) = tallies.get(rule.id) else { continue };
        let by = Enforcement::of(rule.id);
        assert_eq!(by.schema || by.cel, tally.refused > 0, "{}: {tally:?}", rule.id);
        assert_eq!(rule.beyond_crd.is_some(), !tally.passed.is_empty(), "{}: {tally:?}", rule.id);
    }
}

/// The structural definition alone holds the rules about changes, and no others.
fn the_structural_definition_holds_what_is_final(bed: &Bed) {
    let wall = Wall::new(bed, Some(Strength::Structural));
    for case in Case::all().iter().filter(|case| case.operation == "UPDATE" && !case.only_warns()) {
        let Some(answer) = wall.judge(case) else { continue };
        let by_cel = !answer.is_ok() && names_a_rule(answer.message());
        if case.accepted {
            assert!(!by_cel, "{}/{} is refused: {}", case.folder, case.name, answer.message());
        } else if Enforcement::of(&case.folder).structural {
            assert!(!answer.is_ok(), "{}/{} is let pass", case.folder, case.name);
        }
    }
}

/// Of the fixtures that are so, the first of each rule that are accepted, so many, and as many that are rejected.
fn first(of_each: usize, is_so: impl Fn(&Case) -> bool) -> impl Iterator<Item = Case> {
    let mut seen: BTreeMap<(String, bool), usize> = BTreeMap::new();
    Case::all().into_iter().filter(is_so).filter(move |case| {
        let seen = seen.entry((case.folder.clone(), case.accepted)).or_default();
        *seen += 1;
        *seen <= of_each
    })
}

/// The webhook alone decides every fixture as the fixture says.
fn the_webhook_decides_as_the_fixtures_say(bed: &Bed, of_each: usize) {
    let wall = Wall::new(bed, None);
    let mut by_flags: BTreeMap<Vec<String>, Vec<Case>> = BTreeMap::new();
    for case in first(of_each, |case| case.subresource != "/scale") {
        by_flags.entry(case.flags.clone()).or_default().push(case);
    }
    let (mut by_webhook, mut otherwise) = (0, Vec::new());
    let home = bed.namespace();
    for (flags, cases) in by_flags {
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let warden = Warden::validating_everywhere(&home, &flags);
        for case in &cases {
            let Some(answer) = wall.judge(case) else { continue };
            let denied = answer.message().contains("admission webhook");
            let what = format!("{}/{}: {}", case.folder, case.name, answer.message());
            if case.accepted {
                assert!(!denied, "{what}");
            } else {
                assert!(!answer.is_ok(), "{what}");
                by_webhook += usize::from(denied);
                otherwise.extend((!denied).then_some(what));
            }
        }
        drop(warden);
    }
    let enough = if of_each == 1 { 50 } else { 350 };
    assert!(by_webhook > enough, "only {by_webhook} were refused by the webhook; not by it: {otherwise:#?}");
    assert!(otherwise.len() * 50 < by_webhook, "refused by something else: {otherwise:#?}");
}

/// What was stored before there were rules can be labelled, reported on, deleted and let go.
fn what_predates_the_rules_is_not_stuck(bed: &Bed, strength: Strength, of_each: usize) {
    let wall = Wall::new(bed, Some(strength));
    // A wrong type can't have been stored under any definition of the resource.
    let may_be_stored = |rule: &str| rule != crd::TYPE_RULE && RULES.iter().any(|known| known.id == rule);
    let predates = |case: &Case| case.operation == "CREATE" && !case.accepted && may_be_stored(&case.folder);
    let (mut tried, mut stored) = (0, 0);
    for case in first(of_each, predates) {
        tried += 1;
        wall.with_namespace(&case.namespace);
        let mut object = case.written();
        object["metadata"]["namespace"] = json!(case.namespace);
        object["metadata"]["finalizers"] = json!(["scenarios.example/held"]);
        let (_, name) = names(&object);
        if name.is_empty() || wall.store(&object, &Value::Null, false).is_none() {
            continue;
        }
        stored += 1;
        let path = format!("{}/{name}", Wall::collection(STRICT, &case.namespace));
        let labelled = json!({"metadata": {"labels": {"seen": "yes"}}});
        let let_go = json!({"metadata": {"finalizers": null}});
        let answers = [
            wall.api.merge(&path, &labelled),
            wall.api.merge(&format!("{path}/status"), &json!({"status": {"ready": false}})),
            wall.api.delete(&path),
            wall.api.merge(&path, &let_go),
        ];
        for answer in answers {
            let stuck = !answer.is_ok() && names_a_rule(answer.message());
            assert!(!stuck, "{}/{}: {}", case.folder, case.name, answer.message());
        }
        wall.remove(&case.namespace, &name);
    }
    let enough = if of_each == 1 { 30 } else { 200 };
    assert!(stored > enough && stored * 20 > tried * 19, "only {stored} of {tried} objects could be stored");
}

/// What differs between the minors is what the definition is to them: of the rest, a fixture of each rule will do.
fn both_walls(minor: &str, of_each: usize) {
    let Some(bed) = Bed::control_plane(minor) else { return };
    let of_each = if is_long() { usize::MAX } else { of_each };
    the_definition_refuses_what_it_says(&bed);
    the_structural_definition_holds_what_is_final(&bed);
    what_predates_the_rules_is_not_stuck(&bed, Strength::Full, of_each);
    what_predates_the_rules_is_not_stuck(&bed, Strength::Structural, of_each);
    the_webhook_decides_as_the_fixtures_say(&bed, of_each);
}

#[test]
fn both_walls_decide_alike_on_kubernetes_1_34() {
    both_walls("1.34", 1);
}

#[test]
fn both_walls_decide_alike_on_kubernetes_1_36() {
    both_walls("1.36", usize::MAX);
}

#[test]
fn both_walls_decide_alike_on_kubernetes_1_37() {
    both_walls("1.37", 1);
}
