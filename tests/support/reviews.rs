//! Reviews and objects to start from.

use serde_json::{Value, json};

/// A small Etcd that breaks no rule.
pub(crate) fn etcd() -> Value {
    json!({
        "apiVersion": "druid.gardener.cloud/v1alpha1",
        "kind": "Etcd",
        "metadata": {"name": "main", "namespace": "test"},
        "spec": {"labels": {"app": "etcd"}, "etcd": {}, "backup": {}, "replicas": 1},
    })
}

/// An Etcd that joins an existing cluster and breaks no rule.
pub(crate) fn joining() -> Value {
    let mut object = etcd();
    object["spec"]["replicas"] = json!(3);
    object["spec"]["etcd"] = json!({
        "metrics": "basic",
        "quota": "8Gi",
        "serverPort": 2380,
        "heartbeatDuration": "10s",
        "bootstrapWithExistingCluster": {
            "members": [
                {"name": "src-0", "peerUrls": ["http://10.0.0.1:2380"]},
                {"name": "src-1", "peerUrls": ["http://10.0.0.2:2380"]},
            ],
            "clientEndpoints": ["http://10.0.0.1:2379", "http://10.0.0.2:2379"],
        },
        "additionalAdvertisePeerURLs": [{"memberName": "main-0", "urls": ["http://203.0.113.7:2380"]}],
    });
    object["spec"]["backup"] = json!({"garbageCollectionPeriod": "12h", "deltaSnapshotPeriod": "5m"});
    object
}

/// A review of CREATE.
pub(crate) fn create(object: &Value) -> Value {
    review("CREATE", Some(object), None)
}

/// A review of UPDATE.
pub(crate) fn update(old: &Value, new: &Value) -> Value {
    review("UPDATE", Some(new), Some(old))
}

/// A review of DELETE.
pub(crate) fn delete(old: &Value) -> Value {
    review("DELETE", None, Some(old))
}

/// A review as an API server sends it.
pub(crate) fn review(operation: &str, object: Option<&Value>, old_object: Option<&Value>) -> Value {
    let named = object.or(old_object).cloned().unwrap_or_default();
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {"group": "druid.gardener.cloud", "version": "v1alpha1", "kind": "Etcd"},
            "resource": {"group": "druid.gardener.cloud", "version": "v1alpha1", "resource": "etcds"},
            "name": named["metadata"]["name"],
            "namespace": named["metadata"]["namespace"],
            "operation": operation,
            "userInfo": {"username": "jane", "groups": ["system:authenticated"]},
            "object": object,
            "oldObject": old_object,
            "dryRun": false,
        },
    })
}
