//! Steps, as requests to the API server.

use k8s_openapi::api::core::v1::{ConfigMap, ObjectReference, Pod as KubernetesPod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy};
use kube::core::DynamicObject;
use kube::runtime::events::{Event, EventType};
use serde_json::{Map, Value, json};

use super::super::decide::{Decision, Note, Seen, Step, finalizers};
use super::super::kind::Kind;
use super::super::object::Etcd;
use super::super::render::{BELONGS_TO, MANAGER, common_labels};
use super::super::same::difference;
use super::super::status::Status;
use super::watches::etcds;
use super::{Failed, Term};
use crate::etcd::{GROUP, KIND, VERSION};
use crate::kubernetes::{CallError, Target, causes};
use crate::member::{ClusterId, FORM, Formed, LEAVE};

const ETCDS: &str = "etcds.druid.gardener.cloud";

impl Term {
    /// Status first, since an attempt is recorded there before its word is given; then the steps. What fails is told
    /// with a code; only a status that can't be written stops all.
    pub(super) async fn carry_out(
        &self,
        etcd: &Etcd,
        decision: &Decision,
    ) -> Result<Vec<(String, String)>, Failed> {
        if decision.status != etcd.status {
            self.write_status(etcd, &decision.status).await?;
        }
        self.tell(etcd, &decision.notes).await;
        let mut failures = Vec::new();
        for step in &decision.steps {
            self.health.metrics.writes.inc();
            if let Err(error) = self.step(etcd, step).await {
                // Somebody else was quicker: what that changed is looked at next.
                if !error.is_conflict() || matches!(step, Step::Apply { .. }) {
                    failures.push((code(step), error.to_string()));
                }
            }
        }
        if decision.steps.contains(&Step::Release) {
            self.forget(etcd);
        }
        Ok(failures)
    }

    async fn step(&self, etcd: &Etcd, step: &Step) -> Result<(), CallError> {
        match step {
            Step::Hold => self.finalize(etcd, true).await,
            Step::Release => self.finalize(etcd, false).await,
            Step::Apply { kind, name, uid, object } => {
                self.apply(etcd, *kind, name, uid.as_deref(), object).await
            }
            Step::Delete { kind, name, uid } => self.delete(etcd, *kind, name, uid).await,
            Step::Replace { pod, .. } => self.replace(etcd, pod).await,
            Step::Give(pod, form) => self.annotate(etcd, pod, FORM, json!(form).to_string().into()).await,
            Step::TakeBack(pod) => self.annotate(etcd, pod, FORM, Value::Null).await,
            Step::Tell(pod, leave) => self.annotate(etcd, pod, LEAVE, json!(leave).to_string().into()).await,
            Step::Record(cluster) => self.record(etcd, *cluster).await,
        }
    }

    async fn write_status(&self, etcd: &Etcd, status: &Status) -> Result<(), Failed> {
        self.health.metrics.writes.inc();
        let patch = json!({
            "metadata": {"resourceVersion": etcd.resource_version, "uid": etcd.uid},
            "status": changed(&etcd.status, status),
        });
        let target =
            Target::in_namespace("patch", "etcds/status.druid.gardener.cloud", &etcd.namespace, &etcd.name);
        let written = target
            .call(self.etcds(etcd).patch_status(&etcd.name, &PatchParams::default(), &Patch::Merge(patch)))
            .await?;
        let kept = Etcd::read(&written)?.status.forming_attempt;
        if kept == status.forming_attempt {
            return Ok(());
        }
        Err(Failed::Said(
            "status.formingAttempt was not kept, without which no cluster can be formed: install the CRD of this version (etcd-warden crd)".to_owned(),
        ))
    }

    async fn finalize(&self, etcd: &Etcd, with_ours: bool) -> Result<(), CallError> {
        // Status may have been written since; the finalizers are replaced as a whole, so that theirs must not have changed.
        let target = |verb| Target::in_namespace(verb, ETCDS, &etcd.namespace, &etcd.name);
        let Some(now) = target("get").call(self.etcds(etcd).get_opt(&etcd.name)).await? else {
            return Ok(());
        };
        let present = now.metadata.finalizers.unwrap_or_default();
        let patch = json!({"metadata": {
            "resourceVersion": now.metadata.resource_version, "uid": etcd.uid, "finalizers": finalizers(&present, with_ours),
        }});
        let (api, params, patch) = (self.etcds(etcd), PatchParams::default(), Patch::Merge(patch));
        target("patch").call(api.patch(&etcd.name, &params, &patch)).await.map(drop)
    }

    /// One that stands is applied by its UID; a new one without force, so that one that came in between and isn't ours
    /// is a conflict.
    async fn apply(
        &self,
        etcd: &Etcd,
        kind: Kind,
        name: &str,
        uid: Option<&str>,
        object: &Value,
    ) -> Result<(), CallError> {
        let mut object = object.clone();
        let mut params = PatchParams::apply(MANAGER);
        if let (Some(uid), Some(metadata)) = (uid, object.get_mut("metadata").and_then(Value::as_object_mut))
        {
            metadata.insert("uid".to_owned(), uid.into());
            params = params.force();
        }
        let target = Target::in_namespace("patch", kind.resource(), &etcd.namespace, name);
        let patch = Patch::Apply(&object);
        let stands = target.clone().call(self.objects(etcd, kind).patch(name, &params, &patch)).await?;
        // Or it would be applied again and again.
        match difference(&object, &serde_json::to_value(stands).unwrap_or_default()) {
            None => Ok(()),
            Some(place) => {
                tracing::debug!(%place, name, kind = kind.name(), "what was applied does not stand");
                Err(target.odd(
                    "what was applied does not stand: a webhook or another controller changes it, which must be stopped",
                ))
            }
        }
    }

    async fn delete(&self, etcd: &Etcd, kind: Kind, name: &str, uid: &str) -> Result<(), CallError> {
        // A StatefulSet stays until its pods are gone, and so does what they need.
        let policy = if kind == Kind::StatefulSet {
            PropagationPolicy::Foreground
        } else {
            PropagationPolicy::Background
        };
        let target = Target::in_namespace("delete", kind.resource(), &etcd.namespace, name);
        let params = delete_params(uid, None, Some(policy));
        gone(target.call(self.objects(etcd, kind).delete(name, &params)).await.map(drop))
    }

    async fn replace(&self, etcd: &Etcd, pod: &Seen) -> Result<(), CallError> {
        let target = Target::in_namespace("delete", "pods", &etcd.namespace, &pod.name);
        let params = delete_params(&pod.uid, Some(&pod.resource_version), None);
        gone(target.call(self.pods_of(etcd).delete(&pod.name, &params)).await.map(drop))
    }

    async fn annotate(&self, etcd: &Etcd, pod: &Seen, key: &str, value: Value) -> Result<(), CallError> {
        let patch = json!({"metadata": {
            "uid": pod.uid, "resourceVersion": pod.resource_version, "annotations": {key: value},
        }});
        let target = Target::in_namespace("patch", "pods", &etcd.namespace, &pod.name);
        let params = PatchParams::default();
        target.call(self.pods_of(etcd).patch(&pod.name, &params, &Patch::Merge(patch))).await.map(drop)
    }

    async fn record(&self, etcd: &Etcd, cluster: ClusterId) -> Result<(), CallError> {
        let name = Formed::name(&etcd.name);
        let record = record(etcd, &name, cluster);
        let target = Target::in_namespace("create", "configmaps", &etcd.namespace, &name);
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), &etcd.namespace);
        target.call(api.create(&PostParams::default(), &record)).await.map(drop)
    }

    pub(super) async fn tell(&self, etcd: &Etcd, notes: &[Note]) {
        let about = ObjectReference {
            api_version: Some(format!("{GROUP}/{VERSION}")),
            kind: Some(KIND.to_owned()),
            name: Some(etcd.name.clone()),
            namespace: Some(etcd.namespace.clone()),
            uid: Some(etcd.uid.clone()),
            ..ObjectReference::default()
        };
        for note in notes {
            tracing::info!(namespace = %etcd.namespace, name = %etcd.name, reason = %note.reason, "{}", note.text);
            let event = Event {
                type_: if note.is_warning { EventType::Warning } else { EventType::Normal },
                reason: note.reason.clone(),
                note: Some(note.text.clone()),
                action: note.action.to_owned(),
                secondary: note.member.as_ref().map(|member| pod_of(etcd, member)),
            };
            let target = Target {
                namespace: Some(etcd.namespace.clone()),
                ..Target::all("create", "events.events.k8s.io")
            };
            if let Err(error) = target.call(self.teller.of(&note.text).publish(&event, &about)).await {
                tracing::warn!(error = %causes(&error), "event not written");
            }
        }
    }

    fn etcds(&self, etcd: &Etcd) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &etcd.namespace, &etcds())
    }

    fn objects(&self, etcd: &Etcd, kind: Kind) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &etcd.namespace, &kind.api_resource())
    }

    fn pods_of(&self, etcd: &Etcd) -> Api<KubernetesPod> {
        Api::namespaced(self.client.clone(), &etcd.namespace)
    }
}

/// The pod of a member, whose name may bear a prefix.
fn pod_of(etcd: &Etcd, member: &str) -> ObjectReference {
    let ordinal = member.rsplit('-').next().unwrap_or_default();
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Pod".to_owned()),
        name: Some(format!("{}-{ordinal}", etcd.name)),
        namespace: Some(etcd.namespace.clone()),
        ..ObjectReference::default()
    }
}

fn record(etcd: &Etcd, name: &str, cluster: ClusterId) -> ConfigMap {
    let labels = common_labels(&etcd.name)
        .into_iter()
        .filter_map(|(key, value)| Some((key, value.as_str()?.to_owned())));
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(labels.collect()),
            annotations: Some([(BELONGS_TO.to_owned(), etcd.uid.clone())].into()),
            ..ObjectMeta::default()
        },
        immutable: Some(true),
        data: Some(Formed { cluster }.data()),
        ..ConfigMap::default()
    }
}

fn delete_params(uid: &str, version: Option<&str>, policy: Option<PropagationPolicy>) -> DeleteParams {
    let preconditions =
        Preconditions { uid: Some(uid.to_owned()), resource_version: version.map(str::to_owned) };
    DeleteParams { preconditions: Some(preconditions), propagation_policy: policy, ..DeleteParams::default() }
}

/// What is gone needn't be deleted.
fn gone(done: Result<(), CallError>) -> Result<(), CallError> {
    match done {
        Err(error) if error.is_not_found() => Ok(()),
        done => done,
    }
}

/// The fields of status that differ; one that is to go is `null`, and within them nothing is.
fn changed(before: &Status, after: &Status) -> Map<String, Value> {
    let fields = |status: &Status| match serde_json::to_value(status) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let before = fields(before);
    let differ = fields(after).into_iter().filter(|(key, value)| before.get(key) != Some(value));
    differ.map(|(key, value)| (key, super::super::object::without_nulls(value))).collect()
}

fn code(step: &Step) -> String {
    let what = match step {
        Step::Hold | Step::Release => "FINALIZER",
        Step::Apply { kind, .. } => return format!("ERR_SYNC_{}", kind.name().to_uppercase()),
        Step::Delete { kind, .. } => return format!("ERR_DELETE_{}", kind.name().to_uppercase()),
        Step::Replace { .. } => "REPLACE_POD",
        Step::Give(..) | Step::TakeBack(_) | Step::Tell(..) => "PATCH_POD",
        Step::Record(_) => "RECORD_CLUSTER",
    };
    format!("ERR_{what}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_no_more_is_written_as_nothing() {
        let before = Status {
            other_voters: vec!["c2-0".to_owned()],
            join: Some("1/3 joined".to_owned()),
            replicas: Some(3),
            ..Status::default()
        };
        let after = Status { replicas: Some(3), ..Status::default() };
        assert_eq!(Value::Object(changed(&before, &after)), json!({"otherVoters": [], "join": null}));
        assert!(changed(&after, &after).is_empty());
        let all = changed(&after, &before);
        assert_eq!(all.keys().collect::<Vec<_>>(), ["join", "otherVoters"]);
    }
}
