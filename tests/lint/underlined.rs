//! What is underlined is the value, exactly, however the manifest is written and wherever the value stands.

use super::reviews::joining;
use super::written::{Written, json as as_json, yaml};
use etcd_warden::diagnostics::text::{Style, render};
use etcd_warden::diagnostics::{Finding, Level, Source};
use etcd_warden::lint::{Lint, Stored};
use proptest::prelude::*;
use serde_json::{Value, json};

const JOIN: [&str; 3] = ["spec", "etcd", "bootstrapWithExistingCluster"];

/// A value that breaks one rule.
#[derive(Clone, Debug)]
struct Violation {
    at: Vec<&'static str>,
    value: Value,
    rule: &'static str,
}

fn violations() -> Vec<Violation> {
    let violation = |at: &[&'static str], value: Value, rule| Violation { at: at.to_vec(), value, rule };
    let in_join =
        |at: &[&'static str], value: &str, rule| violation(&[&JOIN[..], at].concat(), value.into(), rule);
    vec![
        violation(&["spec", "replicas"], json!(-1), "replicas-range"),
        violation(&["spec", "replicas"], json!("größer"), "type"),
        violation(&["spec", "labels", "app"], json!("a 'größe' \"😀\""), "labels"),
        violation(&["spec", "etcd", "quota"], json!("-1Gi"), "quantities"),
        violation(&["spec", "etcd", "clientPort"], json!(70000), "ports"),
        violation(&["spec", "etcd", "metrics"], json!("everything"), "enums"),
        violation(&["spec", "etcd", "heartbeatDuration"], json!("zehn"), "durations"),
        violation(&["spec", "backup", "garbageCollectionPeriod"], json!(true), "type"),
        violation(
            &["spec", "etcd", "additionalAdvertisePeerURLs", "0", "urls", "0"],
            json!("http://127.0.0.1:2380"),
            "advertise-peer-urls",
        ),
        in_join(&["members", "0", "name"], "default", "bootstrap-member-name-default"),
        in_join(&["members", "1", "name"], "日本", "bootstrap-member-name"),
        in_join(&["members", "1", "peerUrls", "0"], "http://localhost:2380", "bootstrap-peer-url-host"),
        in_join(&["members", "0", "peerUrls", "0"], "ftp://größe:1", "bootstrap-peer-url-syntax"),
        in_join(&["clientEndpoints", "1"], "https://10.0.0.2:2379", "bootstrap-client-endpoint-scheme"),
    ]
}

/// An object that breaks just one rule.
fn broken(violation: &Violation) -> Value {
    let mut object = joining();
    object["metadata"]["annotations"] = json!({"note": "größe: # 'no'", "日本": "\"{x: [y", "a b": "😀"});
    let (last, parents) = violation.at.split_last().unwrap();
    let parent = parents.iter().fold(&mut object, |parent, step| match step.parse::<usize>() {
        Ok(index) => &mut parent[index],
        Err(_) => &mut parent[*step],
    });
    match last.parse::<usize>() {
        Ok(index) => parent[index] = violation.value.clone(),
        Err(_) => parent[*last] = violation.value.clone(),
    }
    object
}

fn field(at: &[&str]) -> String {
    let steps = at.iter().map(|step| match step.parse::<usize>() {
        Ok(index) => format!("[{index}]"),
        Err(_) => format!(".{step}"),
    });
    steps.collect::<String>().trim_start_matches('.').replace("labels.app", "labels[app]")
}

fn check(violation: &Violation, written: &Written) {
    let linted = Lint::default().text(Source::new("x.yaml", written.text.as_str()), &Stored::default());
    let report = &linted.report;
    let errors: Vec<&Finding> =
        report.findings.iter().filter(|finding| finding.level == Level::Error).collect();
    let [error] = errors.as_slice() else { panic!("{violation:?}: {errors:?} in\n{}", written.text) };
    assert_eq!((error.rule.as_str(), error.field.as_deref()), (violation.rule, Some(&*field(&violation.at))));
    let span = error.place.expect("a place").span;
    let value = written.value.clone();
    assert_eq!(span.of(&written.text), &written.text[value.clone()], "in\n{}", written.text);
    assert_eq!((span.start, span.end), (value.start, value.end), "in\n{}", written.text);
    let before = &written.text[..value.start];
    let line = 1 + before.matches('\n').count();
    let column = 1 + before.rsplit('\n').next().unwrap_or_default().chars().count();
    let shown = render(&report.source, error, Style::PLAIN);
    assert!(shown.contains(&format!("--> x.yaml:{line}:{column}\n")), "{line}:{column} in\n{shown}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    #[test]
    fn the_underlined_text_is_the_value_in_yaml(violation in prop::sample::select(violations()), seed: u64) {
        check(&violation, &yaml(&broken(&violation), &violation.at, seed));
    }

    #[test]
    fn the_underlined_text_is_the_value_in_json(violation in prop::sample::select(violations()), seed: u64) {
        check(&violation, &as_json(&broken(&violation), &violation.at, seed));
    }
}
