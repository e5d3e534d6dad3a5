//! What of a spec isn't carried out, and why: nothing is silently ignored.

use serde_json::Value;

use super::object::Etcd;
use super::render::Standing;
use super::spec::AdvertisedUrls;
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

/// What of a spec isn't carried out: each with its field first.
pub(super) fn not_carried_out(etcd: &Etcd, standing: &Standing) -> Vec<String> {
    let spec = serde_json::json!({"spec": etcd.spec});
    let mut said: Vec<String> = Vec::new();
    for (field, why) in NOT_ACTED_ON {
        let backups = said.first().is_some_and(|first| first.starts_with("spec.backup"));
        if is_set(&spec, field) && !(backups && *field == "spec.backup") {
            said.push(format!("{field}: {why}"));
        }
    }
    said.extend(etcd.unknown.iter().map(|field| format!("{field}: not known to this version")));
    said.extend(references(etcd));
    said.extend(frozen(etcd, standing));
    said
}

fn is_set(spec: &Value, field: &str) -> bool {
    let value = spec.pointer(&format!("/{}", field.replace('.', "/")));
    value.is_some_and(|value| !value.is_null() && *value != serde_json::json!({}))
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
