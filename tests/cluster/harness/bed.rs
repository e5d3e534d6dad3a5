//! One bed: started by `tests/cluster/bed`, ended when dropped, and by the kernel when this process is killed.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{OnceLock, atomic::AtomicU32, atomic::Ordering};
use std::time::Duration;

use super::api::Api;
use super::kubectl::{Kubectl, Output};
use super::{Mark, Namespace, Write, audit, eventually};

/// A bed's files are in the folder of its number.
pub const FOLDER: &str = "/run/etcd-warden-bed";

/// What kind of bed.
#[derive(Default)]
pub struct Options<'a> {
    /// The minor version; 1.36 where it isn't said. Other minors are API server and etcd alone.
    pub kubernetes: Option<&'a str>,
    /// Two nodes instead of one.
    pub two_nodes: bool,
    /// API server and etcd alone.
    pub control_plane: bool,
    /// Further flags of the API server.
    pub apiserver_flags: Vec<String>,
}

/// A cluster of its own.
pub struct Bed {
    pub number: u32,
    kubectl: Kubectl,
    kubeconfig: PathBuf,
    logs: PathBuf,
    namespaces: AtomicU32,
    /// Its end is the bed's end.
    lifeline: Option<ChildStdin>,
}

impl Bed {
    /// The bed that the scenarios of this process share, each in a namespace of its own: a bed takes 8 s and 800 MB,
    /// a namespace nothing. It ends with the process.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Bed>> = OnceLock::new();
        SHARED.get_or_init(Self::start).as_ref()
    }

    /// A bed with one node for a scenario that does to a cluster what others would notice.
    pub fn start() -> Option<Self> {
        Self::with(&Options::default())
    }

    /// API server and etcd of a minor version.
    pub fn control_plane(minor: &str) -> Option<Self> {
        Self::with(&Options { kubernetes: Some(minor), control_plane: true, ..Options::default() })
    }

    pub fn with(options: &Options<'_>) -> Option<Self> {
        can_be_had().then(|| Self::up(options))
    }

    fn up(options: &Options<'_>) -> Self {
        let mut command = script(&["up", "--tied"]);
        if let Some(minor) = options.kubernetes {
            command.args(["--kubernetes", minor]);
        }
        if options.two_nodes {
            command.args(["--nodes", "2"]);
        }
        if options.control_plane {
            command.arg("--control-plane");
        }
        for flag in &options.apiserver_flags {
            command.args(["--apiserver-flag", flag]);
        }
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Waiting for the child would close it.
        let lifeline = child.stdin.take();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let number = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        let folder = Path::new(FOLDER).join(&number);
        Self {
            number: number.parse().unwrap(),
            kubectl: Kubectl::new(&folder.join("kubectl"), &folder.join("kubeconfig/admin")),
            kubeconfig: folder.join("kubeconfig/admin"),
            logs: folder.join("log"),
            namespaces: AtomicU32::new(0),
            lifeline,
        }
    }

    /// The host's address on the bed's side: what listens there can be called from the bed.
    pub fn host(&self) -> String {
        format!("10.199.{}.1", self.number)
    }

    /// kubectl as the administrator.
    pub fn kubectl(&self, arguments: &[&str]) -> Output {
        self.kubectl.run(arguments, "")
    }

    /// kubectl with something on its standard input.
    pub fn kubectl_with(&self, arguments: &[&str], input: &str) -> Output {
        self.kubectl.run(arguments, input)
    }

    /// Makes the objects of some YAML or JSON so.
    #[track_caller]
    pub fn apply(&self, objects: &str) {
        self.kubectl_with(&["apply", "--filename", "-"], objects).ok();
    }

    /// The API server, as the administrator, without kubectl in between.
    pub fn api(&self) -> Api {
        Api::new(&self.kubeconfig)
    }

    /// The path of the administrator's kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// A command of kubectl, for what it needs besides arguments.
    pub fn kubectl_command(&self, arguments: &[&str]) -> Command {
        self.kubectl.command(arguments)
    }

    /// A fresh namespace.
    pub fn namespace(&self) -> Namespace<'_> {
        Namespace::new(self, format!("scenario-{}", self.namespaces.fetch_add(1, Ordering::Relaxed)))
    }

    /// A command inside the bed's namespaces.
    pub fn exec(&self, command: &[&str]) -> Output {
        Output::of(script(&["exec", &self.number.to_string()]).args(command), "")
    }

    /// Kills one of the bed's programs, as a crash would: `kube-apiserver`, `kubelet-1`, …
    #[track_caller]
    pub fn stop(&self, program: &str) {
        Output::of(&mut script(&["stop", &self.number.to_string(), program]), "").ok();
    }

    /// Starts it again.
    #[track_caller]
    pub fn start_again(&self, program: &str) {
        Output::of(&mut script(&["start", &self.number.to_string(), program]), "").ok();
    }

    /// Imports an image, as a tar, into every node.
    #[track_caller]
    pub fn load(&self, image: &Path) {
        Output::of(script(&["load", &self.number.to_string()]).arg(image), "").ok();
    }

    /// `ctr` on the first node, at the kubelet's containers.
    pub fn containerd(&self, command: &[&str]) -> Output {
        let socket = format!("{FOLDER}/{}/node-1/containerd.sock", self.number);
        self.exec(&[&["ctr", "--address", &socket, "--namespace", "k8s.io"], command].concat())
    }

    /// The place in the API server's audit log from which on to count writes.
    pub fn mark(&self) -> Mark {
        audit::mark(&self.logs)
    }

    /// The writes that the API server has answered since.
    pub fn writes_since(&self, mark: Mark) -> Vec<Write> {
        audit::writes_since(&self.logs, mark)
    }

    /// Makes Etcds known, once.
    pub fn install_etcd_crd(&self) {
        self.apply(include_str!("../manifests/etcd-crd.yaml"));
        eventually(Duration::from_secs(20), "the API server serves Etcds", || {
            self.kubectl(&["get", "etcds.druid.gardener.cloud"]).attempt()
        });
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        self.lifeline = None;
        let ended = Output::of(&mut script(&["down", &self.number.to_string()]), "");
        // A second panic would hide the first.
        if !std::thread::panicking() {
            ended.ok();
        }
    }
}

/// The bed's script.
pub fn script(arguments: &[&str]) -> Command {
    let mut command = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cluster/bed"));
    command.args(arguments);
    command
}

/// Whether scenarios run on this machine; says once why not.
pub fn can_be_had() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| {
        let Err(missing) = look_for_beds(&wanted()) else { return true };
        assert!(!is_required(), "no test bed: {missing}");
        // Not by the macro, whose text is kept back for tests that pass.
        writeln!(std::io::stderr(), "skipped: scenarios on clusters: {missing}").unwrap();
        false
    })
}

/// Whether what can't run is a failure.
pub fn is_required() -> bool {
    let in_ci = std::env::var("CI").is_ok_and(|value| !value.is_empty());
    wanted() == "required" || (wanted() != "off" && in_ci)
}

fn wanted() -> String {
    std::env::var("ETCD_WARDEN_BED").unwrap_or_default()
}

/// Whether long forms of scenarios are asked for (`tests/run --long`).
pub fn is_long() -> bool {
    std::env::var_os("ETCD_WARDEN_LONG").is_some()
}

/// What is missing, in the words of the bed's script.
fn look_for_beds(wanted: &str) -> Result<(), String> {
    if wanted == "off" {
        return Err("ETCD_WARDEN_BED=off".to_owned());
    }
    let check = Output::of(&mut script(&["check"]), "");
    if check.status.success() { Ok(()) } else { Err(check.stderr.trim().to_owned()) }
}
