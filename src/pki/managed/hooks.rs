//! The webhook configurations: what their bundles hold, and one field applied.
//!
//! Server-side apply makes this field manager an owner of each webhook's entry. `kubectl apply` removes an entry all the
//! same; `kubectl apply --server-side` of a configuration with one webhook less is refused by the API server, since the
//! entry would stay with nothing but its bundle: such an upgrade deletes the entry by `kubectl apply` or `kubectl edit`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::{Value, json};

use super::authority::Certificate;

/// Who owns the one field.
pub(super) const FIELD_MANAGER: &str = "etcd-warden-ca-bundle";

const GROUP: &str = "admissionregistration.k8s.io";
const VERSION: &str = "v1";

/// A kind of webhook configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// As an RBAC rule names it, with its group.
    pub(super) resource: &'static str,
    plural: &'static str,
}

/// Both kinds; a configuration of ours has the same name in each.
pub(super) const KINDS: [Kind; 2] = [
    Kind {
        name: "ValidatingWebhookConfiguration",
        resource: "validatingwebhookconfigurations.admissionregistration.k8s.io",
        plural: "validatingwebhookconfigurations",
    },
    Kind {
        name: "MutatingWebhookConfiguration",
        resource: "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        plural: "mutatingwebhookconfigurations",
    },
];

impl Kind {
    pub(super) fn api_resource(self) -> ApiResource {
        let kind = GroupVersionKind::gvk(GROUP, VERSION, self.name);
        ApiResource::from_gvk_with_plural(&kind, self.plural)
    }

    pub(super) fn api_version() -> String {
        format!("{GROUP}/{VERSION}")
    }
}

/// A webhook configuration, as far as its bundles go.
#[derive(Clone, Debug, Default)]
pub(super) struct Hooks {
    pub(super) uid: String,
    /// Each webhook's name and bundle.
    bundles: Vec<(String, Vec<u8>)>,
    managed: Vec<ManagedFieldsEntry>,
}

impl Hooks {
    pub(super) fn of(object: DynamicObject) -> Self {
        let hooks = object.data.get("webhooks").and_then(Value::as_array);
        let bundles = hooks.into_iter().flatten().map(|hook| {
            let text = |place: &str| hook.pointer(place).and_then(Value::as_str).unwrap_or_default();
            let bundle = STANDARD.decode(text("/clientConfig/caBundle")).unwrap_or_default();
            (text("/name").to_owned(), bundle)
        });
        Self {
            uid: object.metadata.uid.unwrap_or_default(),
            bundles: bundles.collect(),
            managed: object.metadata.managed_fields.unwrap_or_default(),
        }
    }

    /// Every certificate that one of the webhooks trusts.
    pub(super) fn trusted(&self) -> impl Iterator<Item = Certificate> {
        self.bundles.iter().flat_map(|(_, bundle)| Certificate::all(bundle))
    }

    /// Whether each webhook trusts a certificate.
    pub(super) fn trust(&self, certificate: &Certificate) -> bool {
        self.bundles.iter().all(|(_, bundle)| Certificate::all(bundle).contains(certificate))
    }

    /// Whether each webhook has this bundle.
    pub(super) fn have(&self, bundle: &str) -> bool {
        self.bundles.iter().all(|(_, found)| found == bundle.as_bytes())
    }

    /// The bundles, to be compared with what was applied.
    pub(super) fn fingerprint(&self) -> Vec<u8> {
        self.bundles
            .iter()
            .flat_map(|(name, bundle)| [name.as_bytes(), b"\0", bundle])
            .flatten()
            .copied()
            .collect()
    }

    /// What is applied: the bundle of every webhook, and nothing else. The uid keeps it from making a configuration
    /// that was deleted in between.
    pub(super) fn applied(&self, kind: Kind, name: &str, bundle: &str) -> Value {
        let bundle = STANDARD.encode(bundle);
        let hooks: Vec<Value> = self
            .bundles
            .iter()
            .map(|(name, _)| json!({"name": name, "clientConfig": {"caBundle": bundle}}))
            .collect();
        json!({
            "apiVersion": Kind::api_version(),
            "kind": kind.name,
            "metadata": {"name": name, "uid": self.uid},
            "webhooks": hooks
        })
    }

    /// Who else wrote a bundle, and how; the latest of several. Who removes a field owns nothing.
    pub(super) fn writer(&self) -> Option<String> {
        let others = self.managed.iter().filter(|entry| {
            entry.manager.as_deref() != Some(FIELD_MANAGER)
                && entry.fields_v1.as_ref().is_some_and(|fields| owns_bundle(&fields.0))
        });
        let latest = others.max_by_key(|entry| entry.time.as_ref().map(|time| time.0))?;
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
        Some(format!("field manager {:?} ({})", text(&latest.manager), text(&latest.operation)))
    }
}

fn owns_bundle(fields: &Value) -> bool {
    let hooks = fields.get("f:webhooks").and_then(Value::as_object);
    hooks
        .into_iter()
        .flatten()
        .any(|(_, hook)| hook.get("f:clientConfig").is_some_and(|config| config.get("f:caBundle").is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hooks(object: &Value) -> Hooks {
        Hooks::of(serde_json::from_value(object.clone()).unwrap())
    }

    fn configuration(bundles: &[&str]) -> Value {
        let webhooks: Vec<Value> = bundles
            .iter()
            .enumerate()
            .map(|(index, bundle)| json!({"name": format!("hook-{index}"), "clientConfig": {"caBundle": STANDARD.encode(bundle), "service": {"name": "s", "namespace": "n"}}}))
            .collect();
        json!({"apiVersion": Kind::api_version(), "kind": KINDS[0].name, "metadata": {"name": "w", "uid": "u"}, "webhooks": webhooks})
    }

    #[test]
    fn nothing_but_the_bundles_is_applied() {
        let hooks = hooks(&configuration(&["one", "two"]));
        let bundle = STANDARD.encode("new");
        assert_eq!(
            hooks.applied(KINDS[0], "w", "new"),
            json!({
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "ValidatingWebhookConfiguration",
                "metadata": {"name": "w", "uid": "u"},
                "webhooks": [
                    {"name": "hook-0", "clientConfig": {"caBundle": bundle}},
                    {"name": "hook-1", "clientConfig": {"caBundle": bundle}}
                ]
            })
        );
    }

    #[test]
    fn every_webhook_must_have_the_bundle() {
        assert!(hooks(&configuration(&["a", "a"])).have("a"));
        assert!(!hooks(&configuration(&["a", "b"])).have("a"));
        assert!(hooks(&configuration(&[])).have("a"));
        assert!(!hooks(&json!({"metadata": {}, "webhooks": [{"name": "x", "clientConfig": {}}]})).have("a"));
    }

    #[test]
    fn the_latest_other_writer_is_named() {
        let entry = |manager: &str, operation: &str, time: &str, field: &str| {
            json!({
                "manager": manager, "operation": operation, "time": time, "apiVersion": "v1", "fieldsType": "FieldsV1",
                "fieldsV1": {"f:webhooks": {"k:{\"name\":\"x\"}": {"f:clientConfig": {field: {}}}}}
            })
        };
        let mut object = configuration(&["a"]);
        object["metadata"]["managedFields"] = json!([
            entry("argocd", "Apply", "2026-01-01T00:00:00Z", "f:caBundle"),
            entry("kubectl-edit", "Update", "2026-01-02T00:00:00Z", "f:caBundle"),
            entry("helm", "Update", "2026-01-04T00:00:00Z", "f:service"),
            entry(FIELD_MANAGER, "Apply", "2026-01-05T00:00:00Z", "f:caBundle"),
        ]);
        assert_eq!(hooks(&object).writer().unwrap(), "field manager \"kubectl-edit\" (Update)");
        assert_eq!(hooks(&configuration(&["a"])).writer(), None);
    }
}
