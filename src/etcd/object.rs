//! The object: metadata and spec. A field that no rule reads is `unread`: it is in the CRD, and what stands in it
//! is passed over here.

use super::backup::Backup;
use super::checks;
use super::config::EtcdConfig;
use super::fields::{Path, Visit, Walk, resource, unread};
use super::scalar::{Int32, Int64, IntOrText, StringMap, Text};
use super::schema::{Affinity, LabelSelector, TopologySpreadConstraint};
use super::slot::Slot;
use super::status::Status;
use validator::Validate;

resource! {
    impl 'a;
    /// An `Etcd`. Also what a `Scale` is turned into: its `spec.replicas` and nothing else.
    pub struct Etcd<'a> = "an Etcd object" {
        /// Group and version: druid.gardener.cloud/v1alpha1.
        "apiVersion" => api_version: Text<'a>,
        /// Kind: Etcd.
        "kind" => kind: Text<'a>,
        /// Name, labels and annotations. Services, pods and their labels are named after the object, so that its
        /// name is a DNS-1035 label of at most 52 characters.
        "metadata" => metadata: Metadata<'a>,
        /// The cluster as it is wanted.
        #[validate(nested)]
        "spec" => spec: Spec<'a>,
        /// The cluster as it was last seen. Written by the controller only.
        "status" => status: Status<'a>,
    }
    unread {}
}

resource! {
    impl 'a;
    /// The part of the metadata that rules read.
    pub struct Metadata<'a> = "an object" {
        /// Name; absent where the API server is to make one from `generateName`.
        "name" => name: Text<'a>,
        /// Beginning of a name that the API server completes with five characters.
        "generateName" => generate_name: Text<'a>,
        /// Namespace.
        "namespace" => namespace: Text<'a>,
        /// Identity of the object, made by the API server.
        "uid" => uid: Text<'a>,
        /// Version of the object, made by the API server.
        "resourceVersion" => resource_version: Text<'a>,
        /// Number of changes of the spec so far.
        "generation" => generation: Int64,
        /// When deletion was asked for; its presence is what counts.
        "deletionTimestamp" => deletion_timestamp: Text<'a>,
        /// Annotations.
        "annotations" => annotations: StringMap<'a>,
        /// What must be done before the object goes.
        "finalizers" => finalizers: Vec<Slot<Text<'a>>>,
    }
    unread {}
}

resource! {
    impl 'a;
    /// `spec`.
    pub struct Spec<'a> = "an object" {
        /// Stands before the Etcd's name in the names of its members: with prefix "p", the members of the Etcd
        /// "main" are p-main-0, p-main-1 and so on. An RFC 1123 label. Set at creation, immutable.
        "memberNamePrefix" => member_name_prefix: Text<'a>,
        /// Labels of the pods, beside those that the controller sets. Required; {} for none.
        "labels" => labels: StringMap<'a>,
        /// Annotations of the pods.
        "annotations" => annotations: StringMap<'a>,
        /// Configuration of etcd. Required; {} for the defaults.
        #[validate(nested)]
        "etcd" => etcd: EtcdConfig<'a>,
        /// Backups, and the process that takes them. Required; {} for none.
        #[validate(nested)]
        "backup" => backup: Backup<'a>,
        /// Settings that etcd and the backup process share.
        #[validate(nested)]
        "sharedConfig" => shared_config: SharedConfig<'a>,
        /// Number of members: 1, 3 or 5. 0 hibernates the cluster: its pods end and its data stays. A cluster
        /// doesn't shrink otherwise.
        "replicas" => replicas: Int32,
        /// Storage class of the members' volume claims; the cluster's default class if absent. Set at creation,
        /// immutable.
        "storageClass" => storage_class: Text<'a>,
        /// Size of each member's volume, such as 20Gi; 16Gi if absent. At least twice the quota leaves room for a
        /// defragmentation.
        #[validate(custom(function = "checks::quantities"))]
        "storageCapacity" => storage_capacity: IntOrText<'a>,
        /// Name of the volume claim template; the Etcd's own name if absent. Claims are called
        /// <template>-<pod>. Set at creation, immutable.
        "volumeClaimTemplate" => volume_claim_template: Text<'a>,
    }
    unread {
        /// Deprecated and read by nothing: pods are selected by labels of the controller's own.
        "selector": LabelSelector,
        /// Where the pods may run.
        "schedulingConstraints": SchedulingConstraints,
        /// Priority class of the pods, such as system-cluster-critical.
        "priorityClassName": Text<'static>,
        /// Whether the containers run as root; otherwise as user and group 65532.
        "runAsRoot": bool,
    }
}

unread! {
    /// `spec.schedulingConstraints`.
    pub(super) struct SchedulingConstraints {
        /// Nodes and pods that the pods seek or avoid.
        "affinity": Affinity,
        /// How the pods spread over zones and nodes. One constraint on kubernetes.io/hostname keeps two members
        /// from being lost with one node.
        "topologySpreadConstraints": Vec<TopologySpreadConstraint>,
    }
}

resource! {
    impl 'a;
    /// `spec.sharedConfig`.
    pub struct SharedConfig<'a> = "an object" {
        /// How old revisions are compacted: "periodic" (if absent) keeps a span of time, "revision" a number of
        /// revisions.
        #[validate(custom(function = "checks::auto_compaction_mode"))]
        "autoCompactionMode" => auto_compaction_mode: Text<'a>,
        /// What is kept. In mode periodic a duration such as "30m" or whole hours such as "1", 30m if absent; in
        /// mode revision a number of revisions such as "1000", required. "0" turns compaction off.
        "autoCompactionRetention" => auto_compaction_retention: Text<'a>,
    }
    unread {}
}

impl<'a> Etcd<'a> {
    /// Reads an object. The error is JSON's own; values of the wrong type are no error.
    pub fn read(json: &'a str) -> Result<Slot<Self>, serde_json::Error> {
        serde_json::from_str(json)
    }

    /// Calls `visit` for each value of the wrong type in metadata and spec.
    pub fn wrong_types(&self, visit: &mut Visit<'_>) {
        self.metadata.walk(&Path::Field(&Path::Root, "metadata"), visit);
        self.spec.walk(&Path::Field(&Path::Root, "spec"), visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_type_hides_nothing_else() {
        let json = r#"{"metadata": {"name": 7}, "spec": {"replicas": "3", "labels": {"a": 1, "b": "c"},
            "etcd": {"bootstrapWithExistingCluster": {"members": [null, {"name": "s", "peerUrls": "x"}]}}}}"#;
        let object = Etcd::read(json).unwrap();
        let mut wrong = Vec::new();
        object.get().unwrap().wrong_types(&mut |path, wrong_type| {
            wrong.push(format!("{path}: {} is {}", wrong_type.shown, wrong_type.found));
        });
        assert_eq!(
            wrong,
            [
                "metadata.name: 7 is a number",
                "spec.labels[a]: 1 is a number",
                "spec.etcd.bootstrapWithExistingCluster.members[0]: null is null",
                "spec.etcd.bootstrapWithExistingCluster.members[1].peerUrls: \"x\" is a string",
                "spec.replicas: \"3\" is a string",
            ]
        );
    }

    #[test]
    fn an_object_that_is_none_is_wrong() {
        assert!(Etcd::read("[]").unwrap().is_wrong());
        assert!(Etcd::read("null").unwrap().is_absent());
    }
}
