//! The members.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use aws_lc_rs::digest::{SHA256, digest};
use serde_json::{Map, Value, json};

use super::volumes::claim_template;
use super::{COMPONENT, Kind, MEMBERS, NAME, Part, Render, Unrenderable, common_labels, object, pod};
use crate::member::{Config, Endpoints};

/// Annotation of the pods with the hash of what etcd is configured with: a change leads to a restart.
pub(in crate::controller) const CONFIG_HASH: &str = "checksum/etcd-configmap";

pub(super) fn part(render: Render<'_>) -> Result<Part, Unrenderable> {
    let etcd = render.etcd;
    let content = json!({"spec": {
        "replicas": etcd.spec.replicas,
        "serviceName": format!("{}-peer", etcd.name),
        // Members wait for each other; the order in which they join is theirs to find.
        "podManagementPolicy": "Parallel",
        // Pods are replaced one at a time, by what is known of the cluster.
        "updateStrategy": {"type": "OnDelete"},
        "selector": {"matchLabels": common_labels(&etcd.name)},
        "template": {
            "metadata": {"labels": pod_labels(render), "annotations": pod_annotations(render)},
            "spec": pod::spec(render)?,
        },
        "volumeClaimTemplates": [claim_template(render)],
    }});
    Ok(Part::new(Kind::StatefulSet, &etcd.name, MEMBERS, content))
}

/// The user's, and those by which the pods are found.
fn pod_labels(render: Render<'_>) -> Map<String, Value> {
    let mut labels = object(json!(render.etcd.spec.labels));
    labels.extend(common_labels(&render.etcd.name));
    labels.insert(COMPONENT.to_owned(), MEMBERS.into());
    labels.insert(NAME.to_owned(), render.etcd.name.as_str().into());
    labels
}

fn pod_annotations(render: Render<'_>) -> Map<String, Value> {
    let mut annotations = object(json!(render.etcd.spec.annotations));
    annotations.insert(CONFIG_HASH.to_owned(), config_hash(render.config).into());
    annotations
}

/// Of what a running etcd has: not of the number of members, of whom they join, or of what new ones are registered with.
fn config_hash(config: &Config) -> String {
    let registered = BTreeMap::new();
    let endpoints = Endpoints { additional_peer_urls: registered, ..config.endpoints.clone() };
    hash(&json!([endpoints, config.etcd]))
}

/// SHA-256 of a value, in hexadecimal.
pub(in crate::controller) fn hash(value: &Value) -> String {
    digest(&SHA256, value.to_string().as_bytes()).as_ref().iter().fold(String::new(), |mut text, byte| {
        // Writing to a string can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
