//! An Etcd that the loop makes real, and what etcd itself says of it.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::api::{Api, ETCDS};
use super::{Namespace, Output, eventually};
use crate::support::process;

/// Images in every node.
pub const IMAGE_3_5: &str = "docker.io/local/etcd:3.5";
/// The next minor.
pub const IMAGE_3_6: &str = "docker.io/local/etcd:3.6";
/// And the next.
pub const IMAGE_3_7: &str = "docker.io/local/etcd:3.7";

/// An image that is in every node, and has no etcd.
pub const IMAGE_WITHOUT: &str = concat!("docker.io/library/etcd-warden:", env!("CARGO_PKG_VERSION"));

/// Says how far a join is.
const BOOTSTRAPPED: &str = "BootstrappedWithExistingCluster";

/// Longer than anything takes that works, on a busy machine: a join waits for nothing longer than its own steps.
const SOON: Duration = Duration::from_mins(2);

/// One Etcd.
pub struct Etcd<'a> {
    pub shop: &'a Namespace<'a>,
    pub name: String,
    api: Api,
    /// What etcdctl is told about TLS.
    flags: Vec<String>,
}

/// A member, as etcd lists it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    pub name: String,
    pub id: u64,
    pub is_learner: bool,
}

/// A small Etcd: several of them fit on one node.
pub fn spec(replicas: u32, image: &str) -> Value {
    json!({
        "replicas": replicas,
        "labels": {"app": "etcd"},
        // A bed's volumes belong to root, whatever group a pod asks for.
        "runAsRoot": true,
        "storageCapacity": "64Mi",
        "backup": {},
        "etcd": {
            "image": image,
            "quota": "32Mi",
            "resources": {"requests": {"cpu": "1m", "memory": "16Mi"}},
        },
    })
}

/// A small Etcd that joins an existing cluster.
pub fn joining(replicas: u32, image: &str, bootstrap: &Value) -> Value {
    let mut spec = spec(replicas, image);
    spec["etcd"]["bootstrapWithExistingCluster"] = bootstrap.clone();
    spec
}

impl<'a> Etcd<'a> {
    /// Creates it.
    #[track_caller]
    pub fn create(shop: &'a Namespace<'a>, name: &str, spec: &Value) -> Self {
        let etcd = Self { shop, name: name.to_owned(), api: shop.bed.api(), flags: Vec::new() };
        let object = json!({
            "apiVersion": "druid.gardener.cloud/v1alpha1", "kind": "Etcd",
            "metadata": {"name": name, "namespace": shop.name}, "spec": spec,
        });
        etcd.api.post(&etcd.path("etcds", ""), &object).ok();
        if spec["etcd"]["clientUrlTls"].is_object() {
            let flags = [("cacert", "ca/ca.crt"), ("cert", "client/tls.crt"), ("key", "client/tls.key")];
            let flags = flags.map(|(flag, file)| format!("--{flag}=/var/etcd/ssl/{file}"));
            return Self { flags: flags.into(), ..etcd };
        }
        etcd
    }

    fn path(&self, resource: &str, name: &str) -> String {
        let group =
            if resource.starts_with("etcds") { format!("{ETCDS}/v1alpha1") } else { "/api/v1".to_owned() };
        format!("{group}/namespaces/{}/{resource}/{name}", self.shop.name)
    }

    /// It, as the API server has it; null where it is gone.
    pub fn object(&self) -> Value {
        let answer = self.api.get(&self.path("etcds", &self.name));
        if answer.code == 404 { Value::Null } else { answer.ok() }
    }

    /// Merges a change of its spec.
    #[track_caller]
    pub fn change(&self, spec: &Value) {
        self.api.merge(&self.path("etcds", &self.name), &json!({"spec": spec})).ok();
    }

    /// Asks for its deletion.
    #[track_caller]
    pub fn delete(&self) {
        self.api.delete(&self.path("etcds", &self.name)).ok();
    }

    /// The same with a word about what depends on it: `Background`, `Foreground` or `Orphan`.
    #[track_caller]
    pub fn delete_by(&self, policy: &str) {
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": policy});
        self.api.delete_with(&self.path("etcds", &self.name), &options).ok();
    }

    /// One of its pods; null where there is none.
    pub fn pod(&self, ordinal: u32) -> Value {
        let answer = self.api.get(&self.path("pods", &self.pod_name(ordinal)));
        if answer.code == 404 { Value::Null } else { answer.ok() }
    }

    pub fn pod_name(&self, ordinal: u32) -> String {
        format!("{}-{ordinal}", self.name)
    }

    /// Deletes pods, all at once, and waits until others have taken their place, and are ready.
    #[track_caller]
    pub fn replace_pods(&self, ordinals: &[u32]) {
        self.replace_until(ordinals, is_ready);
    }

    /// The same where it is enough that the others run: what they need isn't there.
    #[track_caller]
    pub fn restart_pods(&self, ordinals: &[u32]) {
        self.replace_until(ordinals, |pod| {
            !pod["status"]["containerStatuses"][0]["state"]["running"].is_null()
        });
    }

    #[track_caller]
    fn replace_until(&self, ordinals: &[u32], is_so: impl Fn(&Value) -> bool) {
        let before: Vec<Value> = ordinals.iter().map(|ordinal| self.pod_uid(*ordinal)).collect();
        for ordinal in ordinals {
            self.api.delete(&self.path("pods", &self.pod_name(*ordinal))).ok();
        }
        for (ordinal, before) in ordinals.iter().zip(before) {
            eventually(SOON, "another pod takes its place", || {
                let pod = self.pod(*ordinal);
                let uid = &pod["metadata"]["uid"];
                if *uid != before && is_so(&pod) { Ok(()) } else { Err(pod["status"].to_string()) }
            });
        }
    }

    /// Which pod it is; null where there is none.
    pub fn pod_uid(&self, ordinal: u32) -> Value {
        self.pod(ordinal)["metadata"]["uid"].clone()
    }

    /// Name of a pod's claim.
    pub fn claim(&self, ordinal: u32) -> String {
        format!("{}-{}", self.name, self.pod_name(ordinal))
    }

    /// Replaces a pod with its claim, and so with its data.
    #[track_caller]
    pub fn lose_disk(&self, ordinal: u32) {
        // It goes once its pod has gone.
        self.api.delete(&self.path("persistentvolumeclaims", &self.claim(ordinal))).ok();
        self.replace_pods(&[ordinal]);
    }

    /// What `etcd-warden status` says of it.
    #[track_caller]
    pub fn shown(&self) -> String {
        let mut command = process::command(Path::new("/"));
        command.args(["status", &self.name, "--namespace", &self.shop.name]);
        Output::of(command.arg("--kubeconfig").arg(self.shop.bed.kubeconfig()), "").ok()
    }

    /// Status and message of a condition; empty where there is none.
    pub fn condition(&self, kind: &str) -> (String, String) {
        condition(&self.object(), kind)
    }

    /// Waits until a condition is so, and its message says this.
    #[track_caller]
    pub fn until(&self, kind: &str, status: &str, says: &str) -> String {
        eventually(SOON, &format!("{kind} of {} is {status}: {says}", self.name), || {
            let (is, message) = self.condition(kind);
            if is == status && message.contains(says) { Ok(message) } else { Err(format!("{is}: {message}")) }
        })
    }

    /// Waits until all that was asked for is there, all members are, and each as it is wanted.
    #[track_caller]
    pub fn until_ready(&self) {
        eventually(SOON, &format!("{} is ready", self.name), || {
            let object = self.object();
            let (status, metadata) = (&object["status"], &object["metadata"]);
            let wanted = &object["spec"]["replicas"];
            let observed = status["observedGeneration"] == metadata["generation"];
            let is_ready = status["ready"] == true && status["readyReplicas"] == *wanted;
            if observed && is_ready { Ok(()) } else { Err(status.to_string()) }
        });
    }

    /// Whether its join is complete.
    pub fn has_joined(&self) -> bool {
        self.condition(BOOTSTRAPPED).0 == "True"
    }

    /// Waits until its join is complete.
    #[track_caller]
    pub fn until_joined(&self) {
        self.until(BOOTSTRAPPED, "True", "");
        self.until_ready();
    }

    /// Waits until its join is held up for what these words say, and is called under way all the same.
    #[track_caller]
    pub fn until_held_up(&self, words: &[&str]) -> String {
        eventually(SOON, &format!("the join of {} is held up: {words:?}", self.name), || {
            let conditions = self.object()["status"]["conditions"].clone();
            let found =
                conditions.as_array().into_iter().flatten().find(|found| found["type"] == BOOTSTRAPPED);
            let found = found.filter(|found| found["reason"] == "BootstrapInProgress");
            let said = found.and_then(|found| found["message"].as_str()).unwrap_or_default();
            let is_held_up = found.is_some() && words.iter().all(|word| said.contains(word));
            if is_held_up { Ok(said.to_owned()) } else { Err(conditions.to_string()) }
        })
    }

    /// Waits until it is gone, and everything that was made for it.
    #[track_caller]
    pub fn until_gone(&self) {
        eventually(SOON, &format!("{} is gone", self.name), || {
            let object = self.object();
            if object.is_null() { Ok(()) } else { Err(object["status"]["conditions"].to_string()) }
        });
        let kinds =
            "statefulsets,pods,services,configmaps,serviceaccounts,roles,rolebindings,poddisruptionbudgets";
        let label = format!("--selector=app.kubernetes.io/part-of={}", self.name);
        eventually(SOON, "nothing of it is left", || {
            let left = self.shop.kubectl(&["get", kinds, &label, "--output=name"]).ok();
            if left.is_empty() { Ok(()) } else { Err(left) }
        });
    }

    /// etcdctl in a member's pod, at that member.
    pub fn etcdctl(&self, ordinal: u32, arguments: &[&str]) -> Output {
        let endpoint = format!("--endpoints={}", self.client_url(ordinal));
        let mut command = vec!["etcdctl", "--command-timeout=10s", &endpoint];
        command.extend(self.flags.iter().map(String::as_str));
        command.extend(arguments);
        let pod = self.pod_name(ordinal);
        self.shop.kubectl(&[&["exec", &pod, "--container=etcd", "--"], &command[..]].concat())
    }

    /// Where a member answers its clients.
    pub fn client_url(&self, ordinal: u32) -> String {
        let scheme = if self.flags.is_empty() { "http" } else { "https" };
        format!("{scheme}://{0}-{ordinal}.{0}-peer.{1}.svc:2379", self.name, self.shop.name)
    }

    /// What a member says of itself.
    #[track_caller]
    pub fn endpoint_status(&self, ordinal: u32) -> Value {
        let answer = eventually(SOON, "a member answers", || {
            self.etcdctl(ordinal, &["endpoint", "status", "--write-out=json"]).attempt()
        });
        let answer: Value = serde_json::from_str(&answer).unwrap();
        answer[0]["Status"].clone()
    }

    /// Has one of its members lead the cluster; `others` are client URLs of all that may lead it now.
    #[track_caller]
    pub fn lead(&self, ordinal: u32, others: &[String]) {
        let own = self.endpoint_status(ordinal)["header"]["member_id"].as_u64().unwrap();
        let endpoints = format!("--endpoints={}", others.join(","));
        eventually(SOON, "it leads", || {
            if self.endpoint_status(ordinal)["leader"].as_u64() == Some(own) {
                return Ok(());
            }
            // Only the leader gives leadership away.
            Err(self.etcdctl(ordinal, &["move-leader", &format!("{own:x}"), &endpoints]).stderr)
        });
    }

    /// The cluster's id and its members by name, as the whole cluster agrees, asked through one of ours.
    #[track_caller]
    pub fn members(&self, ordinal: u32) -> (u64, Vec<Listed>) {
        let answer = eventually(SOON, "a member answers", || {
            self.etcdctl(ordinal, &["member", "list", "--write-out=json"]).attempt()
        });
        parse_members(&answer)
    }

    /// Names of its members, of the sources, or whose they are.
    #[track_caller]
    pub fn voters(&self, ordinal: u32) -> Vec<String> {
        let (_, members) = self.members(ordinal);
        members.into_iter().filter(|member| !member.is_learner).map(|member| member.name).collect()
    }

    /// What stands at a key, read through a member.
    #[track_caller]
    pub fn get(&self, ordinal: u32, key: &str) -> String {
        let value = eventually(SOON, "a member answers", || {
            self.etcdctl(ordinal, &["get", key, "--print-value-only"]).attempt()
        });
        value.trim_end().to_owned()
    }
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// Status and message of a condition.
fn condition(object: &Value, kind: &str) -> (String, String) {
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default();
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    (text("status"), text("message"))
}

/// What `etcdctl member list` says.
pub(super) fn parse_members(answer: &str) -> (u64, Vec<Listed>) {
    let answer: Value = serde_json::from_str(answer).unwrap();
    let cluster = answer["header"]["cluster_id"].as_u64().unwrap();
    let members = answer["members"].as_array().unwrap().iter().map(|member| Listed {
        name: member["name"].as_str().unwrap_or_default().to_owned(),
        id: member["ID"].as_u64().unwrap(),
        is_learner: member["isLearner"] == true,
    });
    let mut members: Vec<Listed> = members.collect();
    members.sort();
    (cluster, members)
}
