//! The program as a bed's webhook, called by URL.

use std::fs;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Bed, Namespace, eventually};
use crate::support::pem::Authority;
use crate::support::process::{self, Process};

/// A server of the program that judges one namespace's Etcds. Its registration ends before it does, or nothing could
/// delete what is left.
pub struct Warden<'a> {
    pub process: Process,
    /// Holds its certificate.
    _directory: TempDir,
    ca: String,
    judged: Judged<'a>,
}

/// What a server judges.
enum Judged<'a> {
    /// Etcds of one namespace, by both webhooks.
    Namespace(&'a Namespace<'a>),
    /// Every Etcd, by the validating one.
    All(&'a Bed),
}

impl Judged<'_> {
    fn bed(&self) -> &Bed {
        match self {
            Self::Namespace(namespace) => namespace.bed,
            Self::All(bed) => bed,
        }
    }

    /// Name of the registrations.
    fn name(&self) -> &str {
        match self {
            Self::Namespace(namespace) => &namespace.name,
            Self::All(_) => "all",
        }
    }

    /// Which namespaces' objects are sent.
    fn selector(&self) -> Value {
        match self {
            Self::Namespace(namespace) => {
                json!({"matchLabels": {"kubernetes.io/metadata.name": namespace.name}})
            }
            Self::All(_) => json!({}),
        }
    }
}

impl<'a> Warden<'a> {
    /// Starts the program with further arguments, registers it, and waits until the API server calls it.
    #[track_caller]
    pub fn judging(namespace: &'a Namespace<'a>, arguments: &[&str]) -> Self {
        let warden = Self::start(Judged::Namespace(namespace), arguments);
        warden.register_both();
        eventually(Duration::from_secs(20), "the API server calls both webhooks", || {
            warden.is_called(namespace)
        });
        warden
    }

    /// The same for every namespace of the bed, and for validation alone.
    #[track_caller]
    pub fn validating(bed: &'a Bed, arguments: &[&str]) -> Self {
        let warden = Self::start(Judged::All(bed), arguments);
        bed.apply(&warden.validation().to_string());
        let probe = fixture("bootstrap-members/rejected-eleven-members.json").to_string();
        eventually(Duration::from_secs(20), "the API server calls the webhook", || {
            let said = bed.kubectl_with(&["create", "--dry-run=server", "--filename", "-"], &probe).stderr;
            if said.contains("[bootstrap-members]") { Ok(()) } else { Err(said) }
        });
        warden
    }

    fn start(judged: Judged<'a>, arguments: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let host = judged.bed().host();
        let authority = Authority::new("test CA");
        let (certificate, key) = authority.sign_host(&host).write(directory.path(), "server");
        let certificate = ["--tls-cert", certificate.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
        let arguments = [&certificate, arguments].concat();
        let process = process::spawn_on(&host, directory.path(), &arguments);
        Self { process, _directory: directory, ca: BASE64_STANDARD.encode(&authority.pem), judged }
    }

    fn validation(&self) -> Value {
        let rules = json!([
            rule(&["CREATE", "UPDATE", "DELETE"], &["etcds"]),
            rule(&["UPDATE"], &["etcds/status", "etcds/scale"]),
        ]);
        self.configuration("Validating", "validate", "Fail", &rules)
    }

    fn register_both(&self) {
        let mutate = json!([rule(&["CREATE", "UPDATE"], &["etcds"])]);
        let list = json!({"apiVersion": "v1", "kind": "List", "items": [
            self.validation(),
            self.configuration("Mutating", "mutate", "Ignore", &mutate),
        ]});
        self.judged.bed().apply(&list.to_string());
    }

    fn configuration(&self, kind: &str, hook: &str, failure_policy: &str, rules: &Value) -> Value {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": format!("{kind}WebhookConfiguration"),
            "metadata": {"name": self.judged.name()},
            "webhooks": [{
                "name": format!("{hook}.etcd-warden.dev"),
                "clientConfig": {"url": format!("https://{}/{hook}", self.process.https), "caBundle": self.ca},
                "rules": rules,
                "namespaceSelector": self.judged.selector(),
                // Other versions are ways past the rules.
                "matchPolicy": "Exact",
                "failurePolicy": failure_policy,
                "sideEffects": "None",
                "timeoutSeconds": 5,
                "admissionReviewVersions": ["v1"],
            }],
        })
    }

    /// Both at once: mutation warns of the URL that it writes otherwise, validation refuses the eleventh member, which
    /// a CRD without a schema lets pass.
    fn is_called(&self, namespace: &Namespace<'_>) -> Result<(), String> {
        let mut probe = fixture("bootstrap-members/rejected-eleven-members.json");
        probe["spec"]["etcd"]["bootstrapWithExistingCluster"]["clientEndpoints"] =
            json!(["HTTP://10.0.0.1:2379"]);
        let create = ["create", "--dry-run=server", "--filename", "-"];
        let said = namespace.kubectl_with(&create, &probe.to_string()).stderr;
        let has = |what: &str| said.contains(what).then_some(()).ok_or_else(|| said.clone());
        has("[canonical-url]").and_then(|()| has("[bootstrap-members]"))
    }
}

impl Drop for Warden<'_> {
    fn drop(&mut self) {
        let configurations = "validatingwebhookconfigurations,mutatingwebhookconfigurations";
        self.judged.bed().kubectl(&["delete", configurations, self.judged.name()]);
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

/// The object of a fixture, as somebody would have written it: without what the API server fills in.
pub fn fixture(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    let review: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let mut object = review["request"]["object"].clone();
    let metadata = object["metadata"].as_object_mut().unwrap();
    for filled_in in
        ["namespace", "uid", "generation", "creationTimestamp", "managedFields", "resourceVersion"]
    {
        metadata.remove(filled_in);
    }
    object
}
