//! What the API server says to an agent, and what the agent reports there: objects by name, nothing else.

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{Api, ObjectMeta, Patch, PatchParams};
use serde_json::json;

use crate::kubernetes::{CallError, Target};
use crate::member::{
    Config, FORM, Form, Formed, LEAVE, Leave, MEMBER, Report, SeenStarts, Starts, TooLong, Volume,
};

use super::facts::{Sibling, Told};

/// The pod that this agent is in.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Name of the Etcd.
    pub etcd: String,
    /// Namespace of pod and Etcd.
    pub namespace: String,
    /// Name of the pod.
    pub pod: String,
    /// UID of the pod: another pod of that name is another one.
    pub uid: String,
}

/// The API server, as this agent uses it.
#[derive(Clone)]
pub struct ApiServer {
    pods: Api<Pod>,
    maps: Api<ConfigMap>,
    identity: Identity,
}

/// Why the API server brought nothing that can be used.
#[derive(Debug, thiserror::Error)]
pub enum ApiFault {
    /// A request failed.
    #[error("{0}")]
    Call(#[from] CallError),
    /// An object doesn't hold what it should.
    #[error("{object} can't be used: {fault}")]
    Content {
        /// Which object.
        object: String,
        /// What is wrong.
        fault: String,
    },
    /// A report that no annotation can hold.
    #[error("{0}")]
    TooLong(TooLong),
    /// The pod of this name is another one.
    #[error("the pod {0} is another one by now: this one is about to end")]
    AnotherPod(String),
}

/// The own pod, as far as it matters.
#[derive(Clone, Debug)]
pub struct OwnPod {
    /// Version, for a write that must not overtake another.
    version: Option<String>,
    form: Option<Form>,
    leave: Option<Leave>,
    report: Option<Report>,
}

impl ApiServer {
    /// For the agent in this pod.
    pub fn new(client: kube::Client, identity: Identity) -> Self {
        let namespace = &identity.namespace;
        Self {
            pods: Api::namespaced(client.clone(), namespace),
            maps: Api::namespaced(client, namespace),
            identity,
        }
    }

    /// How the member runs, and how often members were seen to be started.
    pub async fn config(&self) -> Result<(Config, Starts), ApiFault> {
        let name = Config::name(&self.identity.etcd);
        let map = self.target("get", "configmaps", &name).call(self.maps.get(&name)).await?;
        let text = map.data.as_ref().and_then(|data| data.get(Config::KEY));
        let unusable = |fault: String| content("configmap", &name, fault);
        let text = text.ok_or_else(|| unusable(format!("it has no {}", Config::KEY)))?;
        let config = serde_json::from_str(text).map_err(|error| unusable(error.to_string()))?;
        let starts = map.data.as_ref().and_then(|data| data.get(Starts::KEY));
        let starts = starts.map(|text| Starts::read(text)).transpose().map_err(unusable)?;
        Ok((config, starts.unwrap_or_default()))
    }

    /// The recorded cluster, where there is one.
    pub async fn formed(&self) -> Result<Option<Formed>, ApiFault> {
        let name = Formed::name(&self.identity.etcd);
        let map = self.target("get", "configmaps", &name).call(self.maps.get_opt(&name)).await?;
        let read = |map: ConfigMap| Formed::read(map.data.as_ref());
        map.map(read).transpose().map_err(|fault| content("configmap", &name, fault))
    }

    /// The own pod, as it is now.
    pub async fn own_pod(&self) -> Result<OwnPod, ApiFault> {
        let name = &self.identity.pod;
        let metadata = self.target("get", "pods", name).call(self.pods.get_metadata(name)).await?.metadata;
        if metadata.uid.as_ref() != Some(&self.identity.uid) {
            return Err(ApiFault::AnotherPod(name.clone()));
        }
        let word = |fault| content("pod", name, fault);
        Ok(OwnPod {
            form: annotation(&metadata, FORM).map_err(word)?,
            leave: annotation(&metadata, LEAVE).map_err(word)?,
            // One that can't be read is that of another release, and will be overwritten.
            report: annotation(&metadata, MEMBER).unwrap_or_default(),
            version: metadata.resource_version,
        })
    }

    /// Everything else that a decision wants to know.
    pub async fn told(&self, config: &Config, starts: &Starts, ordinal: u32) -> Result<Told, ApiFault> {
        let formed = self.formed().await?.map(|formed| formed.cluster);
        let own = self.own_pod().await?;
        let took = own.report.as_ref().and_then(|report| report.took.clone());
        let mut siblings = Vec::new();
        for other in (0..config.replicas).filter(|other| *other != ordinal) {
            siblings.push(self.sibling(&config.pod(other), &config.owner.uid).await?);
        }
        // The loop may not have seen yet what this pod itself reported.
        let starts_seen = own.starts().into_iter().chain(starts.of(&config.pod(ordinal))).collect();
        Ok(Told { formed, form: own.form, took, leave: own.leave, starts_seen, siblings })
    }

    async fn sibling(&self, pod: &str, etcd: &str) -> Result<Sibling, ApiFault> {
        let metadata = self.target("get", "pods", pod).call(self.pods.get_metadata(pod)).await;
        let metadata = match metadata {
            Ok(found) => found.metadata,
            Err(error) if error.is_not_found() => return Ok(Sibling { pod: pod.to_owned(), volume: None }),
            Err(error) => return Err(error.into()),
        };
        let report: Option<Report> = annotation(&metadata, MEMBER).unwrap_or_default();
        let volume = report.filter(|report| report.etcd == etcd).map(|report| report.volume);
        Ok(Sibling { pod: pod.to_owned(), volume })
    }

    /// Writes the report; with a pod that was read before, only where nobody wrote it since.
    pub async fn report(&self, annotation: &str, unchanged: Option<&OwnPod>) -> Result<(), ApiFault> {
        let name = &self.identity.pod;
        let version = unchanged.and_then(|pod| pod.version.as_ref());
        let metadata = match version {
            Some(version) => {
                json!({ "uid": self.identity.uid, "resourceVersion": version, "annotations": { MEMBER: annotation } })
            }
            None => json!({ "uid": self.identity.uid, "annotations": { MEMBER: annotation } }),
        };
        let (patch, params) = (Patch::Merge(json!({ "metadata": metadata })), PatchParams::default());
        let request = self.pods.patch_metadata(name, &params, &patch);
        self.target("patch", "pods", name).call(request).await?;
        Ok(())
    }

    fn target(&self, verb: &'static str, resource: &'static str, name: &str) -> Target {
        Target::in_namespace(verb, resource, &self.identity.namespace, name)
    }
}

impl OwnPod {
    /// The word to form.
    pub const fn form(&self) -> Option<&Form> {
        self.form.as_ref()
    }

    /// The word to leave.
    pub const fn leave(&self) -> Option<&Leave> {
        self.leave.as_ref()
    }

    /// What this pod reported last.
    pub const fn last_report(&self) -> Option<&Report> {
        self.report.as_ref()
    }

    fn starts(&self) -> Option<SeenStarts> {
        match self.report.as_ref()?.volume {
            Volume::Data { member, starts, .. } => Some(SeenStarts { member, starts }),
            Volume::Empty | Volume::Unreadable(_) => None,
        }
    }
}

fn annotation<T: serde::de::DeserializeOwned>(
    metadata: &ObjectMeta,
    name: &str,
) -> Result<Option<T>, String> {
    let Some(text) = metadata.annotations.as_ref().and_then(|all| all.get(name)) else { return Ok(None) };
    if text.len() > Report::BYTES_MAX && name == MEMBER {
        return Err(format!("annotation {name} is too long"));
    }
    serde_json::from_str(text).map(Some).map_err(|error| format!("annotation {name}: {error}"))
}

fn content(kind: &str, name: &str, fault: String) -> ApiFault {
    ApiFault::Content { object: format!("{kind} {name:?}"), fault }
}
