//! etcd-druid's own example manifests, where its data is at hand.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::print_stderr, reason = "a test")]

use etcd_warden::admission::{Audited, Policy, review};
use etcd_warden::audit::Stage;
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
