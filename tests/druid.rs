//! etcd-druid's own definition and example manifests, where its data is at hand.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test"
)]

use etcd_warden::admission::{Audited, Policy, review};
use etcd_warden::audit::Stage;
use etcd_warden::etcd::crd::{self, Strength};
use etcd_warden::rules::Settings;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

#[path = "support/reviews.rs"]
#[allow(dead_code, reason = "each test program uses its part of what is shared")]
mod reviews;

/// Where etcd-druid's examples are laid beside the project, if they are.
fn examples() -> Option<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/druid/examples");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    Some(files)
}

#[test]
fn druids_examples_are_accepted_unchanged() {
    let Some(files) = examples() else {
        eprintln!("skipped: etcd-druid's examples are not at hand");
        return;
    };
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        let text = fs::read_to_string(&file).expect("an example");
        let mut object: Value = serde_saphyr::from_str(&text).expect("YAML");
        object["metadata"]["namespace"] = json!("default");
        for stage in [Stage::Validate, Stage::Mutate] {
            let body = reviews::create(&object).to_string();
            let outcome =
                review(stage, body.as_bytes(), &Policy::new(&Settings::default(), Audited::Rejections))
                    .expect("a review");
            let answer: Value = serde_json::from_slice(&outcome.body).expect("JSON");
            let expected = json!({"uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "allowed": true});
            assert_eq!(answer["response"], expected, "{}", file.display());
        }
    }
}

/// Fields that etcd-druid's definition doesn't have; each stands in `docs/compatibility.md`.
const ADDED: [&str; 4] = ["status.formingAttempt", "status.join", "status.otherVoters", "status.phase"];

/// Why something differs, in the words of `docs/compatibility.md`: a keyword of the schema, the path at which it
/// differs (the beginning of it), and the first cell of the row.
const REASONS: [(&str, &str, &str); 12] = [
    ("default", "spec", "defaults"),
    ("pattern", "spec", "patterns"),
    ("maxProperties", "spec.labels", "bounds on texts and maps"),
    ("maxProperties", "spec.annotations", "bounds on texts and maps"),
    ("maxProperties", "spec.etcd.clientService", "bounds on texts and maps"),
    ("maxLength", "spec", "bounds on texts and maps"),
    ("minimum", "spec.replicas", "`replicas`"),
    ("x-kubernetes-list-type", "spec.etcd.bootstrap", "source members and advertised URLs"),
    ("x-kubernetes-list-map-keys", "spec.etcd.bootstrap", "source members and advertised URLs"),
    ("x-kubernetes-list-type", "spec.etcd.additional", "source members and advertised URLs"),
    ("x-kubernetes-list-map-keys", "spec.etcd.additional", "source members and advertised URLs"),
    ("minLength", "spec.etcd.bootstrap", "an empty name of a source member"),
];

#[test]
fn every_difference_from_druids_definition_has_a_documented_reason() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/druid/crd-etcds.yaml");
    let Ok(text) = fs::read_to_string(file) else {
        eprintln!("skipped: etcd-druid's definition is not at hand");
        return;
    };
    let druid: Value = serde_saphyr::from_str(&text).expect("YAML");
    let here = crd::definition(Strength::Full, true).expect("a definition");
    let documentation = include_str!("../docs/compatibility.md");
    let mut differences = Vec::new();
    let version = |definition: &Value| definition["spec"]["versions"][0].clone();
    let (druid, here) = (version(&druid), version(&here));
    differ(&druid["schema"]["openAPIV3Schema"], &here["schema"]["openAPIV3Schema"], "", &mut differences);
    assert_eq!(druid["subresources"], here["subresources"]);
    let mut used = std::collections::BTreeSet::new();
    for (path, keyword) in &differences {
        let reason = REASONS.iter().position(|(name, begin, _)| name == keyword && path.starts_with(begin));
        let reason = reason.unwrap_or_else(|| panic!("{path}: {keyword} differs, without a reason"));
        used.insert(reason);
        let row = format!("\n| {} |", REASONS[reason].2);
        assert!(documentation.contains(&row), "docs/compatibility.md has no row{row}");
    }
    for field in ADDED {
        assert!(documentation.contains(&format!("\n| `{field}` |")), "docs/compatibility.md has no {field}");
    }
    assert_eq!(used.len(), REASONS.len(), "a reason for what doesn't differ: {used:?}");
}

/// Paths and keywords that differ. Descriptions and CEL are not compared; a list is atomic where nothing else is said.
fn differ(druid: &Value, here: &Value, path: &str, differences: &mut Vec<(String, String)>) {
    let empty = serde_json::Map::new();
    let (druid, here) = (druid.as_object().unwrap_or(&empty), here.as_object().unwrap_or(&empty));
    let keys: std::collections::BTreeSet<&String> = druid.keys().chain(here.keys()).collect();
    for key in keys {
        let (one, other) = (druid.get(key), here.get(key));
        match key.as_str() {
            "description" | "x-kubernetes-validations" => {}
            "properties" => {
                let names = |schema: Option<&Value>| -> Vec<String> {
                    schema
                        .and_then(Value::as_object)
                        .into_iter()
                        .flatten()
                        .map(|(name, _)| name.clone())
                        .collect()
                };
                let here_only = |name: &String| ADDED.contains(&format!("{path}.{name}").as_str());
                let shared: Vec<String> = names(other).into_iter().filter(|name| !here_only(name)).collect();
                assert_eq!(names(one), shared, "fields of {path:?}");
                for name in names(one) {
                    let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    differ(&druid["properties"][&name], &here["properties"][&name], &below, differences);
                }
            }
            "items" => differ(&druid[key], &here[key], &format!("{path}[]"), differences),
            "additionalProperties" => differ(&druid[key], &here[key], &format!("{path}{{}}"), differences),
            "pattern" if path.contains(".resources.") => {
                assert!(one.is_some() && other.is_some(), "{path}: a quantity without a pattern");
            }
            _ if same(key, one, other) => {}
            _ => differences.push((path.to_owned(), key.clone())),
        }
    }
}

fn same(key: &str, one: Option<&Value>, other: Option<&Value>) -> bool {
    let sorted = |value: Option<&Value>| {
        let mut words: Vec<String> =
            value.and_then(Value::as_array).into_iter().flatten().map(ToString::to_string).collect();
        words.sort();
        words
    };
    let kind = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or("atomic").to_owned();
    match key {
        "required" | "enum" => sorted(one) == sorted(other),
        "x-kubernetes-list-type" => kind(one) == kind(other),
        _ => one == other,
    }
}
