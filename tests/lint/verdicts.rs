//! `lint` says what the server says: of every fixture, as a review and as a manifest.

use super::program::project;
use etcd_warden::admission::{Audited, Operation, Policy, review};
use etcd_warden::audit::Stage;
use etcd_warden::diagnostics::{Level, Source};
use etcd_warden::etcd::crd;
use etcd_warden::lint::{Filter, Lint, Linted, Stored};
use etcd_warden::rules::Settings;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// Rules by their ids.
type Ids = BTreeSet<String>;

struct Fixture {
    path: PathBuf,
    settings: fn() -> Settings,
}

fn settings(flags: &str) -> fn() -> Settings {
    match flags.trim() {
        "" | "--enforcement warn" => Settings::default,
        "--deletion-protection" => || Settings { deletion_protection: true, ..Settings::default() },
        flags if flags.starts_with("--allowed-images ") => {
            || Settings { allowed_images: vec!["registry.example/etcd/".into()], ..Settings::default() }
        }
        flags if flags.starts_with("--loop-user ") => || Settings {
            loop_user: Some("system:serviceaccount:etcd-warden:etcd-warden".into()),
            ..Settings::default()
        },
        other => panic!("{other} in a FLAGS file"),
    }
}

fn fixtures() -> Vec<Fixture> {
    let mut found = Vec::new();
    for folder in fs::read_dir(project().join("fixtures")).unwrap().map(|entry| entry.unwrap().path()) {
        let flags = fs::read_to_string(folder.join("FLAGS")).unwrap_or_default();
        for path in fs::read_dir(&folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if (name.starts_with("accepted-") || name.starts_with("rejected-")) && !name.contains(".answer.")
            {
                found.push(Fixture { path, settings: settings(&flags) });
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    assert!(found.len() > 300, "{}", found.len());
    found
}

/// The ids of what is refused, or nothing where the question itself is.
fn server(body: &[u8], settings: &Settings) -> Option<(bool, Ids)> {
    let outcome = review(Stage::Validate, body, &Policy::new(settings, Audited::All)).ok()?;
    let answer: Value = serde_json::from_slice(&outcome.body).unwrap();
    let rules = outcome.facts.rules.iter().map(|rule| (*rule).to_owned()).collect();
    Some((answer["response"]["allowed"] == json!(true), rules))
}

fn errors(linted: &Linted) -> Ids {
    let errors = linted.report.findings.iter().filter(|finding| finding.level == Level::Error);
    errors.map(|finding| finding.rule.clone()).filter(|rule| rule != "not-judged").collect()
}

fn is_clean(linted: &Linted) -> bool {
    linted.report.findings.iter().all(|finding| finding.level != Level::Error)
}

/// Bodies that no server takes, and `lint` does as files: an Etcd that is no review, and what is no JSON but still
/// what kubectl reads.
const TAKEN: [&str; 5] = [
    "rejected-bare-etcd.json",
    "rejected-byte-order-mark.json",
    "rejected-control-character-in-string.json",
    "rejected-trailing-comma.json",
    "rejected-two-reviews.json",
];

#[test]
fn every_review_gets_the_servers_verdict() {
    let mut taken = Vec::new();
    for Fixture { path, settings } in fixtures() {
        let bytes = fs::read(&path).unwrap();
        // What isn't UTF-8 is refused before anything reads it, here and there.
        let Ok(text) = String::from_utf8(bytes.clone()) else { continue };
        let lint = Lint::new(settings(), Filter::default());
        let linted = lint.text(Source::new("x", text), &Stored::default());
        match server(&bytes, &settings()) {
            Some((allowed, rules)) => {
                let is_judged = allowed || !rules.is_empty();
                let counts = (usize::from(is_judged), usize::from(!is_judged));
                assert_eq!((linted.counts.judged, linted.counts.not_judged), counts, "{}", path.display());
                assert_eq!(is_clean(&linted), allowed, "{}: {linted:?}", path.display());
                assert_eq!(errors(&linted), rules, "{}", path.display());
            }
            None => {
                if is_clean(&linted) && linted.counts.judged > 0 {
                    taken.push(path.file_name().unwrap().to_string_lossy().into_owned());
                }
            }
        }
    }
    assert_eq!(taken, TAKEN);
}

/// An object as it reaches `/validate` in a cluster: defaulted, mutated, with the status that is stored.
fn as_in_a_cluster(request: &Value, settings: &Settings) -> Value {
    let mut request = request.clone();
    for name in ["object", "oldObject"] {
        if let Some(object) = request.get_mut(name) {
            crd::fill_in(object);
        }
    }
    let status = request["oldObject"].get("status").cloned();
    if let Some(object) = request["object"].as_object_mut() {
        object.remove("status");
        object.extend(status.map(|status| ("status".to_owned(), status)));
    }
    request["userInfo"] = json!({});
    request["uid"] = json!("705ab4f5-6393-11e8-b7cc-42010a800002");
    let body = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
        .to_string();
    let outcome =
        review(Stage::Mutate, body.as_bytes(), &Policy::new(settings, Audited::All)).expect("a review");
    let answer: Value = serde_json::from_slice(&outcome.body).unwrap();
    for operation in patch(&answer) {
        operation.apply(&mut request["object"]).expect("a patch that fits");
    }
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
}

fn patch(answer: &Value) -> Vec<Operation> {
    use base64::Engine;
    let Some(patch) = answer["response"]["patch"].as_str() else { return Vec::new() };
    let json = base64::engine::general_purpose::STANDARD.decode(patch).expect("base64");
    serde_json::from_slice(&json).expect("a patch")
}

/// The question of a fixture, where it is one that a manifest can ask.
fn question(path: &PathBuf) -> Option<Value> {
    let review: Value = serde_json::from_slice(&fs::read(path).unwrap()).ok()?;
    let request = review["request"].clone();
    let is_etcd =
        |object: &Value| object["kind"] == "Etcd" && object["apiVersion"] == "druid.gardener.cloud/v1alpha1";
    let operation = request["operation"].as_str()?;
    let is_update = operation == "UPDATE" && is_etcd(&request["oldObject"]);
    let is_of_objects = request["subResource"].as_str().unwrap_or_default().is_empty()
        && request["resource"]["resource"] == "etcds"
        && request["kind"]["kind"] == "Etcd";
    // `kubectl apply` leaves other managers' finalizers, so that a manifest without them removes none.
    let finalizers = |name: &str| request[name]["metadata"]["finalizers"].is_array();
    let keeps_finalizers = !finalizers("oldObject") || finalizers("object");
    let is_asked = is_etcd(&request["object"]) && (is_update || operation == "CREATE");
    (is_asked && is_of_objects && keeps_finalizers).then_some(request)
}

#[test]
fn every_object_gets_the_servers_verdict_as_a_manifest() {
    let mut judged = 0;
    for Fixture { path, settings } in fixtures() {
        let Some(request) = question(&path) else { continue };
        let reference = as_in_a_cluster(&request, &settings());
        let Some((allowed, rules)) = server(reference.to_string().as_bytes(), &settings()) else { continue };
        let namespace = request["namespace"].as_str();
        let mut lint = Lint::new(settings(), Filter::default());
        lint.namespace = namespace.map(str::to_owned);
        let old = request["oldObject"].as_object().map(|old| json!(old).to_string()).unwrap_or_default();
        let stored = lint.stored(Source::new("old", old)).0;
        let json = request["object"].to_string();
        let yaml = serde_saphyr::to_string(&request["object"]).expect("YAML");
        for text in [json, yaml] {
            let linted = lint.text(Source::new("x", text.as_str()), &stored);
            assert_eq!(linted.counts.judged, 1, "{}: {linted:?}", path.display());
            assert_eq!(
                (is_clean(&linted), errors(&linted)),
                (allowed, rules.clone()),
                "{}:\n{text}",
                path.display()
            );
        }
        judged += 1;
    }
    assert!(judged > 200, "{judged}");
}
