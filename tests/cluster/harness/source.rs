//! An existing cluster that nothing manages: bare pods and a headless Service.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Namespace, eventually};

const SOON: Duration = Duration::from_mins(2);

/// Nobody has it: what it is given to doesn't run.
const NO_IMAGE: &str = "docker.io/local/none:1";

/// Members `<name>-0`, … at `<name>-0.<name>`, …
pub struct Source<'a> {
    shop: &'a Namespace<'a>,
    name: String,
    size: u32,
}

impl<'a> Source<'a> {
    /// Starts it; its pods find each other at once, and nobody else finds it before [`Self::publish`].
    pub fn start(shop: &'a Namespace<'a>, name: &str, size: u32, image: &str) -> Self {
        let source = Self { shop, name: name.to_owned(), size };
        let pods: Vec<Value> = (0..size).map(|ordinal| source.pod(ordinal, image)).collect();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": pods});
        shop.apply(&list.to_string());
        source.service(name);
        source
    }

    /// Starts one that everybody finds, and waits until it serves.
    #[track_caller]
    pub fn serving(shop: &'a Namespace<'a>, name: &str, size: u32, image: &str) -> Self {
        let source = Self::start(shop, name, size, image);
        source.publish();
        source.until_ready();
        source
    }

    /// The name by which its clients find it.
    pub fn publish(&self) {
        self.service(&self.client());
    }

    fn service(&self, name: &str) {
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"clusterIP": "None", "publishNotReadyAddresses": true, "selector": {"source": self.name}},
        });
        self.shop.apply(&service.to_string());
    }

    fn client(&self) -> String {
        format!("{}-client", self.name)
    }

    fn member(&self, ordinal: u32) -> String {
        format!("{}-{ordinal}", self.name)
    }

    fn peer_url(&self, ordinal: u32) -> String {
        format!("http://{}.{}.{}.svc:2380", self.member(ordinal), self.name, self.shop.name)
    }

    /// Where it answers its clients.
    pub fn endpoint(&self) -> String {
        format!("http://{}.{}.svc:2379", self.client(), self.shop.name)
    }

    /// As it stands in an Etcd that joins it.
    pub fn bootstrap(&self) -> Value {
        let members = (0..self.size)
            .map(|ordinal| json!({"name": self.member(ordinal), "peerUrls": [self.peer_url(ordinal)]}));
        json!({"members": members.collect::<Vec<_>>(), "clientEndpoints": [self.endpoint()]})
    }

    fn pod(&self, ordinal: u32, image: &str) -> Value {
        let (name, url) = (self.member(ordinal), self.peer_url(ordinal));
        let all = (0..self.size).map(|other| format!("{}={}", self.member(other), self.peer_url(other)));
        let arguments = [
            format!("--name={name}"),
            "--data-dir=/data".to_owned(),
            "--listen-client-urls=http://0.0.0.0:2379".to_owned(),
            format!("--advertise-client-urls=http://{name}.{}.{}.svc:2379", self.name, self.shop.name),
            "--listen-peer-urls=http://0.0.0.0:2380".to_owned(),
            format!("--initial-advertise-peer-urls={url}"),
            format!("--initial-cluster={}", all.collect::<Vec<_>>().join(",")),
        ];
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "labels": {"source": self.name}},
            "spec": {
                "hostname": name, "subdomain": self.name, "enableServiceLinks": false,
                "terminationGracePeriodSeconds": 2,
                "containers": [{
                    "name": "etcd", "image": image, "imagePullPolicy": "Never",
                    "command": ["etcd"], "args": arguments,
                    "resources": {"requests": {"cpu": "1m", "memory": "16Mi"}},
                    "readinessProbe": {"httpGet": {"path": "/health", "port": 2379}, "periodSeconds": 1},
                    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                }],
                "volumes": [{"name": "data", "emptyDir": {}}],
            },
        })
    }

    /// Waits until every member is ready.
    #[track_caller]
    pub fn until_ready(&self) {
        for ordinal in 0..self.size {
            self.shop.ready(&format!("pod/{}", self.member(ordinal)));
        }
    }

    /// Has a member run another image, on the data that it has.
    #[track_caller]
    pub fn run(&self, ordinal: u32, image: &str) {
        let (pod, image) = (format!("pod/{}", self.member(ordinal)), format!("etcd={image}"));
        self.shop.kubectl(&["set", "image", &pod, &image]).ok();
    }

    /// Stops a member; [`Self::run`] starts it again.
    #[track_caller]
    pub fn stop(&self, ordinal: u32) {
        self.run(ordinal, NO_IMAGE);
        let pod = self.member(ordinal);
        let reason = "--output=jsonpath={.status.containerStatuses[0].state.waiting.reason}";
        eventually(SOON, "the member has stopped", || {
            let said = self.shop.kubectl(&["get", "pod", &pod, reason]).ok();
            if said == "ErrImageNeverPull" { Ok(()) } else { Err(said) }
        });
    }

    /// etcdctl in a member's pod, where it answers.
    #[track_caller]
    pub fn etcdctl(&self, ordinal: u32, arguments: &[&str]) -> String {
        let pod = self.member(ordinal);
        eventually(SOON, "the source answers", || {
            let command = [&["etcdctl", "--command-timeout=10s"], arguments].concat();
            self.shop.exec(&pod, &command).attempt()
        })
    }

    /// Cluster id and members, as the source has them.
    #[track_caller]
    pub fn members(&self) -> (u64, Vec<super::Listed>) {
        super::etcd::parse_members(&self.etcdctl(0, &["member", "list", "--write-out=json"]))
    }

    /// Names of its voters.
    #[track_caller]
    pub fn voters(&self) -> Vec<String> {
        let (_, members) = self.members();
        members.into_iter().filter(|member| !member.is_learner).map(|member| member.name).collect()
    }

    /// Everything of it, byte by byte, versions included: what nobody has written is the same.
    #[track_caller]
    pub fn objects(&self) -> Vec<Value> {
        let get = ["get", "pods,services", "--selector=source", "--output=json", "--show-managed-fields"];
        let list: Value = serde_json::from_str(&self.shop.kubectl(&get).ok()).unwrap();
        let arguments = (0..self.size).map(|ordinal| {
            Value::from(self.shop.exec(&self.member(ordinal), &["cat", "/proc/1/cmdline"]).ok())
        });
        list["items"].as_array().unwrap().iter().cloned().chain(arguments).collect()
    }

    /// Where each of its members answers its clients.
    pub fn client_urls(&self) -> Vec<String> {
        let url =
            |ordinal| format!("http://{}.{}.{}.svc:2379", self.member(ordinal), self.name, self.shop.name);
        (0..self.size).map(url).collect()
    }

    /// Stops a member in the middle of what it does, as a machine that hangs.
    #[track_caller]
    pub fn freeze(&self, ordinal: u32) {
        self.signal(ordinal, "SIGSTOP");
    }

    /// Has it go on.
    #[track_caller]
    pub fn thaw(&self, ordinal: u32) {
        self.signal(ordinal, "SIGCONT");
    }

    /// From outside of the container: its first process can't be stopped from within.
    #[track_caller]
    fn signal(&self, ordinal: u32, signal: &str) {
        let path = "--output=jsonpath={.status.containerStatuses[0].containerID}";
        let id = self.shop.kubectl(&["get", "pod", &self.member(ordinal), path]).ok();
        let id = id.trim_start_matches("containerd://");
        self.shop.bed.containerd(&["task", "kill", "--signal", signal, id]).ok();
    }

    /// Ends it for good.
    pub fn end(&self) {
        let selector = format!("--selector=source={}", self.name);
        self.shop.kubectl(&["delete", "pods", &selector, "--now"]).ok();
    }
}
