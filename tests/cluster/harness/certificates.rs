//! Certificates of an Etcd's members and clients, as Secrets.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::{Namespace, eventually};
use crate::support::pem::{Authority, Pair};

/// Makes the Secrets of an Etcd with up to five members, for peers and clients alike; the Secret `client` holds all
/// that a client needs.
pub fn secrets(shop: &Namespace<'_>, etcd: &str, authority: &Authority) {
    let (server, client) = (authority.sign_hosts(&hosts(shop, etcd)), authority.sign("client"));
    let items = [
        secret("ca", &[("ca.crt", &authority.pem)]),
        secret("server", &pair(&server)),
        secret("client", &[&pair(&client)[..], &[("ca.crt", &authority.pem)]].concat()),
    ];
    shop.apply(&json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string());
}

/// Has members and their clients trust these authorities, whoever signed what they show. Returns the bundle.
#[track_caller]
pub fn trust(shop: &Namespace<'_>, authorities: &[&Authority]) -> String {
    let bundle: String = authorities.iter().map(|authority| authority.pem.as_str()).collect();
    for name in ["ca", "client"] {
        change(shop, name, &[("ca.crt", &bundle)]);
    }
    bundle
}

/// Has members and their clients show what this authority has signed, whom they trust or not. Returns the members'
/// certificate, and the clients'.
#[track_caller]
pub fn sign(shop: &Namespace<'_>, etcd: &str, authority: &Authority) -> [String; 2] {
    let (server, client) = (authority.sign_hosts(&hosts(shop, etcd)), authority.sign("client"));
    change(shop, "server", &pair(&server));
    change(shop, "client", &pair(&client));
    [server.chain, client.chain]
}

/// Waits until a file of a Secret in a pod is this one. The kubelet looks at once after a pod that was changed, else
/// within minutes.
#[track_caller]
pub fn until_mounted(shop: &Namespace<'_>, pod: &str, path: &str, content: &str) {
    let mut looks = 0;
    eventually(Duration::from_mins(2), &format!("{path} in {pod} is the new one"), || {
        let found = shop.exec(pod, &["cat", path]).attempt()?;
        if found == content {
            return Ok(());
        }
        looks += 1;
        let annotation = format!("scenarios/looked-after={looks}");
        shop.kubectl(&["annotate", "--overwrite", "pod", pod, &annotation]).attempt()?;
        Err(found)
    });
}

fn hosts(shop: &Namespace<'_>, etcd: &str) -> Vec<String> {
    let namespace = &shop.name;
    let members = (0..5).map(|ordinal| format!("{etcd}-{ordinal}.{etcd}-peer.{namespace}.svc"));
    let clients =
        [format!("{etcd}-client"), format!("{etcd}-client.{namespace}.svc"), "localhost".to_owned()];
    members.chain(clients).collect()
}

fn pair(pair: &Pair) -> [(&'static str, &str); 2] {
    [("tls.crt", &pair.chain), ("tls.key", &pair.key)]
}

fn secret(name: &str, files: &[(&str, &str)]) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data(files)})
}

fn data(files: &[(&str, &str)]) -> Value {
    let encoded = files.iter().map(|(file, text)| ((*file).to_owned(), BASE64_STANDARD.encode(text).into()));
    Value::Object(encoded.collect())
}

#[track_caller]
fn change(shop: &Namespace<'_>, name: &str, files: &[(&str, &str)]) {
    let patch = json!({"data": data(files)}).to_string();
    shop.kubectl(&["patch", "secret", name, "--type=merge", "--patch", &patch]).ok();
}

/// A `spec` with TLS between peers, and to clients.
pub fn with_tls(mut spec: Value) -> Value {
    let reference = |name: &str| json!({"name": name});
    let peer = json!({"tlsCASecretRef": reference("ca"), "serverTLSSecretRef": reference("server")});
    let mut client = peer.clone();
    client["clientTLSSecretRef"] = reference("client");
    spec["etcd"]["peerUrlTls"] = peer;
    spec["etcd"]["clientUrlTls"] = client;
    spec
}
