//! An Etcd that can't be read: it is told so itself, since whoever wrote it looks there and not into our log.

use jiff::Timestamp;
use kube::Api;
use kube::api::{Patch, PatchParams};
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::super::decide::{Note, time};
use super::super::object::{Etcd, Unreadable};
use super::watches::etcds;
use super::{Failed, Term};
use crate::kubernetes::Target;
use crate::text::{escaped, shortened};

/// Code of the error in `status.lastErrors`, and reason of the event.
const CODE: &str = "ERR_UNREADABLE";

/// Longest description, in characters.
const MAX: usize = 900;

impl Term {
    /// Says it in the Etcd's status and as an event, unless that is said already.
    pub(super) async fn unreadable(&self, object: &DynamicObject, error: Unreadable) -> Failed {
        let said = escaped(&shortened(&error.to_string(), MAX));
        let is_known = object.data.pointer("/status/lastErrors").is_some_and(|errors| says(errors, &said));
        if !is_known && let Err(failed) = self.say_unreadable(object, &said).await {
            tracing::warn!(error = %failed, "what can't be read of an Etcd isn't in its status");
        }
        error.into()
    }

    async fn say_unreadable(&self, object: &DynamicObject, said: &str) -> Result<(), Failed> {
        let of = |text: &Option<String>| text.clone().unwrap_or_default();
        let metadata = &object.metadata;
        let (namespace, name, uid) = (of(&metadata.namespace), of(&metadata.name), of(&metadata.uid));
        let error = json!({"code": CODE, "description": said, "observedAt": time(Timestamp::now())});
        let patch = json!({"metadata": {"uid": uid}, "status": {"lastErrors": [error]}});
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &namespace, &etcds());
        let target = Target::in_namespace("patch", "etcds/status.druid.gardener.cloud", &namespace, &name);
        self.health.metrics.writes.inc();
        target.call(api.patch_status(&name, &PatchParams::default(), &Patch::Merge(patch))).await?;
        let note = Note {
            reason: CODE.to_owned(),
            text: said.to_owned(),
            is_warning: true,
            action: "Reconcile",
            member: None,
        };
        self.tell(&Etcd { name, namespace, uid, ..Etcd::default() }, &[note]).await;
        Ok(())
    }
}

fn says(errors: &Value, said: &str) -> bool {
    let errors = errors.as_array().into_iter().flatten();
    errors.into_iter().any(|error| error["code"] == CODE && error["description"] == said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_already_is_not_said_again() {
        let errors = json!([{"code": CODE, "description": "x", "observedAt": "2026-11-29T20:00:00Z"}]);
        assert!(says(&errors, "x"));
        assert!(!says(&errors, "y") && !says(&json!([]), "x") && !says(&Value::Null, "x"));
    }
}
