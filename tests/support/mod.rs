//! What the tests with real sockets share: servers in process and as a program, and a small client.
#![allow(dead_code, unreachable_pub, reason = "each test program uses its part of what is shared")]

pub mod client;
pub mod pem;
pub mod process;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use etcd_warden::admission::Audited;
use etcd_warden::audit::{Rotation, Target};
use etcd_warden::pki;
use etcd_warden::rules::Settings;
use etcd_warden::server::{
    Addresses, Attached, Audit, Config, Limits, Rules, RunError, Server, Source, Stopper, Tls, TlsVersion,
};
use tokio::task::JoinHandle;

/// Longer than anything takes that works.
pub const SOON: Duration = Duration::from_secs(20);

/// How often a condition is looked at.
pub const STEP: Duration = Duration::from_millis(10);

/// A server in this process.
pub struct Running {
    pub addresses: Addresses,
    pub stopper: Stopper,
    pub done: JoinHandle<Result<(), RunError>>,
    pub directory: tempfile::TempDir,
    pub ca: PathBuf,
}

/// A configuration with everything in `directory`, on ports of the system's choice.
pub fn config(directory: &Path) -> Config {
    let (files, _) = pki::ensure(&directory.join("certs"), SystemTime::now()).unwrap();
    Config {
        listen: "127.0.0.1:0".parse().unwrap(),
        probes_listen: "127.0.0.1:0".parse().unwrap(),
        tls: Tls {
            source: Source::Files { certificate: files.certificate, key: files.key },
            clients: None,
            minimum: TlsVersion::V1_2,
            poll: Duration::from_millis(50),
        },
        audit: Some(Audit {
            target: Target::File(directory.join("audit.log"), Rotation { max_bytes: 1 << 30, max_files: 1 }),
            required: false,
        }),
        limits: Limits::default(),
        drain_time: Duration::ZERO,
        shutdown_grace: SOON,
        judge: Arc::new(Rules::new(Settings::default(), Audited::Rejections)),
        attached: Attached::default(),
    }
}

/// Starts a server whose configuration `change` has changed.
pub fn start(change: impl FnOnce(&mut Config)) -> Running {
    start_in(tempfile::tempdir().unwrap(), change)
}

pub fn start_in(directory: tempfile::TempDir, change: impl FnOnce(&mut Config)) -> Running {
    // Another test of the same program may have done so already.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let mut config = config(directory.path());
    change(&mut config);
    let server = Server::bind(config).unwrap();
    let (addresses, stopper) = (server.addresses(), server.stopper());
    let ca = directory.path().join("certs/ca.crt");
    Running { addresses, stopper, done: tokio::spawn(server.run()), directory, ca }
}

impl Running {
    pub fn audit(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("audit.log")).unwrap_or_default()
    }

    pub async fn probe(&self, path: &str) -> client::Answer {
        client::plain(self.addresses.probes, path).await
    }

    /// The value of a metric's series, such as `etcd_warden_shed_total`.
    pub async fn metric(&self, series: &str) -> u64 {
        let text = self.probe("/metrics").await.body;
        let line =
            text.lines().find(|line| line.strip_prefix(series).is_some_and(|rest| rest.starts_with(' ')));
        let line = line.unwrap_or_else(|| panic!("no {series} in {text}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    }
}

/// Waits until `condition` holds.
pub async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let end = tokio::time::Instant::now() + SOON;
    while !condition().await {
        assert!(tokio::time::Instant::now() < end, "not within {SOON:?}: {what}");
        tokio::time::sleep(STEP).await;
    }
}

/// A review that is let in.
pub fn accepted() -> String {
    review(1)
}

/// A review that is not.
pub fn rejected() -> String {
    review(-1)
}

fn review(replicas: i32) -> String {
    review_of(replicas, "4f1f-accepted-or-not", "")
}

/// A whole review, with a uid and an annotation of one's choice.
pub fn review_of(replicas: i32, uid: &str, note: &str) -> String {
    format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"{uid}","kind":{{"group":"druid.gardener.cloud","version":"v1alpha1","kind":"Etcd"}},"resource":{{"group":"druid.gardener.cloud","version":"v1alpha1","resource":"etcds"}},"namespace":"shop","name":"main","operation":"CREATE","userInfo":{{"username":"alice"}},"object":{{"apiVersion":"druid.gardener.cloud/v1alpha1","kind":"Etcd","metadata":{{"name":"main","namespace":"shop","annotations":{{"note":"{note}"}}}},"spec":{{"labels":{{"app":"etcd"}},"selector":{{"matchLabels":{{"app":"etcd"}}}},"etcd":{{}},"backup":{{}},"replicas":{replicas}}}}}}}}}"#
    )
}
