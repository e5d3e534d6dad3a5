//! The program as a bed's webhook, called by URL.

use std::fs;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::cases::without_what_the_server_fills_in;
use super::{Namespace, eventually};
use crate::support::pem::Authority;
use crate::support::process::{self, Process};

/// How long the API server may take to hear of a webhook.
const SOON: Duration = Duration::from_secs(20);

/// A server of the program that judges one namespace's Etcds. Its registration ends before it does, or nothing could
/// delete what is left.
pub struct Warden<'a> {
    pub process: Process,
    /// Holds its certificate.
    _directory: TempDir,
    ca: String,
    namespace: &'a Namespace<'a>,
    /// Which namespaces' Etcds it judges.
    selector: Value,
}

impl<'a> Warden<'a> {
    /// Starts the program with further arguments, registers both webhooks, and waits until the API server calls them.
    #[track_caller]
    pub fn judging(namespace: &'a Namespace<'a>, arguments: &[&str]) -> Self {
        let warden = Self::start(namespace, arguments);
        warden.register(&[warden.validation(), warden.mutation()]);
        eventually(SOON, "the API server calls both webhooks", || {
            let said = warden.probe();
            said.contains("[canonical-url]") && said.contains("[labels]")
        });
        warden
    }

    /// The same without the webhook that mutates.
    #[track_caller]
    pub fn validating(namespace: &'a Namespace<'a>, arguments: &[&str]) -> Self {
        let warden = Self::start(namespace, arguments);
        warden.register(&[warden.validation()]);
        eventually(SOON, "the API server calls the webhook", || warden.probe().contains("[labels]"));
        warden
    }

    /// As [`Self::validating`], for every namespace.
    #[track_caller]
    pub fn validating_everywhere(namespace: &'a Namespace<'a>, arguments: &[&str]) -> Self {
        let mut warden = Self::start(namespace, arguments);
        warden.selector = json!({});
        warden.register(&[warden.validation()]);
        eventually(SOON, "the API server calls the webhook", || warden.probe().contains("[labels]"));
        warden
    }

    /// Registers it and waits for nothing: for servers that the API server can't speak to.
    pub fn registered(namespace: &'a Namespace<'a>, arguments: &[&str]) -> Self {
        let warden = Self::start(namespace, arguments);
        warden.register(&[warden.validation()]);
        warden
    }

    /// What is said to an Etcd once the API server knows of the webhook.
    #[track_caller]
    pub fn create_until_called(&self, object: &Value) -> String {
        eventually(SOON, "the API server calls the webhook", || {
            let said = self.create(object, &["--dry-run=server"]);
            (!said.status.success()).then_some(said.stderr)
        })
    }

    fn start(namespace: &'a Namespace<'a>, arguments: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let host = namespace.bed.host();
        let authority = Authority::new("test CA");
        let (certificate, key) = authority.sign_host(&host).write(directory.path(), "server");
        let certificate = ["--tls-cert", certificate.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
        let arguments = [&certificate, arguments].concat();
        let process = process::spawn_on(&host, directory.path(), &arguments);
        let selector = json!({"matchLabels": {"kubernetes.io/metadata.name": namespace.name}});
        let ca = BASE64_STANDARD.encode(&authority.pem);
        Self { process, _directory: directory, ca, namespace, selector }
    }

    fn register(&self, configurations: &[Value]) {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": configurations});
        self.namespace.bed.apply(&list.to_string());
    }

    fn validation(&self) -> Value {
        let rules = json!([
            rule(&["CREATE", "UPDATE", "DELETE"], &["etcds"]),
            rule(&["UPDATE"], &["etcds/status", "etcds/scale"]),
        ]);
        self.configuration("Validating", "validate", "Fail", &rules)
    }

    fn mutation(&self) -> Value {
        self.configuration("Mutating", "mutate", "Ignore", &json!([rule(&["CREATE", "UPDATE"], &["etcds"])]))
    }

    fn configuration(&self, kind: &str, hook: &str, failure_policy: &str, rules: &Value) -> Value {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": format!("{kind}WebhookConfiguration"),
            "metadata": {"name": self.namespace.name},
            "webhooks": [{
                "name": format!("{hook}.etcd-warden.dev"),
                "clientConfig": {"url": format!("https://{}/{hook}", self.process.https), "caBundle": self.ca},
                "rules": rules,
                "namespaceSelector": self.selector,
                // A scenario may write past the rules through another version.
                "matchPolicy": "Exact",
                "failurePolicy": failure_policy,
                "sideEffects": "None",
                "timeoutSeconds": 5,
                "admissionReviewVersions": ["v1"],
            }],
        })
    }

    /// What is said to an Etcd that both webhooks have something to say to: mutation writes its URL otherwise,
    /// validation refuses a label, which no schema does.
    fn probe(&self) -> String {
        let mut probe = mislabelled();
        probe["spec"]["etcd"]["bootstrapWithExistingCluster"]["clientEndpoints"] =
            json!(["HTTP://10.0.0.1:2379"]);
        self.create(&probe, &["--dry-run=server"]).stderr
    }

    /// `kubectl create` of an object in the namespace that is judged.
    pub fn create(&self, object: &Value, arguments: &[&str]) -> super::Output {
        let arguments = [&["create", "--filename", "-"], arguments].concat();
        self.namespace.kubectl_with(&arguments, &object.to_string())
    }
}

impl Drop for Warden<'_> {
    fn drop(&mut self) {
        let configurations = "validatingwebhookconfigurations,mutatingwebhookconfigurations";
        self.namespace.bed.kubectl(&["delete", configurations, &self.namespace.name]);
    }
}

fn rule(operations: &[&str], resources: &[&str]) -> Value {
    json!({
        "apiGroups": ["druid.gardener.cloud"],
        "apiVersions": ["v1alpha1"],
        "operations": operations,
        "resources": resources,
    })
}

/// An Etcd that breaks the rule `labels`, and nothing that a schema could say.
pub fn mislabelled() -> Value {
    let mut etcd = fixture("bootstrap-members/accepted-one-member.json");
    etcd["spec"]["labels"] = json!({"app": "not a label"});
    etcd
}

/// The object of a fixture, as somebody would have written it: without what the API server fills in.
pub fn fixture(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    let review: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let mut object = without_what_the_server_fills_in(&review["request"]["object"]);
    object["metadata"].as_object_mut().unwrap().remove("namespace");
    object
}
