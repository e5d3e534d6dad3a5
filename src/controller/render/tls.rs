//! Which Secrets are mounted where.

use serde_json::{Value, json};

use crate::controller::object::Etcd;
use crate::controller::spec::Tls;
use crate::member::{Scheme, TlsFiles};

use super::standing::CONTAINER;
use super::volumes::apart;
use super::{Render, with};

/// Key of an authority's certificate in its Secret, unless another is named.
const CA_KEY: &str = "ca.crt";

/// A Secret in a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mounted {
    volume: &'static str,
    path: &'static str,
    secret: String,
    /// The one key that is mounted, as `ca.crt`; absent where all are.
    key: Option<String>,
}

const PEER_CA: &str = "etcd-peer-ca";
const PEER_SERVER: &str = "etcd-peer-server-tls";

/// The Secrets of peer TLS in the pods that stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PeerSecrets {
    ca: String,
    key: String,
    server: String,
}

impl PeerSecrets {
    /// Nothing where the pods of a StatefulSet have none.
    pub(super) fn of(stateful_set: &Value) -> Option<Self> {
        let pod = stateful_set.pointer("/spec/template/spec")?;
        let volumes = pod.get("volumes")?.as_array()?;
        let container =
            pod.get("containers")?.as_array()?.iter().find(|container| container["name"] == CONTAINER)?;
        let mounts = container.get("volumeMounts")?.as_array()?;
        // By its place: a volume's name isn't always the same.
        let secret = |path: &str| {
            let mount = mounts.iter().find(|mount| mount["mountPath"] == path)?;
            volumes.iter().find(|volume| volume["name"] == mount["name"])?.get("secret")
        };
        let name = |secret: &Value| Some(secret.get("secretName")?.as_str()?.to_owned());
        let ca = secret(TlsFiles::PEER.ca)?;
        let key = ca.pointer("/items/0/key").and_then(Value::as_str).unwrap_or(CA_KEY).to_owned();
        Some(Self { ca: name(ca)?, key, server: name(secret(TlsFiles::PEER.server)?)? })
    }
}

impl Mounted {
    /// Every Secret of an Etcd's pods.
    pub(super) fn all(render: Render<'_>) -> Vec<Self> {
        let client = render.etcd.spec.etcd.client_url_tls.iter().flat_map(client);
        client.chain(peer(render)).collect()
    }

    /// The volume of a pod.
    pub(super) fn volume(&self, render: Render<'_>) -> Value {
        // What group 65532 can't read, etcd can't.
        let secret = json!({"secretName": self.secret, "defaultMode": 0o440});
        let items = self.key.as_ref().map(|key| json!([{"key": key, "path": CA_KEY}]));
        json!({"name": apart(render, self.volume), "secret": with(secret, "items", items)})
    }

    /// The mount of a container.
    pub(super) fn mount(&self, render: Render<'_>) -> Value {
        json!({"name": apart(render, self.volume), "mountPath": self.path, "readOnly": true})
    }
}

fn client(tls: &Tls) -> Vec<Mounted> {
    let TlsFiles { ca, server, client } = TlsFiles::CLIENT;
    let mut mounted = vec![
        authority("etcd-ca", ca, &tls.ca.name, tls.ca.data_key.as_deref()),
        pair("etcd-server-tls", server, &tls.server.name),
    ];
    mounted.extend(tls.client.as_ref().map(|secret| pair("etcd-client-tls", client, &secret.name)));
    mounted
}

/// By the scheme that members are registered with, which the spec may have left.
fn peer(render: Render<'_>) -> Vec<Mounted> {
    let Some(PeerSecrets { ca, key, server }) = peer_secrets(render.etcd, render) else { return Vec::new() };
    let files = TlsFiles::PEER;
    vec![authority(PEER_CA, files.ca, &ca, Some(&key)), pair(PEER_SERVER, files.server, &server)]
}

fn peer_secrets(etcd: &Etcd, render: Render<'_>) -> Option<PeerSecrets> {
    if render.config.endpoints.peer_scheme == Scheme::Http {
        return None;
    }
    let wanted = etcd.spec.etcd.peer_url_tls.as_ref().map(|tls| PeerSecrets {
        ca: tls.ca.name.clone(),
        key: tls.ca.data_key.clone().unwrap_or_else(|| CA_KEY.to_owned()),
        server: tls.server.name.clone(),
    });
    wanted.or_else(|| render.standing.frozen.as_ref()?.peer_secrets.clone())
}

fn authority(volume: &'static str, path: &'static str, secret: &str, key: Option<&str>) -> Mounted {
    Mounted { volume, path, secret: secret.to_owned(), key: Some(key.unwrap_or(CA_KEY).to_owned()) }
}

fn pair(volume: &'static str, path: &'static str, secret: &str) -> Mounted {
    Mounted { volume, path, secret: secret.to_owned(), key: None }
}
