//! A namespace of a scenario's own. When the scenario fails, what is in it is printed.

use std::time::Duration;

use super::kubectl::Output;
use super::{Bed, eventually};

/// Removed when dropped.
pub struct Namespace<'a> {
    pub bed: &'a Bed,
    pub name: String,
    /// Another one to be printed with it.
    pub and_of: Option<&'static str>,
}

impl<'a> Namespace<'a> {
    pub fn new(bed: &'a Bed, name: String) -> Self {
        bed.kubectl(&["create", "namespace", &name]).ok();
        Self { bed, name, and_of: None }
    }

    fn inside<'b>(&'b self, arguments: &[&'b str]) -> Vec<&'b str> {
        [&["--namespace", self.name.as_str()], arguments].concat()
    }

    /// kubectl in this namespace.
    pub fn kubectl(&self, arguments: &[&str]) -> Output {
        self.bed.kubectl(&self.inside(arguments))
    }

    /// kubectl in this namespace, with something on its standard input.
    pub fn kubectl_with(&self, arguments: &[&str], input: &str) -> Output {
        self.bed.kubectl_with(&self.inside(arguments), input)
    }

    /// Makes the objects of some YAML or JSON so.
    #[track_caller]
    pub fn apply(&self, objects: &str) {
        self.kubectl_with(&["apply", "--filename", "-"], objects).ok();
    }

    /// Waits until everything of a workload is ready.
    #[track_caller]
    pub fn rolled_out(&self, workload: &str) {
        eventually(Duration::from_secs(90), &format!("{workload} is rolled out"), || {
            self.kubectl(&["rollout", "status", workload, "--timeout=1s"]).attempt()
        });
    }

    /// Waits until a pod is ready.
    #[track_caller]
    pub fn ready(&self, pod: &str) {
        eventually(Duration::from_mins(1), &format!("{pod} is ready"), || {
            self.kubectl(&["wait", "--for=condition=Ready", pod, "--timeout=1s"]).attempt()
        });
    }

    /// A command in a pod.
    pub fn exec(&self, pod: &str, command: &[&str]) -> Output {
        self.kubectl(&[&["exec", pod, "--"], command].concat())
    }

    /// Kills a container of a pod, as a crash would; the kubelet starts it again.
    pub fn kill(&self, pod: &str, container: &str) -> Output {
        let path = format!("{{.status.containerStatuses[?(@.name==\"{container}\")].containerID}}");
        let id = self.kubectl(&["get", "pod", pod, &format!("--output=jsonpath={path}")]).stdout;
        let id = id.trim_start_matches("containerd://");
        self.bed.containerd(&["task", "kill", "--signal", "SIGKILL", id])
    }

    fn print(&self) {
        print(self.bed, &self.name);
        if let Some(other) = self.and_of {
            print(self.bed, other);
        }
    }
}

impl Drop for Namespace<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.print();
        }
        // Not waited for: the name isn't used again.
        self.bed.kubectl(&["delete", "namespace", &self.name, "--wait=false"]);
    }
}

/// Events, pod logs and objects of a namespace.
pub(super) fn print(bed: &Bed, name: &str) {
    let kubectl = |arguments: &[&str]| bed.kubectl(&[&["--namespace", name], arguments].concat());
    let objects = "all,endpointslices,configmaps,persistentvolumeclaims,serviceaccounts,roles,rolebindings,\
                   poddisruptionbudgets,leases";
    let etcds = kubectl(&["get", "etcds.druid.gardener.cloud", "--output", "yaml"]);
    let pods = kubectl(&["get", "pods", "--output", "name"]).stdout;
    let section = |title: &str, text: &str| eprintln!("== {title} of {}\n{}", name, text.trim_end());
    section("objects", &kubectl(&["get", objects, "--output", "yaml"]).stdout);
    // Where there are thousands, the first ones will do.
    let first: Vec<&str> = etcds.stdout.lines().take(500).collect();
    section("Etcds", &first.join("\n"));
    for pod in pods.lines() {
        let logs = ["logs", pod, "--all-containers", "--prefix", "--tail=100"];
        section(&format!("logs of {pod}"), &kubectl(&logs).stdout);
        section(&format!("earlier logs of {pod}"), &kubectl(&[&logs[..], &["--previous"]].concat()).stdout);
    }
    section("events", &kubectl(&["get", "events", "--sort-by=.lastTimestamp"]).stdout);
}
