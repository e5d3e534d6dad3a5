//! The `Etcd` resource (`druid.gardener.cloud/v1alpha1`) as it is read from JSON, and the names derived from it.
//!
//! The API is etcd-druid's. An object is read leniently: a value of the wrong JSON type becomes
//! [`Slot::Wrong`] where it stands and hides nothing else.

mod backup;
pub mod checks;
mod config;
pub mod crd;
pub(crate) mod fields;
mod json_names;
mod names;
mod object;
pub(crate) mod scalar;
pub(crate) mod schema;
mod slot;
mod source_member;
mod status;

pub use backup::{Backup, Compression, LeaderElection, SnapshotCompaction, Store};
pub use config::{AdvertisedUrls, Bootstrap, ClientService, EtcdConfig, SecretRef, Tls};
pub use fields::Path;
pub use json_names::json_name;
pub(crate) use names::ordinal;
pub use names::{
    LABEL_MAX, MemberNames, is_dns1035_label, is_label_value, is_qualified_name, is_rfc1123_label,
    is_rfc1123_subdomain,
};
pub use object::{Etcd, Metadata, SharedConfig, Spec};
pub use scalar::{Int32, Int64, IntOrText, StringMap, Text};
pub use slot::{Decode, Json, Slot, Wrong};
pub use source_member::SourceMember;
pub use status::{Condition, MemberStatus, Snapshot, Status};

/// API group of the resource.
pub const GROUP: &str = "druid.gardener.cloud";
/// API version of the resource, without its group.
pub const VERSION: &str = "v1alpha1";
/// Kind of the resource.
pub const KIND: &str = "Etcd";
/// Plural of the resource, as it stands in request paths and webhook registrations.
pub const RESOURCE: &str = "etcds";

/// Type of the condition that tells how far a join is.
pub const BOOTSTRAPPED: &str = "BootstrappedWithExistingCluster";
/// Type of the condition that is `True` once every source member has left a combined cluster.
pub const SOURCES_LEFT: &str = "SourcesLeft";

/// Annotation that gives up the quorum of a combined cluster, with the value `"true"` and no other.
pub const ALLOW_QUORUM_LOSS: &str = "etcd-warden.dev/allow-quorum-loss";
/// Annotation that protects an object from deletion (`"true"`), or lifts the server's default (`"false"`).
pub const DELETION_PROTECTION: &str = "etcd-warden.dev/deletion-protection";
/// Finalizer that holds a joined target until its members have left the combined cluster.
pub const LEAVE_FINALIZER: &str = "etcd-warden.dev/leave";
