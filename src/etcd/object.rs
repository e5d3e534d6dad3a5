//! The object: metadata and spec. Fields that no rule reads are not here; what stands in them is passed over.

use super::checks;
use super::fields::{Path, Visit, Walk, resource};
use super::scalar::{Int32, Int64, IntOrText, StringMap, Text};
use super::slot::Slot;
use super::source_member::SourceMember;
use super::status::Status;
use validator::Validate;

resource! {
    impl 'a;
    /// An `Etcd`. Also what a `Scale` is turned into: its `spec.replicas` and nothing else.
    pub struct Etcd<'a> = "an Etcd object" {
        /// Group and version, `druid.gardener.cloud/v1alpha1`.
        "apiVersion" => api_version: Text<'a>,
        /// `Etcd`.
        "kind" => kind: Text<'a>,
        /// What every object has.
        "metadata" => metadata: Metadata<'a>,
        /// What is wanted.
        #[validate(nested)]
        "spec" => spec: Spec<'a>,
        /// What is.
        "status" => status: Status<'a>,
    }
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
}

resource! {
    impl 'a;
    /// `spec`.
    pub struct Spec<'a> = "an object" {
        /// Stands before the Etcd's name in the names of its members; immutable.
        "memberNamePrefix" => member_name_prefix: Text<'a>,
        /// Labels of the pods.
        "labels" => labels: StringMap<'a>,
        /// Annotations of the pods.
        "annotations" => annotations: StringMap<'a>,
        /// Configuration of etcd.
        #[validate(nested)]
        "etcd" => etcd: EtcdConfig<'a>,
        /// Configuration of etcd-backup-restore.
        #[validate(nested)]
        "backup" => backup: Backup<'a>,
        /// What both read.
        #[validate(nested)]
        "sharedConfig" => shared_config: SharedConfig<'a>,
        /// Number of members; 0 hibernates the cluster.
        "replicas" => replicas: Int32,
        /// Storage class of the claims; immutable.
        "storageClass" => storage_class: Text<'a>,
        /// Size of a claim, 16Gi if absent.
        #[validate(custom(function = "checks::quantities"))]
        "storageCapacity" => storage_capacity: IntOrText<'a>,
        /// Name of the claim template, the Etcd's name if absent; immutable.
        "volumeClaimTemplate" => volume_claim_template: Text<'a>,
    }
}

resource! {
    impl 'a;
    /// `spec.etcd`.
    pub struct EtcdConfig<'a> = "an object" {
        /// Largest size of the database, 8Gi if absent.
        #[validate(custom(function = "checks::quantities"))]
        "quota" => quota: IntOrText<'a>,
        /// Number of transactions between two snapshots of the log.
        #[validate(custom(function = "checks::numbers"))]
        "snapshotCount" => snapshot_count: Int64,
        /// When the database is defragmented: five-field cron.
        #[validate(custom(function = "checks::schedules"))]
        "defragmentationSchedule" => defragmentation_schedule: Text<'a>,
        /// Port for peers, 2380 if absent.
        #[validate(custom(function = "checks::ports"))]
        "serverPort" => server_port: Int32,
        /// Port for clients, 2379 if absent.
        #[validate(custom(function = "checks::ports"))]
        "clientPort" => client_port: Int32,
        /// Port of the process around etcd, 9095 if absent.
        #[validate(custom(function = "checks::ports"))]
        "wrapperPort" => wrapper_port: Int32,
        /// Image of the etcd container.
        "image" => image: Text<'a>,
        /// Never read by etcd-druid.
        "authSecretRef" => auth_secret_ref: SecretRef<'a>,
        /// How much etcd measures.
        #[validate(custom(function = "checks::metrics"))]
        "metrics" => metrics: Text<'a>,
        /// TLS towards clients; absent: plain HTTP.
        "clientUrlTls" => client_url_tls: Tls<'a>,
        /// TLS between peers; absent: plain HTTP.
        "peerUrlTls" => peer_url_tls: Tls<'a>,
        /// Further peer URLs of own members.
        "additionalAdvertisePeerURLs" => additional_advertise_peer_urls: Vec<Slot<AdvertisedUrls<'a>>>,
        /// How long one defragmentation may take.
        #[validate(custom(function = "checks::durations"))]
        "etcdDefragTimeout" => etcd_defrag_timeout: Text<'a>,
        /// How often a member reports.
        #[validate(custom(function = "checks::durations"))]
        "heartbeatDuration" => heartbeat_duration: Text<'a>,
        /// The Service that clients use.
        #[validate(nested)]
        "clientService" => client_service: ClientService<'a>,
        /// How bbolt keeps its free pages.
        #[validate(custom(function = "checks::freelist_type"))]
        "backendBboltFreelistType" => backend_bbolt_freelist_type: Text<'a>,
        /// The existing cluster that this one joins.
        "bootstrapWithExistingCluster" => bootstrap_with_existing_cluster: Bootstrap<'a>,
    }
}

resource! {
    impl 'a;
    /// `spec.etcd.bootstrapWithExistingCluster`.
    pub struct Bootstrap<'a> = "an object" {
        /// The source's members: all of them, each with all of its peer URLs.
        "members" => members: Vec<Slot<SourceMember<'a>>>,
        /// Where the source answers clients.
        "clientEndpoints" => client_endpoints: Vec<Slot<Text<'a>>>,
    }
}

resource! {
    impl 'a;
    /// Further peer URLs of one own member.
    pub struct AdvertisedUrls<'a> = "an object" {
        /// Name of the member.
        "memberName" => member_name: Text<'a>,
        /// Its further peer URLs.
        "urls" => urls: Vec<Slot<Text<'a>>>,
    }
}

resource! {
    impl 'a;
    /// Secrets of one TLS endpoint.
    pub struct Tls<'a> = "an object" {
        /// Certificate authority.
        "tlsCASecretRef" => tls_ca_secret_ref: SecretRef<'a>,
        /// Serving certificate and key.
        "serverTLSSecretRef" => server_tls_secret_ref: SecretRef<'a>,
        /// Client certificate and key.
        "clientTLSSecretRef" => client_tls_secret_ref: SecretRef<'a>,
    }
}

resource! {
    impl 'a;
    /// A reference to a Secret.
    pub struct SecretRef<'a> = "an object" {
        /// Its name.
        "name" => name: Text<'a>,
        /// Its namespace: the Etcd's own, or absent.
        "namespace" => namespace: Text<'a>,
    }
}

resource! {
    impl 'a;
    /// `spec.etcd.clientService`.
    pub struct ClientService<'a> = "an object" {
        /// Its annotations.
        "annotations" => annotations: StringMap<'a>,
        /// Its labels.
        "labels" => labels: StringMap<'a>,
        /// Which endpoints are preferred.
        #[validate(custom(function = "checks::traffic_distribution"))]
        "trafficDistribution" => traffic_distribution: Text<'a>,
    }
}

resource! {
    impl 'a;
    /// `spec.sharedConfig`.
    pub struct SharedConfig<'a> = "an object" {
        /// `periodic` (if absent) or `revision`.
        #[validate(custom(function = "checks::auto_compaction_mode"))]
        "autoCompactionMode" => auto_compaction_mode: Text<'a>,
        /// What is kept: a duration or hours, or a number of revisions; 30m if absent.
        "autoCompactionRetention" => auto_compaction_retention: Text<'a>,
    }
}

resource! {
    impl 'a;
    /// `spec.backup`.
    pub struct Backup<'a> = "an object" {
        /// Port of etcd-backup-restore, 8080 if absent.
        #[validate(custom(function = "checks::ports"))]
        "port" => port: Int32,
        /// TLS of etcd-backup-restore.
        "tls" => tls: Tls<'a>,
        /// Where backups go; absent: none are taken.
        #[validate(nested)]
        "store" => store: Store<'a>,
        /// When snapshots are compacted.
        #[validate(nested)]
        "snapshotCompaction" => snapshot_compaction: SnapshotCompaction,
        /// When full snapshots are taken: five-field cron.
        #[validate(custom(function = "checks::schedules"))]
        "fullSnapshotSchedule" => full_snapshot_schedule: Text<'a>,
        /// Which snapshots are kept.
        #[validate(custom(function = "checks::garbage_collection_policy"))]
        "garbageCollectionPolicy" => garbage_collection_policy: Text<'a>,
        /// How many full snapshots the policy `LimitBased` keeps.
        #[validate(custom(function = "checks::numbers"))]
        "maxBackupsLimitBasedGC" => max_backups_limit_based_gc: Int32,
        /// How often snapshots are tidied; 0: never.
        #[validate(custom(function = "checks::durations_or_off"))]
        "garbageCollectionPeriod" => garbage_collection_period: Text<'a>,
        /// How often changes are saved; 0: never.
        #[validate(custom(function = "checks::durations_or_off"))]
        "deltaSnapshotPeriod" => delta_snapshot_period: Text<'a>,
        /// How much of the changes is held in memory before it is saved.
        #[validate(custom(function = "checks::quantities"))]
        "deltaSnapshotMemoryLimit" => delta_snapshot_memory_limit: IntOrText<'a>,
        /// How long saved changes are kept; 0: not at all.
        #[validate(custom(function = "checks::durations_or_off"))]
        "deltaSnapshotRetentionPeriod" => delta_snapshot_retention_period: Text<'a>,
        /// How long a snapshot may take.
        #[validate(custom(function = "checks::durations"))]
        "etcdSnapshotTimeout" => etcd_snapshot_timeout: Text<'a>,
        /// Compression of snapshots.
        #[validate(nested)]
        "compression" => compression: Compression<'a>,
        /// How the sidecars elect their leader.
        #[validate(nested)]
        "leaderElection" => leader_election: LeaderElection<'a>,
    }
}

resource! {
    impl 'a;
    /// `spec.backup.store`.
    pub struct Store<'a> = "an object" {
        /// Bucket or container.
        #[validate(custom(function = "checks::container"))]
        "container" => container: Text<'a>,
        /// Address of the object store, where it isn't the provider's own.
        #[validate(custom(function = "checks::endpoint_override"))]
        "endpointOverride" => endpoint_override: Text<'a>,
        /// Path in the container; may be empty.
        "prefix" => prefix: Text<'a>,
        /// Kind of object store.
        #[validate(custom(function = "checks::provider"))]
        "provider" => provider: Text<'a>,
        /// Credentials.
        "secretRef" => secret_ref: SecretRef<'a>,
    }
}

resource! {
    impl 'a;
    /// `spec.backup.snapshotCompaction`.
    pub struct SnapshotCompaction = "an object" {
        /// Number of events that lead to a compaction.
        #[validate(custom(function = "checks::numbers"))]
        "eventsThreshold" => events_threshold: Int64,
        /// Number of events that lead to a full snapshot.
        #[validate(custom(function = "checks::numbers"))]
        "triggerFullSnapshotThreshold" => trigger_full_snapshot_threshold: Int64,
    }
}

resource! {
    impl 'a;
    /// `spec.backup.compression`.
    pub struct Compression<'a> = "an object" {
        /// Algorithm.
        #[validate(custom(function = "checks::compression_policy"))]
        "policy" => policy: Text<'a>,
    }
}

resource! {
    impl 'a;
    /// `spec.backup.leaderElection`.
    pub struct LeaderElection<'a> = "an object" {
        /// How often leadership is looked at.
        #[validate(custom(function = "checks::durations"))]
        "reelectionPeriod" => reelection_period: Text<'a>,
        /// How long a connection to etcd may take.
        #[validate(custom(function = "checks::durations"))]
        "etcdConnectionTimeout" => etcd_connection_timeout: Text<'a>,
    }
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
