//! `spec.backup`: where backups go, and the process that takes them.

use super::checks;
use super::config::{SecretRef, Tls};
use super::fields::resource;
use super::scalar::{Int32, Int64, IntOrText, Text};
use super::schema::ResourceRequirements;
use validator::Validate;

resource! {
    impl 'a;
    /// `spec.backup`.
    pub struct Backup<'a> = "an object" {
        /// Port of the backup process; 8080 if absent.
        #[validate(custom(function = "checks::ports"))]
        "port" => port: Int32,
        /// TLS towards the backup process. Absent: plain HTTP.
        "tls" => tls: Tls<'a>,
        /// The object store for backups. Absent: none are taken.
        #[validate(nested)]
        "store" => store: Store<'a>,
        /// When delta snapshots are compacted into a full one.
        #[validate(nested)]
        "snapshotCompaction" => snapshot_compaction: SnapshotCompaction,
        /// When full snapshots are taken: five-field cron, such as "0 */24 * * *".
        #[validate(custom(function = "checks::schedules"))]
        "fullSnapshotSchedule" => full_snapshot_schedule: Text<'a>,
        /// Which snapshots are kept: "LimitBased" (if absent) keeps the newest maxBackupsLimitBasedGC, "Exponential"
        /// fewer the older they are.
        #[validate(custom(function = "checks::garbage_collection_policy"))]
        "garbageCollectionPolicy" => garbage_collection_policy: Text<'a>,
        /// How many full snapshots the policy LimitBased keeps; 7 if absent.
        #[validate(custom(function = "checks::numbers"))]
        "maxBackupsLimitBasedGC" => max_backups_limit_based_gc: Int32,
        /// How often snapshots are tidied, such as "12h"; "0s": never. Longer than deltaSnapshotPeriod.
        #[validate(custom(function = "checks::durations_or_off"))]
        "garbageCollectionPeriod" => garbage_collection_period: Text<'a>,
        /// How often changes are saved as a delta snapshot, such as "5m"; "0s": never.
        #[validate(custom(function = "checks::durations_or_off"))]
        "deltaSnapshotPeriod" => delta_snapshot_period: Text<'a>,
        /// How much of the changes is held in memory before they are saved, such as 100Mi (if absent).
        #[validate(custom(function = "checks::quantities"))]
        "deltaSnapshotMemoryLimit" => delta_snapshot_memory_limit: IntOrText<'a>,
        /// How long delta snapshots are kept, such as "24h"; "0s": not longer than needed.
        #[validate(custom(function = "checks::durations_or_off"))]
        "deltaSnapshotRetentionPeriod" => delta_snapshot_retention_period: Text<'a>,
        /// How long a snapshot may take, such as "15m" (if absent).
        #[validate(custom(function = "checks::durations"))]
        "etcdSnapshotTimeout" => etcd_snapshot_timeout: Text<'a>,
        /// Compression of snapshots.
        #[validate(nested)]
        "compression" => compression: Compression<'a>,
        /// How the backup processes of the members elect the one that takes snapshots.
        #[validate(nested)]
        "leaderElection" => leader_election: LeaderElection<'a>,
    }
    unread {
        /// Image of the backup container; the controller's default if absent.
        "image": Text<'static>,
        /// CPU and memory of the backup container; requests of 50m and 128Mi if absent.
        "resources": ResourceRequirements,
        /// Whether the backup process serves profiles of itself.
        "enableProfiling": bool,
    }
}

resource! {
    impl 'a;
    /// `spec.backup.store`.
    pub struct Store<'a> = "an object" {
        /// Bucket or container: 3 to 63 characters of A-Z a-z 0-9 . _ -
        #[validate(custom(function = "checks::container"))]
        "container" => container: Text<'a>,
        /// Address of the object store where it isn't the provider's own, such as "https://minio.example:9000".
        #[validate(custom(function = "checks::endpoint_override"))]
        "endpointOverride" => endpoint_override: Text<'a>,
        /// Path of this cluster's backups in the container. Required; may be "".
        "prefix" => prefix: Text<'a>,
        /// Kind of object store: aws, azure, gcp, openstack, alicloud, dell, openshift, stackit or Local.
        #[validate(custom(function = "checks::provider"))]
        "provider" => provider: Text<'a>,
        /// Secret with the credentials of the store. Absent: those of the node or of the service account.
        "secretRef" => secret_ref: SecretRef<'a>,
    }
    unread {}
}

resource! {
    impl 'a;
    /// `spec.backup.snapshotCompaction`.
    pub struct SnapshotCompaction = "an object" {
        /// Number of events since the last full snapshot that lead to a compaction.
        #[validate(custom(function = "checks::numbers"))]
        "eventsThreshold" => events_threshold: Int64,
        /// Number of events since the last full snapshot that lead to a full snapshot.
        #[validate(custom(function = "checks::numbers"))]
        "triggerFullSnapshotThreshold" => trigger_full_snapshot_threshold: Int64,
    }
    unread {
        /// CPU and memory of the compaction's pod.
        "resources": ResourceRequirements,
    }
}

resource! {
    impl 'a;
    /// `spec.backup.compression`.
    pub struct Compression<'a> = "an object" {
        /// Algorithm: "gzip" (if absent), "lzw" or "zlib".
        #[validate(custom(function = "checks::compression_policy"))]
        "policy" => policy: Text<'a>,
    }
    unread {
        /// Whether snapshots are compressed.
        "enabled": bool,
    }
}

resource! {
    impl 'a;
    /// `spec.backup.leaderElection`.
    pub struct LeaderElection<'a> = "an object" {
        /// How often leadership is looked at, such as "5s" (if absent).
        #[validate(custom(function = "checks::durations"))]
        "reelectionPeriod" => reelection_period: Text<'a>,
        /// How long a connection to etcd may take, such as "5s" (if absent).
        #[validate(custom(function = "checks::durations"))]
        "etcdConnectionTimeout" => etcd_connection_timeout: Text<'a>,
    }
    unread {}
}
