//! `agent`: the first process of a member's container.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::agent::api::{ApiServer, Identity};
use crate::agent::child::Binary;
use crate::agent::local::Local;
use crate::agent::probes;
use crate::agent::run::{Agent, Parts};
use crate::agent::tls::Mounted;
use crate::agent::volume::Volume;
use crate::kubernetes::Cluster;
use crate::telemetry::{self, Format};

use super::Failure;
use super::signals::Signals;

/// The flags of `agent`.
#[derive(Debug, clap::Args)]
#[command(
    next_line_help = true,
    after_help = "\
Examples:
  etcd-warden agent --copy-to /warden/etcd-warden
  etcd-warden agent --etcd-name c2 --service-endpoints http://c2-client.prod.svc:2379

The loop renders both into the pods that it makes."
)]
pub(super) struct Args {
    /// Copy this program to FILE, whole or not at all, and end: how it gets into a container without it
    #[arg(long, help_heading = INSTALLATION, value_name = "FILE", exclusive = true)]
    copy_to: Option<PathBuf>,
    /// Name of the Etcd whose member this is
    #[arg(long, help_heading = MEMBER, value_name = "NAME", required_unless_present = "copy_to")]
    etcd_name: Option<String>,
    /// Where the cluster answers clients: the client Service, then the source's endpoints
    #[arg(long, help_heading = MEMBER, value_name = "URL,…", value_delimiter = ',', required_unless_present = "copy_to")]
    service_endpoints: Vec<String>,
    /// Where the member's volume is mounted
    #[arg(long, help_heading = MEMBER, value_name = "DIRECTORY", default_value = "/var/etcd/data")]
    data_dir: PathBuf,
    /// Address that is listened on [default: all of this machine]
    #[arg(long, help_heading = MEMBER, value_name = "ADDRESS")]
    listen: Option<IpAddr>,
    /// Cluster [default: the one that this is a pod of]
    #[arg(long, help_heading = POD, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// A join in which nothing moves for so long is begun anew
    #[arg(long, help_heading = MEMBER, value_name = "SECONDS", default_value_t = 300)]
    stalled_after: u64,
    /// Name of the pod
    #[arg(long, help_heading = POD, env = "POD_NAME", value_name = "NAME", required_unless_present = "copy_to")]
    pod_name: Option<String>,
    /// Its namespace
    #[arg(long, help_heading = POD, env = "POD_NAMESPACE", value_name = "NAME", required_unless_present = "copy_to")]
    pod_namespace: Option<String>,
    /// Its UID
    #[arg(long, help_heading = POD, env = "POD_UID", value_name = "UID", required_unless_present = "copy_to")]
    pod_uid: Option<String>,
    /// How log lines look; etcd's own are passed through as they are
    #[arg(long, help_heading = LOGS, value_name = "FORMAT", default_value = "auto", hide_possible_values = true)]
    log_format: Format,
    /// What is logged, such as debug
    #[arg(long, help_heading = LOGS, value_name = "LEVEL", default_value = "info")]
    log_level: String,
}

const INSTALLATION: &str = "Installation";
const MEMBER: &str = "Member";
const POD: &str = "Pod and cluster";
const LOGS: &str = "Logs";

pub(super) fn run(args: Args) -> Result<(), Failure> {
    if let Some(path) = &args.copy_to {
        return copy_to(path)
            .map_err(|error| failed(format!("can't copy this program to {}: {error}", path.display())));
    }
    telemetry::init(args.log_format, &args.log_level)
        .map_err(|error| Failure::Usage(format!("--log-level {:?}: {error}", args.log_level)))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed(format!("can't start threads: {error}")))?;
    let done = runtime.block_on(agent(args));
    runtime.shutdown_background();
    done
}

fn failed(message: String) -> Failure {
    Failure::Failed(message)
}

async fn agent(args: Args) -> Result<(), Failure> {
    let signals = Signals::listen().map_err(|error| failed(format!("can't listen for signals: {error}")))?;
    let cluster = Cluster::connect(args.kubeconfig.as_deref()).await;
    let cluster = cluster.map_err(|error| failed(error.to_string()))?.ok_or_else(|| {
        failed(
            "an agent needs its pod's service account token: set automountServiceAccountToken: true"
                .to_owned(),
        )
    })?;
    let address = args.listen.unwrap_or_else(all_addresses);
    let stop = CancellationToken::new();
    let (tell_port, port) = oneshot::channel();
    let parts = parts(args, cluster, address, tell_port).await;
    let probes = tokio::spawn(probes::serve(address, port, Arc::clone(&parts.local)));
    let reaper = tokio::spawn(crate::agent::reap::run());
    let work = Agent::new(parts).run(stop.clone());
    let done = tokio::select! {
        done = work => done,
        number = signals.end(stop.clone()) => return Err(Failure::Signal(number)),
        ended = probes => Err(io::Error::other(format!("the probes ended: {ended:?}"))),
        ended = reaper => Err(io::Error::other(format!("reaping ended: {ended:?}"))),
    };
    done.map_err(|error| failed(error.to_string()))
}

async fn parts(args: Args, cluster: Cluster, address: IpAddr, tell_port: oneshot::Sender<u16>) -> Parts {
    let identity = Identity {
        etcd: args.etcd_name.unwrap_or_default(),
        namespace: args.pod_namespace.unwrap_or_default(),
        pod: args.pod_name.unwrap_or_default(),
        uid: args.pod_uid.unwrap_or_default(),
    };
    let search = std::env::var_os("PATH").unwrap_or_default();
    let mounted = Mounted::below(Path::new("/"));
    let own = if address.is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { address };
    Parts {
        pod: identity.pod.clone(),
        api: ApiServer::new(cluster.client, identity),
        endpoints: args.service_endpoints,
        volume: Volume::new(&args.data_dir),
        binary: Binary::find(&search).await.map_err(|error| error.to_string()),
        local: Arc::new(Local::new(mounted.clone(), in_url(own))),
        mounted,
        listen: in_url(address),
        patience: Duration::from_secs(args.stalled_after),
        tell_port: Some(tell_port),
    }
}

fn in_url(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// `::`, or `0.0.0.0` on a machine without IPv6.
fn all_addresses() -> IpAddr {
    let six = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    let has_six = std::net::TcpListener::bind((six, 0)).is_ok();
    if has_six { six } else { IpAddr::V4(Ipv4Addr::UNSPECIFIED) }
}

/// Copies this program: a reader of `path` sees the old file or the new one, whole.
fn copy_to(path: &Path) -> io::Result<()> {
    let new = path.with_extension("new");
    fs::copy("/proc/self/exe", &new)?;
    fs::set_permissions(&new, fs::Permissions::from_mode(0o555))?;
    fs::File::open(&new)?.sync_all()?;
    fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_copied_whole_and_may_be_run() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("etcd-warden");
        for _ in 0..2 {
            copy_to(&path).unwrap();
        }
        let copied = fs::metadata(&path).unwrap();
        assert_eq!(copied.len(), fs::metadata("/proc/self/exe").unwrap().len());
        assert_eq!(copied.permissions().mode() & 0o777, 0o555);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn addresses_stand_in_urls_as_they_must() {
        assert_eq!(in_url("::1".parse().unwrap()), "[::1]");
        assert_eq!(in_url("0.0.0.0".parse().unwrap()), "0.0.0.0");
    }
}
