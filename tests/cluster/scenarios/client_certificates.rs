//! An API server that shows its webhooks who it is.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::harness::{Bed, Options, Warden, fixture};
use crate::support::pem::{Authority, Pair};

/// The admission configuration of an API server that presents `pair` to every webhook.
fn presenting(pair: &Pair, folder: &Path) -> String {
    let base64 = |pem: &str| BASE64_STANDARD.encode(pem);
    let user = json!({"client-certificate-data": base64(&pair.chain), "client-key-data": base64(&pair.key)});
    let kubeconfig = write(folder, "webhooks.json", &json!({"users": [{"name": "*", "user": user}]}));
    let plugin = |name: &str| {
        json!({"name": name, "configuration": {
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "WebhookAdmissionConfiguration",
            "kubeConfigFile": kubeconfig,
        }})
    };
    let configuration = json!({
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [plugin("MutatingAdmissionWebhook"), plugin("ValidatingAdmissionWebhook")],
    });
    write(folder, "admission.json", &configuration)
}

fn write(folder: &Path, name: &str, content: &Value) -> String {
    let path = folder.join(name);
    fs::write(&path, content.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn an_api_server_with_a_certificate_gets_in_where_one_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let clients = Authority::new("clients");
    let admission = presenting(&clients.sign("kube-apiserver"), folder.path());
    let clients_ca = folder.path().join("clients.crt");
    fs::write(&clients_ca, &clients.pem).unwrap();
    let options = Options {
        control_plane: true,
        apiserver_flags: vec![format!("--admission-control-config-file={admission}")],
        ..Options::default()
    };
    let Some(bed) = Bed::with(&options) else { return };
    bed.install_etcd_crd();
    let shop = bed.namespace();
    let arguments = ["--client-ca", clients_ca.to_str().unwrap(), "--client-names", "kube-apiserver"];
    let warden = Warden::judging(&shop, &arguments);
    warden.create(&fixture("bootstrap-members/accepted-one-member.json"), &[]).ok();
    warden.create(&fixture("labels/rejected-labels-missing.json"), &[]).refused();
}

#[test]
fn an_api_server_without_a_certificate_is_told_so_by_its_user() {
    let Some(bed) = Bed::shared() else { return };
    bed.install_etcd_crd();
    let shop = bed.namespace();
    let folder = tempfile::tempdir().unwrap();
    let clients_ca = folder.path().join("clients.crt");
    fs::write(&clients_ca, Authority::new("clients").pem).unwrap();
    let warden = Warden::registered(&shop, &["--client-ca", clients_ca.to_str().unwrap()]);
    let sound = fixture("bootstrap-members/accepted-one-member.json");
    let said = warden.create_until_called(&sound);
    assert!(said.contains("failed calling webhook \"validate.etcd-warden.dev\""), "{said}");
    assert!(said.contains("tls: certificate required"), "{said}");
}
