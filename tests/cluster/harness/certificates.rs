//! Certificates of an Etcd's members and clients, as Secrets.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::Namespace;
use crate::support::pem::{Authority, Pair};

/// Makes the Secrets of an Etcd with up to five members, for peers and clients alike; the Secret `client` holds all
/// that a client needs.
pub fn secrets(shop: &Namespace<'_>, etcd: &str, authority: &Authority) {
    let namespace = &shop.name;
    let mut hosts: Vec<String> =
        (0..5).map(|ordinal| format!("{etcd}-{ordinal}.{etcd}-peer.{namespace}.svc")).collect();
    hosts.extend([
        format!("{etcd}-client"),
        format!("{etcd}-client.{namespace}.svc"),
        "localhost".to_owned(),
    ]);
    let (server, client) = (authority.sign_hosts(&hosts), authority.sign("client"));
    let items = [
        secret("ca", &[("ca.crt", &authority.pem)]),
        secret("server", &pair(&server)),
        secret("client", &[&pair(&client)[..], &[("ca.crt", &authority.pem)]].concat()),
    ];
    shop.apply(&json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string());
}

fn pair(pair: &Pair) -> [(&'static str, &str); 2] {
    [("tls.crt", &pair.chain), ("tls.key", &pair.key)]
}

fn secret(name: &str, files: &[(&str, &str)]) -> Value {
    let data: serde_json::Map<String, Value> =
        files.iter().map(|(file, text)| ((*file).to_owned(), BASE64_STANDARD.encode(text).into())).collect();
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data})
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
