//! What of a spec isn't carried out, and why: nothing is silently ignored.

use std::sync::LazyLock;

use serde_json::Value;

use super::object::Etcd;
use super::render::Standing;
use super::spec::AdvertisedUrls;
use crate::etcd::crd::{Strength, schema};
use crate::member::Scheme;

/// A field that this loop doesn't act on, and what that means.
const NOT_ACTED_ON: &[(&str, &str)] = &[
    ("spec.backup.store", "no backups are taken"),
    ("spec.backup", "no backup process runs"),
    ("spec.etcd.defragmentationSchedule", "members aren't defragmented"),
    ("spec.etcd.etcdDefragTimeout", "members aren't defragmented"),
    ("spec.etcd.heartbeatDuration", "members report changes, not that they live"),
    ("spec.etcd.authSecretRef", "no credentials are read"),
    ("spec.etcd.peerUrlTls.clientTLSSecretRef", "members dial each other with their serving certificate"),
    ("spec.selector", "pods are selected by labels of the controller's own"),
];

/// Namespaces of references to Secrets: a pod mounts those of its own namespace, which is all that admission lets pass.
#[cfg(test)]
const OWN_NAMESPACE: &str = "SecretRef.namespace";

/// Whether a field is named as not acted on.
#[cfg(test)]
pub(super) fn is_named(path: &str) -> bool {
    path.ends_with(OWN_NAMESPACE) || NOT_ACTED_ON.iter().any(|(field, _)| covers(field, path))
}

#[cfg(test)]
fn covers(field: &str, path: &str) -> bool {
    path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// What of a spec isn't carried out: each with its field first. What the CRD fills in was asked for by nobody.
pub(super) fn not_carried_out(etcd: &Etcd, standing: &Standing) -> Vec<String> {
    let spec = serde_json::json!({"spec": etcd.spec});
    let asked = NOT_ACTED_ON.iter().filter(|(field, _)| is_asked_for(&spec, field));
    let mut said: Vec<(&str, String)> = Vec::new();
    for (field, why) in asked {
        // Of two that stand one in the other, the one that says more.
        if !said.iter().any(|(known, _)| known.starts_with(&format!("{field}."))) {
            said.push((field, format!("{field}: {why}")));
        }
    }
    let fields = said.into_iter().map(|(_, text)| text);
    let unknown = etcd.unknown.iter().map(|field| format!("{field}: not known to this version"));
    fields.chain(unknown).chain(references(etcd)).chain(frozen(etcd, standing)).collect()
}

/// Whether something stands at a field that the CRD doesn't fill in by itself.
fn is_asked_for(spec: &Value, field: &str) -> bool {
    static SCHEMA: LazyLock<Value> =
        LazyLock::new(|| schema(Strength::Structural, false).unwrap_or_default());
    let steps = || field.split('.');
    let value = steps().try_fold(spec, |value, step| value.get(step));
    let schema = steps().try_fold(&*SCHEMA, |schema, step| schema.get("properties")?.get(step));
    value.is_some_and(|value| !is_default(value, schema.unwrap_or(&Value::Null)))
}

fn is_default(value: &Value, schema: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) if schema.get("properties").is_some() => fields.iter().all(|(name, value)| {
            is_default(value, schema.pointer(&format!("/properties/{name}")).unwrap_or(&Value::Null))
        }),
        value => schema.get("default") == Some(value),
    }
}

fn references(etcd: &Etcd) -> Vec<String> {
    let etcd_spec = &etcd.spec.etcd;
    let blocks = [("clientUrlTls", &etcd_spec.client_url_tls), ("peerUrlTls", &etcd_spec.peer_url_tls)];
    let mut said = Vec::new();
    for (block, tls) in blocks.into_iter().filter_map(|(block, tls)| Some((block, tls.as_ref()?))) {
        let client = tls.client.as_ref().and_then(|secret| secret.namespace.as_deref());
        let named = [
            ("tlsCASecretRef", tls.ca.namespace.as_deref()),
            ("serverTLSSecretRef", tls.server.namespace.as_deref()),
            ("clientTLSSecretRef", client),
        ];
        for (reference, namespace) in named {
            if let Some(namespace) = namespace.filter(|name| !name.is_empty() && *name != etcd.namespace) {
                said.push(format!(
                    "spec.etcd.{block}.{reference}.namespace: pods mount Secrets of their own namespace, not of {namespace:?}"
                ));
            }
        }
    }
    said
}

/// What members are registered with, and the spec has otherwise.
fn frozen(etcd: &Etcd, standing: &Standing) -> Vec<String> {
    let mut said = Vec::new();
    let (spec, mut say) = (&etcd.spec.etcd, |field: &str, stands: String| {
        said.push(format!("spec.{field}: stays {stands}, which can't be changed once there are members"));
    });
    if let Some(frozen) = &standing.frozen {
        let registered = &frozen.config.endpoints;
        if spec.server_port.unwrap_or(2380) != registered.peer_port {
            say("etcd.serverPort", registered.peer_port.to_string());
        }
        if spec.peer_url_tls.is_some() != (registered.peer_scheme == Scheme::Https) {
            say("etcd.peerUrlTls", registered.peer_scheme.name().to_owned());
        }
        for member in (0..frozen.config.replicas).map(|ordinal| frozen.config.member(ordinal)) {
            let wanted = urls(&spec.additional_advertise_peer_urls, &member);
            let stands = registered.additional_peer_urls.get(&member).cloned().unwrap_or_default();
            if wanted != stands {
                say("etcd.additionalAdvertisePeerURLs", format!("{stands:?} for {member}"));
            }
        }
    }
    if let (Some(stands), Some(wanted)) = (&standing.storage, &etcd.spec.storage_capacity) {
        let wanted = super::render::quantity(wanted);
        if !super::same::same_quantity(stands, &wanted) {
            say("storageCapacity", stands.clone());
        }
    }
    said
}

fn urls(entries: &[AdvertisedUrls], member: &str) -> Vec<String> {
    entries
        .iter()
        .find(|entry| entry.member_name == member)
        .map(|entry| entry.urls.clone())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(spec: &Value) -> Vec<String> {
        let metadata = json!({"name": "main", "namespace": "shop"});
        let object = json!({"apiVersion": "v", "kind": "Etcd", "metadata": metadata, "spec": spec});
        let etcd = Etcd::read(&serde_json::from_value(object).unwrap()).unwrap();
        not_carried_out(&etcd, &Standing::default())
    }

    #[test]
    fn what_the_crd_fills_in_is_not_held_against_anybody() {
        let schema = schema(Strength::Structural, false).unwrap();
        let default = |path: &str| schema.pointer(path).and_then(|field| field.get("default")).cloned();
        let timeout = default("/properties/spec/properties/etcd/properties/etcdDefragTimeout").unwrap();
        let kept = default("/properties/spec/properties/backup/properties/maxBackupsLimitBasedGC").unwrap();
        assert_eq!(
            said(
                &json!({"etcd": {"etcdDefragTimeout": timeout}, "backup": {"maxBackupsLimitBasedGC": kept}})
            ),
            Vec::<String>::new()
        );
    }

    #[test]
    fn what_is_asked_for_is_named_once() {
        let store = json!({"store": {"prefix": "p"}, "port": 1});
        assert_eq!(said(&json!({"backup": store})), ["spec.backup.store: no backups are taken"]);
        assert_eq!(said(&json!({"backup": {"port": 1}})), ["spec.backup: no backup process runs"]);
        let more = json!({"etcd": {"etcdDefragTimeout": "7m", "peerUrlTls": {"serverTLSSecretRef": {"name": "x", "namespace": "other"}}}});
        let said = said(&more);
        assert!(
            said[0].contains("etcdDefragTimeout") && said[1].contains("\"other\"") && said.len() == 2,
            "{said:?}"
        );
    }
}
