//! The product on a bed of its own, as administrators install it: the image, the resource, the manifests. Scenarios
//! that are about admission have it without its loop, or every Etcd that they create became running members.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;

use super::bed::is_required;
use super::{Bed, Namespace, Options, Output, eventually, mislabelled};

/// Where the server runs.
pub const HOME: &str = "etcd-warden";

/// The longest that a rollout takes: two pods, each drained for ten seconds.
const ROLLOUT: Duration = Duration::from_mins(2);

/// The manifests, without the loop.
const JUDGING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cluster/manifests/admission-only");

/// A bed on which the server judges.
pub struct Installed {
    pub bed: Bed,
    /// What was applied for the server.
    server: String,
}

impl Installed {
    /// The one of this process, on two nodes: for scenarios that change nothing of it which others would notice.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Installed>> = OnceLock::new();
        SHARED
            .get_or_init(|| Self::with(&Options { two_nodes: true, ..Options::default() }, JUDGING))
            .as_ref()
    }

    /// The one of this process whose loop works: for scenarios that leave its servers alone, each with Etcds of its own.
    pub fn looping() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Installed>> = OnceLock::new();
        SHARED.get_or_init(Self::start_looping).as_ref()
    }

    /// One with its loop that a scenario may do anything to.
    pub fn start_looping() -> Option<Self> {
        Self::with(&Options::default(), &manifests("standalone"))
    }

    /// One that a scenario may do anything to.
    pub fn start() -> Option<Self> {
        Self::with(&Options::default(), JUDGING)
    }

    fn with(options: &Options<'_>, server: &str) -> Option<Self> {
        let installed = Self::on(with_image(options)?, server);
        installed.apply("crd");
        installed.apply_again();
        installed.judges();
        Some(installed)
    }

    /// On a bed that has the image, with nothing applied yet.
    pub fn on(bed: Bed, server: &str) -> Self {
        Self { bed, server: server.to_owned() }
    }

    /// Applies what the server was installed with.
    #[track_caller]
    pub fn apply_again(&self) {
        self.bed.kubectl(&["apply", "--kustomize", &self.server]).ok();
    }

    /// Applies one of the folders below `manifests`.
    #[track_caller]
    pub fn apply(&self, folder: &str) {
        self.bed.kubectl(&["apply", "--kustomize", &manifests(folder)]).ok();
    }

    /// Waits until both servers are ready, and judge.
    #[track_caller]
    pub fn judges(&self) {
        self.rolled_out();
        self.refuses();
    }

    /// Waits until what breaks a rule is refused for it.
    #[track_caller]
    pub fn refuses(&self) {
        let mut broken = mislabelled();
        // etcd-druid's own definition doesn't know it.
        broken["spec"]["etcd"].as_object_mut().unwrap().remove("bootstrapWithExistingCluster");
        let broken = broken.to_string();
        let create = ["--namespace=default", "create", "--dry-run=server", "--filename", "-"];
        eventually(ROLLOUT, "the server judges", || {
            let said = self.bed.kubectl_with(&create, &broken).stderr;
            if said.contains("[labels]") { Ok(()) } else { Err(said) }
        });
    }

    /// kubectl in the server's namespace.
    pub fn kubectl(&self, arguments: &[&str]) -> Output {
        self.bed.kubectl(&[&["--namespace", HOME], arguments].concat())
    }

    /// Waits until as many servers as are wanted are ready, and those before them have ended.
    #[track_caller]
    pub fn rolled_out(&self) {
        eventually(ROLLOUT, "the servers are rolled out", || {
            self.kubectl(&["rollout", "status", "deployment/etcd-warden", "--timeout=1s"]).attempt()?;
            let pods = self.pods();
            if pods.len() == 2 { Ok(()) } else { Err(format!("{pods:?}")) }
        });
    }

    /// Sets variables of the server, which is a rollout.
    #[track_caller]
    pub fn set(&self, variables: &[&str]) {
        self.kubectl(&[&["set", "env", "deployment/etcd-warden"], variables].concat()).ok();
        self.rolled_out();
    }

    /// The names of its pods, those on their way out too.
    pub fn pods(&self) -> Vec<String> {
        let pods = self.kubectl(&["get", "pods", "--output=jsonpath={.items[*].metadata.name}"]).ok();
        pods.split_whitespace().map(str::to_owned).collect()
    }

    /// What a pod answers on the port of its probes.
    pub fn probe(&self, pod: &str, path: &str) -> Output {
        let path = format!("/api/v1/namespaces/{HOME}/pods/{pod}:8080/proxy{path}");
        self.bed.kubectl(&["get", "--raw", &path])
    }

    /// A metric without labels, of one pod; nothing where it can't be had.
    pub fn metric(&self, pod: &str, name: &str) -> Option<f64> {
        let metrics = self.probe(pod, "/metrics").stdout;
        metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    }

    /// What the servers have logged, of all that run.
    pub fn logs(&self) -> String {
        let servers = "--selector=app.kubernetes.io/component=server";
        self.kubectl(&["logs", servers, "--tail=-1", "--prefix"]).stdout
    }

    /// A fresh namespace. When its scenario fails, what is in the server's is printed, too.
    pub fn namespace(&self) -> Namespace<'_> {
        let mut namespace = self.bed.namespace();
        namespace.and_of = Some(HOME);
        namespace
    }

    /// The container of a pod, as containerd calls it.
    pub fn container(&self, pod: &str) -> String {
        let id = self.kubectl(&[
            "get",
            "pod",
            pod,
            "--output=jsonpath={.status.containerStatuses[0].containerID}",
        ]);
        id.ok().trim_start_matches("containerd://").to_owned()
    }

    /// A webhook configuration, as the API server has it.
    pub fn registration(&self, kind: &str) -> Value {
        let get = ["get", kind, "etcd-warden", "--show-managed-fields", "--output=json"];
        serde_json::from_str(&self.bed.kubectl(&get).ok()).unwrap()
    }
}

/// A bed whose nodes have the image, and nothing installed.
pub fn with_image(options: &Options<'_>) -> Option<Bed> {
    if !super::can_be_had() {
        return None;
    }
    let image = image()?;
    let bed = Bed::with(options)?;
    bed.load(image);
    Some(bed)
}

/// The path of one of the folders below `manifests`.
pub fn manifests(folder: &str) -> String {
    format!("{}/manifests/{folder}", env!("CARGO_MANIFEST_DIR"))
}

/// The image that `manifests/image/build` has made, or another one that `ETCD_WARDEN_IMAGE` names; says once where there
/// is none.
fn image() -> Option<&'static Path> {
    static IMAGE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = IMAGE.get_or_init(|| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/image/etcd-warden.tar");
        let path = std::env::var_os("ETCD_WARDEN_IMAGE").map_or(path, PathBuf::from);
        if path.exists() {
            return Some(path);
        }
        let missing = "there is no target/image/etcd-warden.tar: run manifests/image/build";
        assert!(!is_required(), "{missing}");
        // Not by the macro, whose text is kept back for tests that pass.
        writeln!(std::io::stderr(), "skipped: scenarios of the installed server: {missing}").unwrap();
        None
    });
    found.as_deref()
}
