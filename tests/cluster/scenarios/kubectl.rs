//! What kubectl prints when a manifest is refused, one for each rule: a snapshot that has to read well.

use std::fmt::Write as _;
use std::fs;

use etcd_warden::etcd::crd::Strength;
use etcd_warden::rules::RULES;
use serde_json::{Value, json};

use super::walls::Wall;
use crate::harness::cases::Case;
use crate::harness::{Bed, Options, Output, Warden};

const SNAPSHOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cluster/snapshots/kubectl.txt");

/// So many fixtures of a rule are tried.
const MOST: usize = 6;

const HEAD: &str = "What kubectl 1.36 prints for a rejected fixture of each rule, with the server and the structural definition
installed: standard error, as it is. `BLESS=1 cargo test --test cluster what_kubectl_prints` writes it anew.
";

#[test]
fn what_kubectl_prints_for_each_rule() {
    let options = Options { control_plane: true, ..Options::default() };
    let Some(bed) = Bed::with(&options) else { return };
    let wall = Wall::new(&bed, Some(Strength::Structural));
    let mut rules = by_rule();
    let home = bed.namespace();
    let mut printed = Vec::new();
    while let Some((_, first)) = rules.first() {
        let flags = first[0].flags.clone();
        let arguments: Vec<&str> = flags.iter().map(String::as_str).collect();
        let warden = Warden::validating_everywhere(&home, &arguments);
        let (now, later): (Vec<_>, Vec<_>) =
            rules.into_iter().partition(|(_, cases)| cases[0].flags == flags);
        printed.extend(now.iter().map(|(place, cases)| (*place, best(&bed, &wall, cases))));
        rules = later;
        drop(warden);
    }
    printed.sort();
    let seen = printed.into_iter().fold(HEAD.to_owned(), |text, (_, section)| text + &section);
    compare(&seen);
}

fn compare(seen: &str) {
    if std::env::var_os("BLESS").is_some() {
        fs::create_dir_all(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cluster/snapshots")).unwrap();
        fs::write(SNAPSHOT, seen).unwrap();
    }
    let kept = fs::read_to_string(SNAPSHOT).unwrap_or_default();
    let differs = seen.lines().zip(kept.lines()).find(|(seen, kept)| seen != kept);
    assert!(kept == seen, "it prints otherwise than {SNAPSHOT} has it; first: {differs:#?}");
}

/// Its place in the catalogue, and its first rejected fixtures by name.
fn by_rule() -> Vec<(usize, Vec<Case>)> {
    let all = Case::all();
    let of = |rule: &str| -> Vec<Case> {
        all.iter().filter(|case| case.folder == rule && !case.accepted).take(MOST).cloned().collect()
    };
    let rules = RULES.iter().enumerate().map(|(place, rule)| (place, of(rule.id)));
    rules.filter(|(_, cases)| !cases.is_empty()).collect()
}

/// What is printed for the first that is refused by its rule; where something else comes before it, for the first.
fn best(bed: &Bed, wall: &Wall, cases: &[Case]) -> String {
    let rule = format!("[{}]", cases[0].folder);
    let mut sections = cases.iter().map(|case| print(bed, wall, case));
    let first = sections.next().unwrap();
    if first.contains(&rule) {
        return first;
    }
    sections.find(|section| section.contains(&rule)).unwrap_or(first)
}

fn print(bed: &Bed, wall: &Wall, case: &Case) -> String {
    wall.with_namespace(&case.namespace);
    let is_stored = case.operation != "CREATE";
    if is_stored {
        let stored = wall.store(&case.stored(), &case.old["status"], case.is_terminating());
        assert!(stored.is_some(), "{}/{} can't be stored", case.folder, case.name);
    }
    let (command, output) = write(bed, case);
    if is_stored {
        wall.remove(&case.namespace, &case.object_name);
    }
    assert!(!output.status.success(), "{}/{} is let pass", case.folder, case.name);
    let mut section = format!("\n== {}: {}\n$ kubectl {command}\n", case.folder, case.name);
    write!(section, "{}", output.stderr).unwrap();
    section
}

/// The way in which one would write it, and what came of it.
fn write(bed: &Bed, case: &Case) -> (String, Output) {
    let name = case.object_name.as_str();
    let mut object = if case.operation == "DELETE" { Value::Null } else { case.written() };
    let replicas = format!("--replicas={}", object["spec"]["replicas"]);
    let command: Vec<&str> = match (case.operation.as_str(), case.subresource.as_str()) {
        ("DELETE", _) => vec!["delete", "etcd", name],
        (_, "/scale") => vec!["scale", "etcd", name, &replicas],
        (_, "/status") => vec!["replace", "--subresource=status", "--filename", "-"],
        ("UPDATE", _) => vec!["replace", "--filename", "-"],
        _ if object["metadata"]["name"].is_string() => vec!["apply", "--filename", "-"],
        _ => vec!["create", "--filename", "-"],
    };
    if case.operation == "UPDATE" {
        object["metadata"]["name"] = json!(name);
    }
    let output =
        bed.kubectl_with(&[&["--namespace", &case.namespace], &command[..]].concat(), &object.to_string());
    (command.join(" "), output)
}
