//! The two walls at random: objects of the fixtures with parts of other fixtures in them. CEL refuses nothing that the
//! rules accept, and what the full definition takes breaks no rule but those that it doesn't see.

use std::collections::BTreeMap;

use etcd_warden::admission::{Audited, Policy, review};
use etcd_warden::audit::Stage;
use etcd_warden::etcd::crd::{Strength, TYPE_RULE};
use etcd_warden::rules::{RULES, Settings};
use serde_json::{Value, json};

use super::walls::{Wall, names_a_rule};
use crate::harness::cases::Case;
use crate::harness::{Bed, Dice, is_long};

/// Every value that stands at a place in some fixture; a list's entries stand at one place.
#[derive(Default)]
struct Pool(BTreeMap<String, Vec<Value>>);

impl Pool {
    fn of(cases: &[Case]) -> Self {
        let mut pool = Self::default();
        for object in cases.iter().flat_map(|case| [&case.object, &case.old]) {
            pool.take("spec", &object["spec"]);
        }
        pool
    }

    fn take(&mut self, place: &str, value: &Value) {
        let inner: Vec<(String, &Value)> = match value {
            Value::Object(object) => {
                object.iter().map(|(key, value)| (format!("{place}.{key}"), value)).collect()
            }
            Value::Array(items) => items.iter().map(|value| (format!("{place}[]"), value)).collect(),
            _ => Vec::new(),
        };
        for (place, value) in inner {
            self.0.entry(place.clone()).or_default().push(value.clone());
            self.take(&place, value);
        }
    }

    /// The fields that stand directly at a place.
    fn fields(&self, place: &str) -> Vec<&str> {
        let begin = format!("{place}.");
        let names = self.0.keys().filter_map(|key| key.strip_prefix(&begin));
        names.filter(|name| !name.contains(['.', '['])).collect()
    }

    fn value(&self, place: &str, dice: &mut Dice) -> Option<Value> {
        dice.pick(self.0.get(place)?).cloned()
    }

    /// Changes something, somewhere below a place.
    fn change(&self, place: &str, value: &mut Value, dice: &mut Dice) {
        match value {
            Value::Object(object) => {
                let keys: Vec<String> = object.keys().cloned().collect();
                let fields = self.fields(place);
                if dice.one_in(3) && !fields.is_empty() {
                    let field = (*dice.pick(&fields).unwrap()).to_owned();
                    let new = self.value(&format!("{place}.{field}"), dice).unwrap();
                    object.insert(field, new);
                } else if let Some(key) = dice.pick(&keys) {
                    if dice.one_in(10) {
                        object.remove(key);
                    } else {
                        self.change(&format!("{place}.{key}"), &mut object[key], dice);
                    }
                }
            }
            Value::Array(items) => {
                let at = dice.below(items.len());
                match dice.below(10) {
                    0 => items.extend(self.value(&format!("{place}[]"), dice)),
                    1 if !items.is_empty() => drop(items.remove(at)),
                    2 => items.reverse(),
                    _ if !items.is_empty() => self.change(&format!("{place}[]"), &mut items[at], dice),
                    _ => {}
                }
            }
            Value::String(text) if text.contains("://") && dice.one_in(2) => *text = respelled(text, dice),
            other => *other = self.value(place, dice).unwrap_or(Value::Null),
        }
    }
}

fn respelled(url: &str, dice: &mut Dice) -> String {
    match dice.below(4) {
        0 => url.to_uppercase(),
        1 => url.replace("http://", "https://"),
        2 => url.replace(":2380", ".:2380").replace(":2379", ".:2379"),
        _ => url.replace(":2380", ":2381"),
    }
}

/// The ids of the rules that a change breaks, by the program's own verdict.
fn broken(operation: &str, namespace: &str, object: &Value, old: &Value) -> Vec<String> {
    let review_of = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "at-random",
            "kind": {"group": "druid.gardener.cloud", "version": "v1alpha1", "kind": "Etcd"},
            "resource": {"group": "druid.gardener.cloud", "version": "v1alpha1", "resource": "etcds"},
            "name": object["metadata"]["name"], "namespace": namespace, "operation": operation,
            "userInfo": {"username": "jane"}, "object": object, "oldObject": old,
        },
    });
    let settings = Settings::default();
    let policy = Policy::new(&settings, Audited::Rejections);
    let outcome = review(Stage::Validate, review_of.to_string().as_bytes(), &policy).unwrap();
    let answer: Value = serde_json::from_slice(&outcome.body).unwrap();
    let rules = answer["response"]["auditAnnotations"]["rules"].as_str().unwrap_or_default().to_owned();
    rules.split(',').filter(|id| !id.is_empty()).map(str::to_owned).collect()
}

/// Neither a value of the wrong type, which no definition of the resource has ever let in, nor what the API server
/// reads otherwise.
fn comparable(case: &Case) -> bool {
    let odd =
        ["odd", TYPE_RULE].contains(&case.folder.as_str()) || case.only_warns() || case.is_terminating();
    !odd && case.subresource.is_empty() && case.operation != "DELETE"
}

#[test]
fn both_walls_decide_alike_at_random() {
    let Some(bed) = Bed::control_plane("1.36") else { return };
    let wall = Wall::new(&bed, Some(Strength::Full));
    let cases: Vec<Case> = Case::all().into_iter().filter(comparable).collect();
    let accepted: Vec<&Case> = cases.iter().filter(|case| case.accepted).collect();
    let (pool, mut dice) = (Pool::of(&cases), Dice(1));
    let (mut refused, mut taken) = (0, 0);
    for round in 0..if is_long() { 4000 } else { 300 } {
        let mut case = (*dice.pick(&accepted).unwrap()).clone();
        for _ in 0..dice.below(3) {
            pool.change("spec", &mut case.old["spec"], &mut dice);
        }
        for _ in 0..=dice.below(3) {
            pool.change("spec", &mut case.object["spec"], &mut dice);
        }
        let Some(answer) = wall.judge(&case) else { continue };
        let rules = broken(&case.operation, &case.namespace, &case.object, &case.old);
        let about = format!("round {round}: {}\n{rules:?}\n{}\n{}", answer.message(), case.old, case.object);
        if answer.is_ok() {
            taken += 1;
            let seen = |id: &&String| RULES.iter().any(|rule| rule.id == **id && rule.beyond_crd.is_none());
            assert_eq!(rules.iter().find(seen), None, "{about}");
        } else {
            refused += 1;
            let untyped = answer.message().contains("invalid data");
            assert!(!rules.is_empty() || !names_a_rule(answer.message()) || untyped, "{about}");
        }
    }
    assert!(refused > 50 && taken > 50, "{refused} refused, {taken} taken: nothing was compared");
}
