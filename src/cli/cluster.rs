//! The cluster of a server, where there is one: what is watched, elected and kept there, beside the answering.

use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use clap::builder::BoolishValueParser;
use prometheus_client::registry::Registry;
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

use crate::admission::Stored;
use crate::controller::{self, Loop, render};
use crate::kubernetes::{self, Cluster, ConnectError, Etcds, Health};
use crate::lease::{self, Elector, KubernetesLease, Timing};
use crate::pki::managed::{self, Access, Keeper, Leaf, Leaves, Status};
use crate::server::{Attached, Condition, Held, Server, State};

use super::values::duration;

const CLUSTER: &str = "Cluster";
const SELF_MANAGED: &str = "Self-managed certificates";
const LOOP: &str = "Reconcile loop";

/// The flags about a cluster.
#[derive(Debug, clap::Args)]
pub(super) struct ClusterArgs {
    /// Cluster whose Etcds are watched, to judge Scales by them [default: the one that this is a pod of, if any]
    #[arg(long, env = "ETCD_WARDEN_KUBECONFIG", hide_env = true, value_name = "FILE", help_heading = CLUSTER)]
    kubeconfig: Option<PathBuf>,
    /// Namespace of Lease, Secret and Service [default: the pod's own, or the kubeconfig's]
    #[arg(long, env = "ETCD_WARDEN_NAMESPACE", hide_env = true, value_name = "NAME", help_heading = CLUSTER)]
    namespace: Option<String>,
    /// Lease by which the replicas elect who makes and rotates the CA
    #[arg(long, env = "ETCD_WARDEN_LEASE", hide_env = true, value_name = "NAME", help_heading = CLUSTER, default_value = "etcd-warden")]
    lease: String,

    /// Secret of the CA; may be there already, empty
    #[arg(long, env = "ETCD_WARDEN_CA_SECRET", hide_env = true, value_name = "NAME", help_heading = SELF_MANAGED, default_value = "etcd-warden-ca")]
    ca_secret: String,
    /// Service by which API servers call: the certificate is for NAME.NAMESPACE.svc
    #[arg(long, env = "ETCD_WARDEN_SERVICE", hide_env = true, value_name = "NAME", help_heading = SELF_MANAGED, default_value = "etcd-warden")]
    service: String,
    /// Name of the validating and of the mutating webhook configuration whose caBundle is kept right
    #[arg(long, env = "ETCD_WARDEN_WEBHOOK_CONFIGURATION", hide_env = true, value_name = "NAME", help_heading = SELF_MANAGED, default_value = "etcd-warden")]
    webhook_configuration: String,
    /// How long a CA is good; a new one is made at two thirds
    #[arg(long, env = "ETCD_WARDEN_CA_LIFETIME", hide_env = true, value_name = "DURATION", help_heading = SELF_MANAGED, default_value = "8760h", value_parser = duration)]
    ca_lifetime: Duration,
    /// How long a serving certificate is good; a new one is made at two thirds
    #[arg(long, env = "ETCD_WARDEN_LEAF_LIFETIME", hide_env = true, value_name = "DURATION", help_heading = SELF_MANAGED, default_value = "24h", value_parser = duration)]
    leaf_lifetime: Duration,
    /// How long both webhook configurations hold a new CA before it signs: API servers cache them
    #[arg(long, env = "ETCD_WARDEN_CA_SETTLE_TIME", hide_env = true, value_name = "DURATION", help_heading = SELF_MANAGED, default_value = "1m", value_parser = duration)]
    ca_settle_time: Duration,

    /// Run the reconcile loop: instead of etcd-druid, never beside it
    #[arg(long, env = "ETCD_WARDEN_CONTROLLER", hide_env = true, help_heading = LOOP, value_parser = BoolishValueParser::new())]
    controller: bool,
    /// Lease by which the replicas elect the one whose loop works
    #[arg(long, env = "ETCD_WARDEN_LOOP_LEASE", hide_env = true, value_name = "NAME", help_heading = LOOP, default_value = "etcd-warden-loop")]
    loop_lease: String,
    /// Image of etcd for Etcds that name none in spec.etcd.image [default: those are not made real]
    #[arg(long, env = "ETCD_WARDEN_ETCD_IMAGE", hide_env = true, value_name = "IMAGE", help_heading = LOOP)]
    etcd_image: Option<String>,
    /// Image with the members' agent: the one that this program is run from
    #[arg(long, env = "ETCD_WARDEN_AGENT_IMAGE", hide_env = true, value_name = "IMAGE", help_heading = LOOP)]
    agent_image: Option<String>,
}

/// Flags that contradict each other. Every variant says what to do.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Contradiction {
    #[error(
        "--certificates self-managed needs a cluster: run in a pod whose service account token is mounted, or give --kubeconfig"
    )]
    NoCluster,
    #[error(
        "--controller needs a cluster: run in a pod whose service account token is mounted, or give --kubeconfig"
    )]
    LoopWithoutCluster,
    #[error("--controller needs --agent-image: give the image that this program is run from")]
    LoopWithoutAgent,
    #[error("--leaf-lifetime {leaf:?} is longer than --ca-lifetime {ca:?}: no certificate outlives its CA")]
    LeafOutlivesCa { leaf: Duration, ca: Duration },
    #[error("{flag} is 0: give a time such as {example}")]
    NoTime { flag: &'static str, example: &'static str },
    #[error(
        "--ca-settle-time {settle:?} is not shorter than a third of --ca-lifetime {ca:?}: the old CA would expire before the new one signs"
    )]
    SettlesTooLong { settle: Duration, ca: Duration },
}

impl ClusterArgs {
    pub(super) fn check(&self, self_managed: bool) -> Result<(), Contradiction> {
        let has_cluster = self.kubeconfig.is_some() || kubernetes::is_in_cluster();
        if self.controller && !has_cluster {
            return Err(Contradiction::LoopWithoutCluster);
        }
        if self.controller && self.agent_image.is_none() {
            return Err(Contradiction::LoopWithoutAgent);
        }
        let (leaf, ca, settle) = (self.leaf_lifetime, self.ca_lifetime, self.ca_settle_time);
        if !self_managed {
            return Ok(());
        }
        for (flag, example, time) in [("--leaf-lifetime", "24h", leaf), ("--ca-lifetime", "8760h", ca)] {
            if time < Duration::from_secs(1) {
                return Err(Contradiction::NoTime { flag, example });
            }
        }
        if leaf > ca {
            return Err(Contradiction::LeafOutlivesCa { leaf, ca });
        }
        if settle >= ca / 3 {
            return Err(Contradiction::SettlesTooLong { settle, ca });
        }
        if !has_cluster {
            return Err(Contradiction::NoCluster);
        }
        Ok(())
    }

    fn settings(&self, cluster: &Cluster) -> managed::Settings {
        managed::Settings {
            namespace: self.namespace.clone().unwrap_or_else(|| cluster.namespace.clone()),
            secret: self.ca_secret.clone(),
            service: self.service.clone(),
            configuration: self.webhook_configuration.clone(),
            ca_life: self.ca_lifetime,
            leaf_life: self.leaf_lifetime,
            settle: self.ca_settle_time,
        }
    }
}

type Task = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;
type Start = Box<dyn FnOnce(CancellationToken) -> Task + Send>;

/// What goes on beside the answering.
#[derive(Default)]
pub(super) struct Beside {
    /// Conditions and metrics of it.
    pub(super) attached: Attached,
    /// The Etcds behind Scales; nothing without a cluster.
    pub(super) stored: Option<Arc<dyn Stored>>,
    /// Where self-managed certificates are handed over.
    pub(super) held: Held,
    /// Whom the loop acts as; nothing where none runs, or that isn't known.
    pub(super) loop_user: Option<String>,
    tasks: Vec<(&'static str, Start)>,
}

impl Beside {
    /// Makes ready what there is to be done, and asks nobody yet.
    pub(super) async fn connect(args: &ClusterArgs, self_managed: bool) -> Result<Self, ConnectError> {
        let mut beside = Self::default();
        let Some(cluster) = Cluster::connect(args.kubeconfig.as_deref()).await? else { return Ok(beside) };
        tracing::info!(api_server = %cluster.address, namespace = %cluster.namespace, "cluster");
        beside.watch_etcds(&cluster);
        if self_managed {
            beside.manage_certificates(&cluster, args);
        }
        if args.controller {
            beside.run_loop(&cluster, args);
        }
        Ok(beside)
    }

    /// Has the server run it.
    pub(super) fn attach_to(self, server: &mut Server) {
        for (name, start) in self.tasks {
            let task = start(server.stopper().draining());
            server.attach(name, task);
        }
    }

    fn watch_etcds(&mut self, cluster: &Cluster) {
        let metrics = kubernetes::Metrics::default();
        let etcds = Arc::new(Etcds::new(metrics.clone()));
        self.measure(move |registry| metrics.register(registry));
        self.attached.conditions.push(Arc::new(Cache(Arc::clone(&etcds))));
        self.stored = Some(Arc::clone(&etcds) as Arc<dyn Stored>);
        let client = cluster.client.clone();
        self.start("etcds", move |stop| kubernetes::watch(client, etcds, stop));
    }

    fn manage_certificates(&mut self, cluster: &Cluster, args: &ClusterArgs) {
        let (settings, identity) = (args.settings(cluster), identity());
        let (metrics, lease_metrics) = (managed::Metrics::default(), lease::Metrics::default());
        let status = Arc::new(Status::new(metrics.clone()));
        let lease = KubernetesLease::new(cluster.client.clone(), &settings.namespace, &args.lease);
        let elector = Elector::new(lease, identity.clone(), Timing::default(), lease_metrics.clone());
        let access = Access::new(cluster.client.clone(), settings, identity);
        let keeper = Keeper::new(access.clone(), Arc::clone(&status));
        let held = self.held.clone();
        let leaves = Leaves::new(access, Arc::clone(&status), move |leaf| hand_over(&held, &leaf));
        self.measure(move |registry| metrics.register(registry));
        self.measure(move |registry| lease_metrics.register(registry));
        self.attached.conditions.push(Arc::new(Authority(status)));
        self.start("leaf", move |stop| leaves.run(stop));
        self.start("lease", move |stop| async move {
            elector.run(stop, move |over| keeper.clone().run(over)).await.map_err(io::Error::other)
        });
    }

    fn run_loop(&mut self, cluster: &Cluster, args: &ClusterArgs) {
        let namespace = args.namespace.clone().unwrap_or_else(|| cluster.namespace.clone());
        let (identity, metrics, lease_metrics) =
            (identity(), controller::Metrics::default(), lease::Metrics::default());
        let health = Arc::new(controller::Health::new(metrics.clone()));
        // A lease of its own: certificates may be somebody else's, and the two may be led from two replicas.
        let lease = KubernetesLease::new(cluster.client.clone(), &namespace, &args.loop_lease);
        let elector = Elector::new(lease, identity.clone(), Timing::default(), lease_metrics.clone());
        let settings = render::Settings {
            etcd_image: args.etcd_image.clone(),
            agent_image: args.agent_image.clone().unwrap_or_default(),
        };
        let the_loop = Loop::new(cluster.client.clone(), settings, identity, Arc::clone(&health));
        self.loop_user.clone_from(&cluster.user);
        self.measure(move |registry| metrics.register(registry));
        self.measure(move |registry| lease_metrics.register_for_loop(registry));
        self.attached.conditions.push(Arc::new(Watching(health)));
        self.start("loop", move |stop| async move {
            elector.run(stop, move |over| the_loop.clone().run(over)).await.map_err(io::Error::other)
        });
    }

    fn measure(&mut self, register: impl Fn(&mut Registry) + Send + Sync + 'static) {
        self.attached.metrics.push(Arc::new(register));
    }

    fn start<F>(&mut self, name: &'static str, task: impl FnOnce(CancellationToken) -> F + Send + 'static)
    where
        F: Future<Output = io::Result<()>> + Send + 'static,
    {
        self.tasks.push((name, Box::new(move |stop| Box::pin(task(stop)))));
    }
}

fn hand_over(held: &Held, leaf: &Leaf) {
    held.serve(leaf.certificate.clone().into_bytes(), Zeroizing::new(leaf.key.as_bytes().to_vec()));
}

/// This process, also told apart from the one before in the same pod.
fn identity() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let mut bytes = [0_u8; 8];
    // Without chance the time tells two starts apart.
    if aws_lc_rs::rand::fill(&mut bytes).is_err() {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        bytes = since.as_micros().to_be_bytes()[8..].try_into().unwrap_or(bytes);
    }
    format!("{host}_{:016x}", u64::from_be_bytes(bytes))
}

struct Cache(Arc<Etcds>);

impl Condition for Cache {
    fn name(&self) -> &'static str {
        "etcds"
    }

    fn state(&self, _: SystemTime) -> State {
        match self.0.health() {
            Health::Good => State::Good,
            Health::Degraded(why) => State::Degraded(why.into()),
            Health::Waiting(why) => State::Failed(why.into()),
        }
    }
}

struct Authority(Arc<Status>);

impl Condition for Authority {
    fn name(&self) -> &'static str {
        "certificate-authority"
    }

    fn state(&self, _: SystemTime) -> State {
        match self.0.state() {
            managed::State::Good => State::Good,
            managed::State::Degraded(why) => State::Degraded(why.into()),
            managed::State::Waiting(why) => State::Failed(why.into()),
        }
    }
}

/// Blind, the loop waits; admission doesn't.
struct Watching(Arc<controller::Health>);

impl Condition for Watching {
    fn name(&self) -> &'static str {
        "loop"
    }

    fn state(&self, _: SystemTime) -> State {
        self.0.fault().map_or(State::Good, |why| State::Degraded(why.into()))
    }
}
