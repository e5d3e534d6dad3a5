//! `spec.etcd`: how etcd runs, how it is reached, and the cluster that it joins.

use super::checks;
use super::fields::resource;
use super::scalar::{Int32, Int64, IntOrText, StringMap, Text};
use super::schema::{ResourceRequirements, Schema, with_property};
use super::slot::Slot;
use super::source_member::SourceMember;
use validator::Validate;

resource! {
    impl 'a;
    /// `spec.etcd`.
    pub struct EtcdConfig<'a> = "an object" {
        /// Largest size of the database, such as 4Gi; 8Gi if absent. etcd refuses writes beyond it (alarm NOSPACE).
        #[validate(custom(function = "checks::quantities"))]
        "quota" => quota: IntOrText<'a>,
        /// Number of transactions between two snapshots of the log; 10000 if absent.
        #[validate(custom(function = "checks::numbers"))]
        "snapshotCount" => snapshot_count: Int64,
        /// When the database is defragmented: five-field cron, such as "0 */24 * * *". Days of the week are 1 to 7.
        #[validate(custom(function = "checks::schedules"))]
        "defragmentationSchedule" => defragmentation_schedule: Text<'a>,
        /// Port on which members reach each other; 2380 if absent.
        #[validate(custom(function = "checks::ports"))]
        "serverPort" => server_port: Int32,
        /// Port on which clients are answered; 2379 if absent.
        #[validate(custom(function = "checks::ports"))]
        "clientPort" => client_port: Int32,
        /// Port of the process around etcd, which answers readiness probes; 9095 if absent.
        #[validate(custom(function = "checks::ports"))]
        "wrapperPort" => wrapper_port: Int32,
        /// Image of the etcd container; the controller's default if absent. Its minor version rises by one at a time
        /// and never falls.
        "image" => image: Text<'a>,
        /// A Secret with credentials; read by nothing.
        "authSecretRef" => auth_secret_ref: SecretRef<'a>,
        /// How much etcd measures: "basic" (if absent) or "extensive", which adds histograms.
        #[validate(custom(function = "checks::metrics"))]
        "metrics" => metrics: Text<'a>,
        /// TLS towards clients. Absent: plain HTTP.
        "clientUrlTls" => client_url_tls: Tls<'a>,
        /// TLS between members. Absent: plain HTTP.
        "peerUrlTls" => peer_url_tls: Tls<'a> as PeerTls,
        /// Further peer URLs at which own members are reached, such as those of load balancers: at most 10 entries,
        /// one a member.
        "additionalAdvertisePeerURLs" => additional_advertise_peer_urls: Vec<Slot<AdvertisedUrls<'a>>>,
        /// How long one defragmentation may take, such as "10m"; 15m if absent.
        #[validate(custom(function = "checks::durations"))]
        "etcdDefragTimeout" => etcd_defrag_timeout: Text<'a>,
        /// How often a member reports that it lives, such as "30s"; 10s if absent.
        #[validate(custom(function = "checks::durations"))]
        "heartbeatDuration" => heartbeat_duration: Text<'a>,
        /// The Service that clients use.
        #[validate(nested)]
        "clientService" => client_service: ClientService<'a>,
        /// How bbolt keeps its free pages: "array" (if absent) or "map", which is quicker for large databases.
        #[validate(custom(function = "checks::freelist_type"))]
        "backendBboltFreelistType" => backend_bbolt_freelist_type: Text<'a>,
        /// An existing cluster that this one joins instead of forming one of its own. Named at creation or never;
        /// frozen until the join is complete (condition BootstrappedWithExistingCluster is True).
        "bootstrapWithExistingCluster" => bootstrap_with_existing_cluster: Bootstrap<'a>,
    }
    unread {
        /// Whether etcd serves its API as JSON too.
        "enableGRPCGateway": bool,
        /// CPU and memory of the etcd container; requests of 50m and 128Mi if absent.
        "resources": ResourceRequirements,
    }
}

resource! {
    impl 'a;
    /// `spec.etcd.bootstrapWithExistingCluster`.
    pub struct Bootstrap<'a> = "an object" {
        /// The members of the existing cluster: all of them, 1 to 10, each with all of its peer URLs. etcd refuses
        /// to start on less.
        "members" => members: Vec<Slot<SourceMember<'a>>>,
        /// Where the existing cluster answers clients, such as "https://main-client.source.svc:2379": 1 to 10 URLs.
        /// https exactly when clientUrlTls is set.
        "clientEndpoints" => client_endpoints: Vec<Slot<Text<'a>>>,
    }
    unread {}
}

resource! {
    impl 'a;
    /// Further peer URLs of one own member.
    pub struct AdvertisedUrls<'a> = "an object" {
        /// Name of a member of this Etcd: <name>-<ordinal>, or <memberNamePrefix>-<name>-<ordinal>.
        "memberName" => member_name: Text<'a>,
        /// Its further peer URLs, such as "https://10.0.0.7:2380": 1 to 5. https exactly when peerUrlTls is set.
        "urls" => urls: Vec<Slot<Text<'a>>>,
    }
    unread {}
}

resource! {
    impl 'a;
    /// Secrets of one TLS endpoint.
    pub struct Tls<'a> = "an object" {
        /// Secret with the certificate of the authority.
        "tlsCASecretRef" => tls_ca_secret_ref: SecretRef<'a> as CaSecretRef,
        /// Secret with serving certificate and key (tls.crt, tls.key).
        "serverTLSSecretRef" => server_tls_secret_ref: SecretRef<'a>,
        /// Secret with client certificate and key (tls.crt, tls.key). Required in clientUrlTls: the members dial with
        /// it.
        "clientTLSSecretRef" => client_tls_secret_ref: SecretRef<'a>,
    }
    unread {}
}

/// `spec.etcd.peerUrlTls`, as the CRD describes it.
enum PeerTls {}

impl Schema for PeerTls {
    fn schema() -> serde_json::Value {
        with_property::<bool>(
            Tls::schema(),
            "skipClientSANVerification",
            "Whether a peer's certificate is taken without comparing its names with the peer's address: for peers \
             behind address translation.",
        )
    }
}

resource! {
    impl 'a;
    /// A reference to a Secret.
    pub struct SecretRef<'a> = "an object" {
        /// Name of the Secret.
        "name" => name: Text<'a>,
        /// Namespace of the Secret: the Etcd's own, or absent. Pods mount Secrets of their own namespace only.
        "namespace" => namespace: Text<'a>,
    }
    unread {}
}

/// A reference to the Secret of a certificate authority, as the CRD describes it.
enum CaSecretRef {}

impl Schema for CaSecretRef {
    fn schema() -> serde_json::Value {
        with_property::<Text<'_>>(
            SecretRef::schema(),
            "dataKey",
            "Key of the certificate in the Secret; ca.crt if absent.",
        )
    }
}

resource! {
    impl 'a;
    /// `spec.etcd.clientService`.
    pub struct ClientService<'a> = "an object" {
        /// Its annotations.
        "annotations" => annotations: StringMap<'a>,
        /// Its labels, beside those that the controller sets.
        "labels" => labels: StringMap<'a>,
        /// Which endpoints are preferred: "PreferSameZone", "PreferSameNode" or "PreferClose"; all alike if absent.
        #[validate(custom(function = "checks::traffic_distribution"))]
        "trafficDistribution" => traffic_distribution: Text<'a>,
    }
    unread {}
}
