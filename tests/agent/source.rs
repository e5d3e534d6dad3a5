//! An existing cluster that nothing manages: bare etcd processes.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use etcd_warden::member::{Scheme, Source, TlsFiles};

use super::shop::{SOON, Shop};

/// What is odd about a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// Its members advertise client URLs that nobody answers at.
    pub private_clients: bool,
}

impl Shop {
    fn scheme(&self) -> Scheme {
        self.config.endpoints.peer_scheme
    }

    pub fn source_name(number: u8) -> String {
        format!("source-{number}")
    }

    pub fn source_peer_url(&self, number: u8) -> String {
        format!("{}://{}:2380", self.scheme().name(), self.source_address(number))
    }

    /// Where a member of the source really answers clients.
    pub fn source_url(&self, number: u8) -> String {
        format!("{}://{}:2379", self.config.endpoints.client_scheme.name(), self.source_address(number))
    }

    /// What a target's spec says of a source.
    pub fn source_spec(&self, count: u8) -> Source {
        let numbers = || 1..=count;
        Source {
            members: numbers()
                .map(|number| (Self::source_name(number), vec![self.source_peer_url(number)]))
                .collect(),
            client_endpoints: numbers().map(|number| self.source_url(number)).collect(),
        }
    }

    /// Starts an existing cluster, waits until it is well, and lets the spec name it.
    pub async fn source(&mut self, count: u8, etcd: &Path) {
        self.odd_source(count, etcd, Traits::default()).await;
    }

    /// The same with what is odd about it.
    pub async fn odd_source(&mut self, count: u8, etcd: &Path, traits: Traits) {
        for number in 1..=count {
            self.start_source(number, count, etcd, traits);
        }
        self.config.source = Some(self.source_spec(count));
        self.render();
        self.until_source_answers().await;
    }

    pub async fn until_source_answers(&self) {
        let deadline = Instant::now() + SOON;
        while !self.try_etcdctl(&self.source_url(1), &["put", "before", "the join"]).status.success() {
            assert!(Instant::now() < deadline, "the source never answered");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Starts a member of the source, on the data that it has.
    pub fn start_source(&mut self, number: u8, count: u8, etcd: &Path, traits: Traits) {
        let all: Vec<String> = (1..=count)
            .map(|number| format!("{}={}", Self::source_name(number), self.source_peer_url(number)))
            .collect();
        // Members of the source must find the target's names too.
        let script = "mount --bind \"$1\" /etc/hosts && shift && exec setpriv --pdeathsig KILL -- \"$@\"";
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "sh", "-c", script, "sh"])
            .arg(self.hosts_of_source())
            .arg(etcd.join("etcd"));
        command.args(["--name", &Self::source_name(number), "--initial-cluster", &all.join(",")]);
        command.arg("--data-dir").arg(self.directory().join(Self::source_name(number)));
        for flag in ["--listen-peer-urls", "--initial-advertise-peer-urls"] {
            command.args([flag, &self.source_peer_url(number)]);
        }
        let url = self.source_url(number);
        let advertised = if traits.private_clients { url.replace(":2379", ":2399") } else { url.clone() };
        command.args(["--listen-client-urls", &url, "--advertise-client-urls", &advertised]);
        self.secure(&mut command);
        let log = fs::File::create(self.directory().join(format!("log-source-{number}"))).unwrap();
        let process = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        self.sources.insert(number, process);
    }

    fn secure(&self, command: &mut Command) {
        // Certificates of its own, whatever the target's become.
        let kept = self.directory().join("ssl-of-source");
        if self.secrets().exists() && !kept.exists() {
            super::files::copy(&self.secrets(), &kept);
        }
        let within = |path: &str| kept.join(path.trim_start_matches("/var/etcd/ssl/"));
        for (scheme, prefix, files) in [
            (self.config.endpoints.client_scheme, "", TlsFiles::CLIENT),
            (self.scheme(), "peer-", TlsFiles::PEER),
        ] {
            if scheme == Scheme::Https {
                command.arg(format!("--{prefix}client-cert-auth"));
                command.arg(format!("--{prefix}trusted-ca-file")).arg(within(files.ca).join("ca.crt"));
                command.arg(format!("--{prefix}cert-file")).arg(within(files.server).join("tls.crt"));
                command.arg(format!("--{prefix}key-file")).arg(within(files.server).join("tls.key"));
            }
        }
        if self.scheme() == Scheme::Https {
            // Members of a test call from 127.0.0.1, whatever they listen on.
            command.arg("--peer-skip-client-san-verification");
        }
    }

    /// Kills a member of the source.
    pub fn stop_source(&mut self, number: u8) {
        let mut process = self.sources.remove(&number).unwrap();
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Addresses that a source's certificates must be for.
    pub fn source_addresses(&self) -> impl Iterator<Item = Ipv4Addr> {
        (1..=3).map(|number| self.source_address(number))
    }
}
