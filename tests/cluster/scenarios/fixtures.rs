//! The fixtures, through a real API server: what the program answers is what the user of kubectl reads.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{Bed, Warden, fixture, is_long};

/// It spells its namespace otherwise than in lower case, and here it is in another one.
const BOUND_TO_ITS_NAMESPACE: &str = "bootstrap-peer-url-own/rejected-own-pod-other-port-upper-case";

/// What the API server refuses itself before it asks a validating webhook: names that no object may have, and replicas
/// that the scale subresource can't show.
const ITS_OWN_WORDS: [&str; 2] =
    ["a lowercase RFC 1123 subdomain must", "invalid: .spec.replicas: Invalid value"];

/// A refused creation, and what is said about it.
struct Refused {
    name: String,
    object: Value,
    violations: Vec<String>,
}

impl Refused {
    /// None where the fixture is no creation, or no answer of the rules.
    fn read(path: &Path, namespace: &str) -> Option<Self> {
        let folder = path.parent()?.file_name()?.to_string_lossy();
        let name = format!("{folder}/{}", path.file_stem()?.to_string_lossy());
        let read = |path: PathBuf| serde_json::from_str::<Value>(&fs::read_to_string(path).ok()?).ok();
        let review = read(path.to_owned())?;
        let answer = read(path.with_extension("answer.json"))?;
        let its_own = review["request"]["namespace"].as_str()?;
        let causes = answer["response"]["status"]["details"]["causes"].as_array()?;
        // Addresses of its own Services name the namespace, and so do messages.
        let moved = |text: String| {
            let text = text.replace(&format!(".{its_own}"), &format!(".{namespace}"));
            text.replace(&format!("\"{its_own}\""), &format!("\"{namespace}\""))
        };
        let is_created = review["request"]["operation"] == "CREATE" && name != BOUND_TO_ITS_NAMESPACE;
        is_created.then(|| Self {
            object: moved(fixture(&format!("{name}.json")).to_string()).parse().unwrap(),
            violations: causes.iter().map(violation).map(moved).collect(),
            name,
        })
    }
}

/// As kubectl prints a cause.
pub(super) fn violation(cause: &Value) -> String {
    format!("{}: {}", cause["field"].as_str().unwrap(), cause["message"].as_str().unwrap())
}

/// By folder, those that are judged by `/validate` with default flags.
fn refused_creations(namespace: &str) -> Vec<Vec<Refused>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let list = |path: &Path| {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths.into_iter()
    };
    let is_default =
        |path: &PathBuf| path.is_dir() && !path.join("HOOK").exists() && !path.join("FLAGS").exists();
    let is_refused = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("rejected-");
    let in_folder = |path: PathBuf| {
        list(&path).filter(is_refused).filter_map(|path| Refused::read(&path, namespace)).collect::<Vec<_>>()
    };
    list(&root).filter(is_default).map(in_folder).filter(|refused| !refused.is_empty()).collect()
}

/// Long: all of them. Short: the first of each rule.
#[test]
fn every_violation_of_a_refused_creation_reaches_the_user() {
    let Some(bed) = Bed::shared() else { return };
    bed.install_etcd_crd();
    let shop = bed.namespace();
    let warden = Warden::validating(&shop, &[]);
    let folders = refused_creations(&shop.name);
    assert!(folders.len() > 30, "{} rules", folders.len());
    let of_each = if is_long() { usize::MAX } else { 1 };
    let kept_back = folders.iter().flat_map(|folder| folder.iter().take(of_each)).filter_map(|refused| {
        let said = warden.create(&refused.object, &["--dry-run=server"]);
        let is_whole = refused.violations.iter().all(|violation| said.stderr.contains(violation))
            || ITS_OWN_WORDS.iter().any(|words| said.stderr.contains(words));
        (!is_whole || said.status.success()).then(|| format!("{}: {said:#?}", refused.name))
    });
    let kept_back: Vec<String> = kept_back.collect();
    assert!(kept_back.is_empty(), "{}", kept_back.join("\n"));
}
