//! The registrations ask about what the rules look at, and about nothing else.

use super::yaml::{NAME, list, object, objects, text, texts};
use etcd_warden::rules::{Check, RULES, Rule};
use serde_json::{Value, json};
use std::collections::BTreeSet;

type Asked = BTreeSet<(String, String)>;

fn webhook(kind: &str) -> Value {
    let registration = object("base/registration.yaml", kind);
    assert_eq!(registration["metadata"]["name"], NAME);
    let [webhook] = list(&registration["webhooks"]) else { panic!("{kind} has not one webhook") };
    webhook.clone()
}

/// Operations and resources that a webhook is asked about.
fn asked(webhook: &Value) -> Asked {
    let mut asked = Asked::new();
    for rule in list(&webhook["rules"]) {
        assert_eq!(rule["apiGroups"], json!(["druid.gardener.cloud"]));
        assert_eq!(rule["apiVersions"], json!(["v1alpha1"]));
        assert_eq!(rule["scope"], "Namespaced");
        for operation in texts(&rule["operations"]) {
            asked.extend(texts(&rule["resources"]).iter().map(|resource| pair(operation, resource)));
        }
    }
    asked
}

fn pair(operation: &str, resource: &str) -> (String, String) {
    (operation.to_owned(), resource.to_owned())
}

fn judged(rule: &Rule) -> Asked {
    let mut judged = Asked::new();
    for check in rule.checks {
        let (operations, resource): (&[&str], &str) = match check {
            Check::Field | Check::Object(_) => (&["CREATE", "UPDATE"], "etcds"),
            Check::Created(_) => (&["CREATE"], "etcds"),
            Check::Changed(_) | Check::Frozen(_) => (&["UPDATE"], "etcds"),
            Check::Status(_) => (&["UPDATE"], "etcds/status"),
            Check::Deleted(_) => (&["DELETE"], "etcds"),
        };
        judged.extend(operations.iter().map(|operation| pair(operation, resource)));
    }
    judged.extend(rule.scale.then(|| pair("UPDATE", "etcds/scale")));
    judged
}

#[test]
fn validation_is_asked_about_what_the_rules_judge() {
    let judged: Asked = RULES.iter().flat_map(judged).collect();
    assert_eq!(asked(&webhook("ValidatingWebhookConfiguration")), judged);
}

#[test]
fn mutation_is_asked_about_what_holds_urls() {
    let holds_urls = Asked::from([pair("CREATE", "etcds"), pair("UPDATE", "etcds")]);
    assert_eq!(asked(&webhook("MutatingWebhookConfiguration")), holds_urls);
}

#[test]
fn both_dial_the_service_and_hold_a_write_for_five_seconds_at_most() {
    let service = object("base/server.yaml", "Service");
    let port = &service["spec"]["ports"][0]["port"];
    for (kind, path, on_failure) in [
        ("ValidatingWebhookConfiguration", "/validate", "Fail"),
        ("MutatingWebhookConfiguration", "/mutate", "Ignore"),
    ] {
        let webhook = webhook(kind);
        let dialled = json!({"name": NAME, "namespace": NAME, "path": path, "port": port});
        assert_eq!(
            webhook["clientConfig"],
            json!({"service": dialled}),
            "{kind}: the server writes caBundle"
        );
        assert_eq!(webhook["failurePolicy"], on_failure);
        assert_eq!(webhook["timeoutSeconds"], 5);
        assert_eq!(webhook["sideEffects"], "None");
        assert_eq!(webhook["matchPolicy"], "Equivalent");
        assert_eq!(webhook["admissionReviewVersions"], json!(["v1"]));
        // An Etcd can be broken in any namespace, and a label that opts out is a hole.
        assert_eq!((&webhook["namespaceSelector"], &webhook["objectSelector"]), (&Value::Null, &Value::Null));
    }
    assert_eq!(webhook("MutatingWebhookConfiguration")["reinvocationPolicy"], "IfNeeded");
}

/// An expression that meets a missing field fails, and with it the write: every field but the request's own is
/// asked for with `?`.
#[test]
fn match_conditions_survive_missing_fields() {
    for kind in ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"] {
        for condition in list(&webhook(kind)["matchConditions"]) {
            let expression = text(&condition["expression"]);
            for of in ["object.", "oldObject.", "metadata.", "status.", "subResource."] {
                for (at, _) in expression.match_indices(of) {
                    let rest = &expression[at + of.len()..];
                    assert!(rest.starts_with('?') || rest.starts_with("orValue("), "{of}{rest}");
                }
            }
        }
    }
}

#[test]
fn a_first_roll_out_changes_the_webhook_that_there_is() {
    let component = object("components/warn-only/kustomization.yaml", "Component");
    let patches = list(&component["patches"]).iter().map(|patch| text(&patch["patch"]));
    let name = format!("name: {}", text(&webhook("ValidatingWebhookConfiguration")["name"]));
    assert!(patches.clone().any(|patch| patch.contains(&name) && patch.contains("failurePolicy: Ignore")));
}

#[test]
fn cert_manager_injects_into_both_and_certifies_the_name_that_is_dialled() {
    let injected = objects("components/cert-manager/injected.yaml");
    let kinds: BTreeSet<&str> = injected.iter().map(|object| text(&object["kind"])).collect();
    assert_eq!(kinds, BTreeSet::from(["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]));
    let issued = objects("components/cert-manager/issuers.yaml");
    for object in &injected {
        let from = text(&object["metadata"]["annotations"]["cert-manager.io/inject-ca-from"]);
        let certificate = issued.iter().find(|issued| {
            issued["kind"] == "Certificate" && from == format!("{NAME}/{}", text(&issued["metadata"]["name"]))
        });
        let certificate = certificate.unwrap_or_else(|| panic!("no Certificate {from}"));
        assert_eq!(certificate["spec"]["dnsNames"], json!([format!("{NAME}.{NAME}.svc")]));
        let files = object_of_volume();
        assert_eq!(certificate["spec"]["secretName"], files);
    }
}

fn object_of_volume() -> Value {
    let files = object("components/cert-manager/files.yaml", "Deployment");
    files["spec"]["template"]["spec"]["volumes"][0]["secret"]["secretName"].clone()
}
