//! An Etcd `main` in namespace `shop`, its pods as processes, and the test as its reconcile loop.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use etcd_warden::member::{
    ClusterId, Config, Endpoints, EtcdSettings, FORM, Form, Formed, MEMBER, Owner, Report, Role, Scheme,
    Starts, TlsFiles, Volume, Waiting, Why,
};
use rustix::process::{Pid, Signal, kill_process};

use super::api::Api;

/// Longer than anything takes that works, on a busy machine.
pub const SOON: Duration = Duration::from_secs(90);
const STEP: Duration = Duration::from_millis(100);

/// Where beds keep the etcd of a minor, if it was built; else one line says what is missing.
pub fn etcd(minor: &str) -> Option<PathBuf> {
    let home = std::env::var_os("ETCD_WARDEN_BED_HOME").map(PathBuf::from).or_else(|| {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
        Some(cache?.join("etcd-warden/bed"))
    });
    let parts = fs::read_dir(home.unwrap_or_default().join("parts")).into_iter().flatten().flatten();
    let fits = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with(&format!("etcd-{minor}-")) && path.join("etcd").exists()
    };
    let found = parts.map(|entry| entry.path()).find(fits);
    let root = rustix::process::geteuid().is_root();
    let asked = std::env::var("ETCD_WARDEN_BED").unwrap_or_default();
    if asked == "off" {
        return None;
    }
    let found = found.filter(|_| root);
    if found.is_none() {
        assert_ne!(asked, "required", "needs root, and etcd {minor} as `tests/cluster/bed build` makes it");
        println!("skipped: needs root, and etcd {minor} as `tests/cluster/bed build` makes it");
    }
    found
}

/// The Etcd with what is around it.
pub struct Shop {
    pub api: Api,
    pub config: Config,
    /// The etcd in the pods' image.
    pub etcd: PathBuf,
    /// The user that agents run as; root where there is none.
    pub user: Option<u32>,
    /// What another Etcd adds to the names that are known here.
    pub more_hosts: String,
    /// Members of the source find nobody at the names of this Etcd's pods.
    pub hidden: bool,
    directory: tempfile::TempDir,
    kubeconfig: PathBuf,
    network: [u8; 2],
    members: BTreeMap<u32, Member>,
    pub(super) sources: BTreeMap<u8, Child>,
}

/// A member's pod.
struct Member {
    process: Child,
    log: PathBuf,
}

impl Shop {
    /// An Etcd without pods. Must be called in a runtime that outlives it.
    pub async fn open(replicas: u32, etcd: &Path) -> Self {
        static NUMBER: AtomicU8 = AtomicU8::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let process = u8::try_from(std::process::id() % 200).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let (api, address) = Api::serve().await;
        let kubeconfig = directory.path().join("kubeconfig");
        let text = format!(
            "apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{server: 'http://{address}'}}}}]\n\
             users: [{{name: u, user: {{token: t}}}}]\n\
             contexts: [{{name: x, context: {{cluster: c, user: u, namespace: shop}}}}]\ncurrent-context: x\n"
        );
        fs::write(&kubeconfig, text).unwrap();
        let shop = Self {
            api,
            config: config(replicas),
            etcd: etcd.to_owned(),
            user: None,
            more_hosts: String::new(),
            hidden: false,
            directory,
            kubeconfig,
            network: [process + 20, number],
            members: BTreeMap::new(),
            sources: BTreeMap::new(),
        };
        shop.render();
        shop
    }

    /// Writes the configuration, as the loop does.
    pub fn render(&self) {
        self.render_with(None);
    }

    /// The same with what the loop has seen of starts.
    pub fn render_with(&self, starts: Option<&Starts>) {
        let text = serde_json::to_string(&self.config).unwrap();
        let mut data = BTreeMap::from([(Config::KEY.to_owned(), text)]);
        data.extend(starts.map(|starts| (Starts::KEY.to_owned(), starts.text())));
        self.api.put_map(&Config::name(&self.config.owner.name), &data);
    }

    pub fn address(&self, ordinal: u32) -> Ipv4Addr {
        let [second, third] = self.network;
        Ipv4Addr::new(127, second, third, 10 + u8::try_from(ordinal).unwrap())
    }

    /// Address of a member of the source.
    pub fn source_address(&self, number: u8) -> Ipv4Addr {
        let [second, third] = self.network;
        Ipv4Addr::new(127, second, third, 100 + number)
    }

    /// The names of pods, where members look for them.
    fn hosts(&self) -> PathBuf {
        self.write_hosts("hosts", false)
    }

    /// The same for members of the source.
    pub fn hosts_of_source(&self) -> PathBuf {
        self.write_hosts("hosts-of-source", self.hidden)
    }

    fn write_hosts(&self, name: &str, hidden: bool) -> PathBuf {
        let path = self.directory.path().join(name);
        let text = format!("127.0.0.1 localhost\n{}{}", self.names(hidden), self.more_hosts);
        // Members have this very file mounted, and read it at any time.
        if fs::read_to_string(&path).ok().as_ref() != Some(&text) {
            fs::write(&path, text).unwrap();
        }
        path
    }

    /// The names of this Etcd, with their addresses.
    pub fn names(&self, hidden: bool) -> String {
        let service = format!("{}-client.{}.svc", self.config.owner.name, self.config.owner.namespace);
        let mut text = String::new();
        for ordinal in 0..9 {
            let address = if hidden { self.source_address(150) } else { self.address(ordinal) };
            writeln!(text, "{address} {}\n{address} {service}", self.config.host(ordinal)).unwrap();
        }
        text
    }

    pub fn volume(&self, ordinal: u32) -> PathBuf {
        self.directory.path().join(format!("volume-{ordinal}"))
    }

    /// Where everything of it stands.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Where TLS files stand, as they are mounted in a pod; below this directory.
    pub fn secrets(&self) -> PathBuf {
        self.directory.path().join("ssl")
    }

    /// Starts the pod with an ordinal; a pod of that name that ran before is another one.
    pub fn start(&mut self, ordinal: u32) {
        static PODS: AtomicU8 = AtomicU8::new(0);
        let uid = format!("pod-{}", PODS.fetch_add(1, Ordering::Relaxed));
        self.api.put_pod(&self.config.pod(ordinal), &uid);
        self.run(ordinal, &uid);
    }

    fn run(&mut self, ordinal: u32, uid: &str) {
        let (hosts, volume, secrets) = (self.hosts(), self.volume(ordinal), self.secrets());
        fs::create_dir_all(&volume).unwrap();
        fs::create_dir_all(&secrets).unwrap();
        let log = self.directory.path().join(format!("log-{ordinal}"));
        let file = fs::OpenOptions::new().create(true).append(true).open(&log).unwrap();
        // Mounts and processes of its own, as in a container: with the first process all of them end; and no process
        // outlives the test.
        let script = "mount --bind \"$1\" /etc/hosts && mount -t tmpfs none /var && mkdir -p /var/etcd/ssl \
                      && mount --bind \"$2\" /var/etcd/ssl && shift 2 && exec setpriv --pdeathsig KILL $USER_FLAGS -- \"$@\"";
        let Owner { name, namespace, .. } = &self.config.owner;
        let scheme = self.config.endpoints.client_scheme.name();
        let mut endpoints = vec![format!("{scheme}://{name}-client.{namespace}.svc:2379")];
        endpoints.extend(self.config.source.iter().flat_map(|source| source.client_endpoints.clone()));
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--", "unshare", "--mount", "--pid", "--fork", "--kill-child"]);
        command.args(["--mount-proc", "sh", "-c", script, "sh"]).args([&hosts, &secrets]);
        command.arg(env!("CARGO_BIN_EXE_etcd-warden"));
        command
            .args([
                "agent",
                "--etcd-name",
                name,
                "--log-format",
                "text",
                "--stalled-after",
                "2",
                "--kubeconfig",
            ])
            .arg(&self.kubeconfig);
        command.args(["--service-endpoints", &endpoints.join(","), "--data-dir"]).arg(&volume);
        command.args(["--listen", &self.address(ordinal).to_string()]);
        let path = format!("{}:/usr/bin:/bin", self.etcd.display());
        command.env("PATH", path).env("POD_NAME", self.config.pod(ordinal)).env("POD_UID", uid);
        let user =
            self.user.map(|id| format!("--reuid {id} --regid {id} --clear-groups")).unwrap_or_default();
        command
            .env("USER_FLAGS", user)
            .env("POD_NAMESPACE", namespace)
            .env("HTTP_PROXY", "http://127.0.0.1:9");
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file).spawn().unwrap();
        self.members.insert(ordinal, Member { process, log });
    }

    /// Ends a pod, by this signal.
    pub fn end(&mut self, ordinal: u32, signal: Signal) {
        let mut member = self.members.remove(&ordinal).unwrap();
        kill_process(first_process(member.process.id()), signal).unwrap();
        member.process.wait().unwrap();
    }

    pub fn report(&self, ordinal: u32) -> Option<Report> {
        let text = self.api.annotation(&self.config.pod(ordinal), MEMBER)?;
        Some(Report::read(&text).unwrap())
    }

    /// A member that begins has never said that its volume can't be read.
    #[track_caller]
    pub fn lost_no_volume(&self, ordinal: u32) {
        for report in self.api.reports(&self.config.pod(ordinal)) {
            assert!(!matches!(report.volume, Volume::Unreadable(_)), "{report:#?}");
        }
    }

    /// Waits until a member's report fits.
    #[track_caller]
    pub fn until(
        &self,
        ordinal: u32,
        what: &str,
        fits: impl Fn(&Report) -> bool,
    ) -> impl Future<Output = Report> {
        let caller = std::panic::Location::caller();
        async move {
            let deadline = Instant::now() + SOON;
            loop {
                let report = self.report(ordinal);
                if let Some(report) = report.as_ref().filter(|report| fits(report)) {
                    return report.clone();
                }
                if Instant::now() > deadline {
                    let log =
                        self.members.get(&ordinal).map(|member| fs::read_to_string(&member.log).unwrap());
                    let log = log.unwrap_or_default();
                    let tail: Vec<&str> = log.lines().rev().take(40).collect();
                    panic!(
                        "{caller}: {}-{ordinal} never {what}: {report:#?}\n{}",
                        self.config.owner.name,
                        tail.join("\n")
                    );
                }
                tokio::time::sleep(STEP).await;
            }
        }
    }

    /// Waits until a member waits, for a reason of this kind with these words.
    pub async fn until_waiting(&self, ordinal: u32, why: Why, words: &[&str]) -> String {
        let fits =
            |waiting: &Waiting| waiting.why == why && words.iter().all(|word| waiting.message.contains(word));
        let what = format!("waited because of {why:?} with {words:?}");
        let report = self.until(ordinal, &what, |report| report.waiting.as_ref().is_some_and(fits)).await;
        report.waiting.unwrap().message
    }

    pub async fn until_voter(&self, ordinal: u32) -> Report {
        let votes = |report: &Report| {
            matches!(report.role, Some(Role::Voter | Role::Leader)) && report.waiting.is_none()
        };
        self.until(ordinal, "became a voter", votes).await
    }

    /// Gives the word to form, as the loop does: when every volume is empty.
    pub async fn give_word(&self, attempt: u32) {
        self.until_empty().await;
        for ordinal in 0..self.config.replicas {
            self.give_word_to(ordinal, attempt);
        }
    }

    /// Waits until every volume is empty.
    pub async fn until_empty(&self) {
        for ordinal in 0..self.config.replicas {
            self.until(ordinal, "reported an empty volume", |report| report.volume == Volume::Empty).await;
        }
    }

    /// Gives the word of an attempt to one pod.
    pub fn give_word_to(&self, ordinal: u32, attempt: u32) -> Form {
        let token = Form::token(&self.config.owner.uid, attempt);
        let word = Form { token, initial_cluster: self.config.initial_cluster() };
        self.api.annotate(&self.config.pod(ordinal), FORM, &serde_json::to_string(&word).unwrap());
        word
    }

    /// Forms the cluster, and records it.
    pub async fn form(&mut self) -> ClusterId {
        for ordinal in 0..self.config.replicas {
            self.start(ordinal);
        }
        self.give_word(1).await;
        let mut cluster = None;
        for ordinal in 0..self.config.replicas {
            cluster = self.until_voter(ordinal).await.cluster;
        }
        let cluster = cluster.unwrap();
        self.api.put_map(&Formed::name(&self.config.owner.name), &Formed { cluster }.data());
        cluster
    }

    /// Runs etcdctl against a member, with the test bed's newest.
    pub fn etcdctl(&self, endpoint: &str, arguments: &[&str]) -> String {
        let output = self.try_etcdctl(endpoint, arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The same where it may fail.
    pub fn try_etcdctl(&self, endpoint: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new("unshare");
        let script = "mount --bind \"$1\" /etc/hosts && shift && exec \"$@\"";
        command.args(["--mount", "sh", "-c", script, "sh"]).arg(self.hosts());
        command.arg(etcd("3.6").unwrap().join("etcdctl")).args([
            "--endpoints",
            endpoint,
            "--command-timeout",
            "20s",
        ]);
        if endpoint.starts_with("https") {
            let within = |path: &str| self.secrets().join(path.trim_start_matches("/var/etcd/ssl/"));
            command.arg("--cacert").arg(within(TlsFiles::CLIENT.ca).join("ca.crt"));
            command.arg("--cert").arg(within(TlsFiles::CLIENT.server).join("tls.crt"));
            command.arg("--key").arg(within(TlsFiles::CLIENT.server).join("tls.key"));
        }
        command.args(arguments).output().unwrap()
    }

    /// Names of the voters, and of the learners, as a member's own list has them.
    pub fn members(&self, endpoint: &str) -> (Vec<String>, Vec<String>) {
        let text = self.etcdctl(endpoint, &["member", "list"]);
        let lines = text.lines().map(|line| line.split(", ").map(str::to_owned).collect::<Vec<_>>());
        let (learners, voters): (Vec<_>, Vec<_>) = lines.partition(|fields| fields[5] == "true");
        let names = |lines: Vec<Vec<String>>| {
            let mut names: Vec<String> = lines.into_iter().map(|fields| fields[2].clone()).collect();
            names.sort();
            names
        };
        (names(voters), names(learners))
    }

    /// The log of a member that runs.
    pub fn log(&self, ordinal: u32) -> PathBuf {
        self.members[&ordinal].log.clone()
    }

    pub fn client_url(&self, ordinal: u32) -> String {
        self.config.client_url(ordinal)
    }

    /// Status of a probe.
    pub async fn probe(&self, ordinal: u32, path: &str) -> Option<String> {
        self.get(ordinal, self.config.endpoints.readiness_port, path).await
    }

    /// Waits until the members of a cluster without TLS have agreed on its version, such as 3.6: some seconds after the
    /// last of them has come.
    #[track_caller]
    pub fn until_agreed(&self, version: &str) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            let (deadline, agreed) = (Instant::now() + SOON, format!("\"etcdcluster\":\"{version}."));
            loop {
                let said = self.get(0, self.config.endpoints.client_port, "/version").await;
                if said.as_ref().is_some_and(|said| said.contains(&agreed)) {
                    return;
                }
                assert!(Instant::now() < deadline, "{caller}: the cluster's version is {said:?}");
                tokio::time::sleep(STEP).await;
            }
        }
    }

    async fn get(&self, ordinal: u32, port: u16, path: &str) -> Option<String> {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let address = (self.address(ordinal), port);
        let mut stream = tokio::net::TcpStream::connect(address).await.ok()?;
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.ok()?;
        Some(answer)
    }
}

/// The first process of a pod: the child of the one that made its namespaces.
fn first_process(outer: u32) -> Pid {
    let path = format!("/proc/{outer}/task/{outer}/children");
    let deadline = Instant::now() + SOON;
    loop {
        let children = fs::read_to_string(&path).unwrap();
        let child = children.split_whitespace().next().and_then(|id| id.parse().ok());
        if let Some(pid) = child.and_then(Pid::from_raw) {
            return pid;
        }
        assert!(Instant::now() < deadline, "the pod has no process");
        std::thread::sleep(STEP);
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        let members = self.members.values_mut().map(|member| &mut member.process);
        for process in members.chain(self.sources.values_mut()) {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn config(replicas: u32) -> Config {
    Config {
        owner: Owner {
            name: "main".to_owned(),
            namespace: "shop".to_owned(),
            uid: "uid-1".to_owned(),
            member_name_prefix: None,
        },
        replicas,
        endpoints: Endpoints {
            peer_scheme: Scheme::Http,
            peer_port: 2380,
            client_scheme: Scheme::Http,
            client_port: 2379,
            readiness_port: 9095,
            additional_peer_urls: BTreeMap::new(),
            skip_client_san_verification: false,
        },
        etcd: EtcdSettings {
            quota_bytes: 2 << 30,
            snapshot_count: 10_000,
            metrics: "basic".to_owned(),
            enable_grpc_gateway: false,
            auto_compaction_mode: "periodic".to_owned(),
            auto_compaction_retention: "30m".to_owned(),
            freelist_type: "array".to_owned(),
        },
        source: None,
        ending: false,
    }
}
