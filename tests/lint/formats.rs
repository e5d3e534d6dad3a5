//! Every format, over the project's own manifests.
//!
//! `BLESS=1 cargo test --test lint` writes the snapshots anew.

use super::program::{Run, lint, project};
use serde_json::Value;
use std::collections::HashSet;
use std::fs;

const MANIFESTS: &str = "fixtures/manifests";

fn run(format: &str) -> Run {
    lint(&project(), &["--format", format, MANIFESTS], "")
}

/// The snapshot of a format; what the release changes is left out of it.
fn check_snapshot(format: &str, file: &str) {
    let run = run(format);
    assert_eq!((run.status, run.err.as_str()), (2, ""));
    let path = project().join("tests/lint/snapshots").join(file);
    let out =
        run.out.replace(concat!("\"version\": \"", env!("CARGO_PKG_VERSION"), "\""), "\"version\": \"…\"");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &out).expect("a snapshot");
    }
    let expected = fs::read_to_string(&path).expect("a snapshot");
    assert!(
        out == expected,
        "{file}: run BLESS=1 cargo test --test lint, and read the difference; got\n{out}"
    );
}

#[test]
fn text_is_what_it_was() {
    check_snapshot("text", "text.txt");
}

#[test]
fn json_is_what_it_was() {
    check_snapshot("json", "json.json");
}

#[test]
fn annotations_are_what_they_were() {
    check_snapshot("github", "github.txt");
}

#[test]
fn sarif_is_what_it_was() {
    check_snapshot("sarif", "sarif.json");
}

/// What SARIF 2.1.0 demands of the parts that are written: its schema, and the sentences of its text that a schema
/// can't hold.
#[test]
fn sarif_keeps_to_its_specification() {
    let log: Value = serde_json::from_str(&run("sarif").out).expect("JSON");
    assert_eq!(log["version"], "2.1.0");
    let runs = log["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 1);
    let driver = &runs[0]["tool"]["driver"];
    assert!(driver["name"].as_str().is_some_and(|name| !name.is_empty()));
    let rules = driver["rules"].as_array().expect("rules");
    let ids: HashSet<&str> = rules.iter().map(|rule| rule["id"].as_str().expect("an id")).collect();
    assert_eq!(ids.len(), rules.len(), "ids are unique");
    assert_eq!(runs[0]["invocations"][0]["executionSuccessful"], false, "a file could not be read");
    assert_eq!(runs[0]["columnKind"], "unicodeCodePoints");
    let results = runs[0]["results"].as_array().expect("results");
    assert!(results.len() > 20);
    for result in results {
        check_result(result, rules);
    }
}

fn check_result(result: &Value, rules: &[Value]) {
    let index = usize::try_from(result["ruleIndex"].as_u64().expect("an index")).expect("a small one");
    assert_eq!(rules[index]["id"], result["ruleId"], "{result}");
    assert!(["error", "warning", "note", "none"].contains(&result["level"].as_str().expect("a level")));
    assert!(result["message"]["text"].as_str().is_some_and(|text| !text.is_empty()));
    for location in result["locations"].as_array().expect("locations") {
        let physical = &location["physicalLocation"];
        let uri = physical["artifactLocation"]["uri"].as_str().expect("a URI");
        assert!(uri.starts_with(MANIFESTS) && uri.is_ascii() && !uri.contains(' '), "{uri}");
        let number = |name: &str| physical["region"][name].as_u64().expect("a number");
        let start = (number("startLine"), number("startColumn"));
        let end = (number("endLine"), number("endColumn"));
        assert!(start >= (1, 1) && end >= start, "{result}");
    }
}

/// Lines and columns of the JSON format lead to the text.
#[test]
fn json_tells_where_the_value_stands() {
    let log: Value = serde_json::from_str(&run("json").out).expect("JSON");
    let findings = log["findings"].as_array().expect("findings");
    let texts: Vec<(&str, String)> = findings
        .iter()
        .filter(|finding| finding["line"] == finding["endLine"])
        .map(|finding| {
            let text = fs::read_to_string(project().join(finding["file"].as_str().unwrap())).unwrap();
            let number = |name: &str| usize::try_from(finding[name].as_u64().unwrap()).unwrap();
            let line: Vec<char> = text.lines().nth(number("line") - 1).unwrap().chars().collect();
            let value: String = line[number("column") - 1..number("endColumn") - 1].iter().collect();
            (finding["rule"].as_str().unwrap(), value)
        })
        .collect();
    for expected in [
        ("bootstrap-peer-url-scheme", "\"http://c1-0.c1-peer.old.svc:2380\""),
        ("bootstrap-client-endpoint-own", "http://c2-client.new.svc:2379"),
        ("even-replicas", "3_0"),
        ("labels", "\"Straße 日本\""),
        ("unknown-field", "additionalAdvertisedPeerUrls"),
        ("tls-secret-refs", "serverTLSSecretRef"),
        ("type", "\"3\""),
    ] {
        assert!(
            texts.iter().any(|(rule, text)| (*rule, text.as_str()) == expected),
            "{expected:?}: {texts:?}"
        );
    }
}

#[test]
fn what_is_installed_is_passed_over() {
    let run = lint(&project(), &["manifests"], "");
    assert_eq!(run.status, 0, "{}", run.out);
    assert!(run.out.starts_with("nothing wrong: no Etcd in "), "{}", run.out);
    assert!(run.out.contains("1 CustomResourceDefinition"), "{}", run.out);
}

/// Good manifests are good, also by the strictest measure; bad ones are not.
#[test]
fn manifests_are_what_their_names_say() {
    for entry in fs::read_dir(project().join(MANIFESTS)).expect("manifests") {
        let path = entry.expect("a file").path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let run = lint(&project(), &["--deny", "warnings", path.to_str().unwrap()], "");
        assert_eq!(run.status == 0, !name.starts_with("bad"), "{name}: {}", run.out);
    }
}
