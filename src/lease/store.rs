//! A Lease, read and replaced by its resource version.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::PostParams;
use kube::{Api, Client};

use crate::kubernetes::{CallError, Target};

const RESOURCE: &str = "leases.coordination.k8s.io";

/// What a Lease says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Who holds it; nobody where it is empty.
    pub holder: String,
    /// How long it must not have changed before somebody else may take it.
    pub duration: Duration,
    /// Since when it is held; for people.
    pub acquired: Option<Timestamp>,
    /// Changes with every renewal.
    pub renewed: Option<Timestamp>,
    /// How often it went from one to another.
    pub transitions: i32,
}

/// A record, and which version of the stored one it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// What it says.
    pub record: Record,
    /// Given back with a write, so that it replaces nothing that wasn't seen.
    pub version: String,
}

/// Why a write was not accepted, or a read brought nothing.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another version is stored.
    #[error("somebody else was quicker")]
    Conflict,
    /// What became of it isn't known.
    #[error("{0}")]
    Failed(String),
}

/// Where a record is kept: a Lease, or a test's stand-in.
pub trait Store: Send + Sync + 'static {
    /// What is stored; nothing where there is no Lease yet.
    fn read(&self) -> impl Future<Output = Result<Option<Stored>, StoreError>> + Send;

    /// Replaces the version that was read, or creates where there was none.
    fn write(
        &self,
        record: Record,
        version: Option<String>,
    ) -> impl Future<Output = Result<Stored, StoreError>> + Send;
}

/// A Lease of the API server.
#[derive(Clone)]
pub struct KubernetesLease {
    api: Api<Lease>,
    namespace: String,
    name: String,
    /// What others wrote of the Lease when it was last read, to be kept when it is replaced.
    kept: Arc<Mutex<ObjectMeta>>,
}

impl KubernetesLease {
    /// The Lease of this name; it needn't be there yet.
    pub fn new(client: Client, namespace: &str, name: &str) -> Self {
        let api = Api::namespaced(client, namespace);
        Self { api, namespace: namespace.to_owned(), name: name.to_owned(), kept: Arc::default() }
    }

    /// The record, and what is to be kept beside it.
    fn seen(&self, lease: Lease) -> Stored {
        let ObjectMeta { labels, annotations, finalizers, owner_references, .. } = lease.metadata.clone();
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) =
            ObjectMeta { labels, annotations, finalizers, owner_references, ..ObjectMeta::default() };
        lease.into()
    }

    fn target(&self, verb: &'static str) -> Target {
        Target::in_namespace(verb, RESOURCE, &self.namespace, &self.name)
    }
}

impl Store for KubernetesLease {
    async fn read(&self) -> Result<Option<Stored>, StoreError> {
        Ok(self.target("get").call(self.api.get_opt(&self.name)).await?.map(|lease| self.seen(lease)))
    }

    async fn write(&self, record: Record, version: Option<String>) -> Result<Stored, StoreError> {
        let (params, creates) = (PostParams::default(), version.is_none());
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let metadata = ObjectMeta { name: Some(self.name.clone()), resource_version: version, ..kept };
        let lease = Lease { metadata, spec: Some(record.into()) };
        let written = if creates {
            self.target("create").call(self.api.create(&params, &lease)).await
        } else {
            self.target("update").call(self.api.replace(&self.name, &params, &lease)).await
        };
        Ok(self.seen(written?))
    }
}

impl From<CallError> for StoreError {
    fn from(error: CallError) -> Self {
        // Gone in between is another version, too.
        if error.is_conflict() || error.is_not_found() {
            Self::Conflict
        } else {
            Self::Failed(error.to_string())
        }
    }
}

impl From<Lease> for Stored {
    fn from(lease: Lease) -> Self {
        let spec = lease.spec.unwrap_or_default();
        let seconds = u64::try_from(spec.lease_duration_seconds.unwrap_or_default()).unwrap_or_default();
        let record = Record {
            holder: spec.holder_identity.unwrap_or_default(),
            duration: Duration::from_secs(seconds),
            acquired: spec.acquire_time.map(|time| time.0),
            renewed: spec.renew_time.map(|time| time.0),
            transitions: spec.lease_transitions.unwrap_or_default(),
        };
        Self { record, version: lease.metadata.resource_version.unwrap_or_default() }
    }
}

impl From<Record> for LeaseSpec {
    fn from(record: Record) -> Self {
        // The API server takes whole seconds, and none below 1.
        let seconds = i32::try_from(record.duration.as_secs()).unwrap_or(i32::MAX).max(1);
        Self {
            holder_identity: Some(record.holder),
            lease_duration_seconds: Some(seconds),
            acquire_time: record.acquired.map(MicroTime),
            renew_time: record.renewed.map(MicroTime),
            lease_transitions: Some(record.transitions),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_says_what_was_written() {
        let record = Record {
            holder: "me".into(),
            duration: Duration::from_secs(15),
            acquired: Some(Timestamp::from_microsecond(1_000_001).unwrap()),
            renewed: Some(Timestamp::from_microsecond(2_000_002).unwrap()),
            transitions: 3,
        };
        let metadata = ObjectMeta { resource_version: Some("7".into()), ..ObjectMeta::default() };
        let lease = Lease { metadata, spec: Some(record.clone().into()) };
        let json = serde_json::to_string(&lease).unwrap();
        let stored = Stored::from(serde_json::from_str::<Lease>(&json).unwrap());
        assert_eq!(stored, Stored { record, version: "7".into() });
    }

    #[test]
    fn an_empty_lease_is_held_by_nobody() {
        assert_eq!(Stored::from(Lease::default()).record, Record::default());
    }
}
