//! Alerts and the dashboard ask for metrics that there are.

use super::yaml::{documents, list, object, path, text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// What the API server counts of webhooks; the rest is ours.
const OF_THE_API_SERVER: [&str; 2] =
    ["apiserver_admission_webhook_rejection_count", "apiserver_admission_webhook_admission_duration_seconds"];

const ALERTS: &str = "components/monitoring/alerts.yaml";

fn documented() -> BTreeSet<String> {
    let text = fs::read_to_string(path("docs/metrics.md")).expect("docs/metrics.md");
    text.lines().filter_map(|line| Some(line.strip_prefix("| `")?.split('`').next()?.to_owned())).collect()
}

/// The metrics that an expression names: words with a `_` that neither are labels nor functions of `PromQL`.
fn metrics(expression: &str) -> Vec<&str> {
    let of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = ["etcd_warden_", "controller_runtime_", "certwatcher_", "apiserver_"];
    let words =
        expression.split(|c| !of_word(c)).filter(|word| begins.iter().any(|begin| word.starts_with(begin)));
    words.map(|word| word.strip_suffix("_bucket").unwrap_or(word)).collect()
}

fn assert_known(expression: &str) {
    let known = documented();
    let found = metrics(expression);
    assert!(!found.is_empty(), "{expression} asks for nothing");
    for metric in found {
        assert!(known.contains(metric) || OF_THE_API_SERVER.contains(&metric), "{metric} in {expression}");
    }
}

fn alerts() -> Vec<Value> {
    let rules = object(ALERTS, "PrometheusRule");
    list(&rules["spec"]["groups"][0]["rules"]).to_vec()
}

#[test]
fn alerts_ask_for_metrics_that_there_are() {
    for alert in alerts() {
        assert_known(text(&alert["expr"]));
    }
}

#[test]
fn the_dashboard_asks_for_metrics_that_there_are() {
    let dashboard =
        fs::read_to_string(path("manifests/components/monitoring/dashboard.json")).expect("a file");
    let dashboard: Value = serde_json::from_str(&dashboard).expect("JSON");
    let panels = list(&dashboard["panels"]).iter().filter(|panel| panel["type"] != "row");
    let expressions: Vec<&str> =
        panels.flat_map(|panel| list(&panel["targets"])).map(|target| text(&target["expr"])).collect();
    assert!(expressions.len() > 10, "{expressions:?}");
    for expression in expressions {
        assert_known(expression);
    }
}

/// `tests/alerts/run` runs the cases; here it is seen that none is missing.
#[test]
fn every_alert_is_seen_silent_and_seen_firing() {
    let cases = fs::read_to_string(path("tests/alerts/cases.yaml")).expect("a file");
    let cases = documents(&cases);
    let seen: Vec<&Value> =
        list(&cases[0]["tests"]).iter().flat_map(|test| list(&test["alert_rule_test"])).collect();
    for alert in alerts() {
        let of_alert: Vec<bool> = seen
            .iter()
            .filter(|seen| seen["alertname"] == alert["alert"])
            .map(|seen| !list(&seen["exp_alerts"]).is_empty())
            .collect();
        assert!(of_alert.contains(&true) && of_alert.contains(&false), "{}: {of_alert:?}", alert["alert"]);
    }
}

/// The alerts and the dashboard select by the job that the scrape is given.
#[test]
fn the_job_is_the_name_of_the_scraped_service() {
    let monitor = object("components/monitoring/scraping.yaml", "ServiceMonitor");
    let service = object("components/monitoring/scraping.yaml", "Service");
    let label = text(&monitor["spec"]["jobLabel"]);
    let job = format!("job=\"{}\"", text(&service["metadata"]["labels"][label]));
    for alert in alerts() {
        let expression = text(&alert["expr"]);
        assert!(expression.contains("apiserver_") || expression.contains(&job), "{expression}");
    }
    for (key, value) in monitor["spec"]["selector"]["matchLabels"].as_object().expect("labels") {
        assert_eq!(&service["metadata"]["labels"][key], value);
    }
}
