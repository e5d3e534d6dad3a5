//! From a configuration to a server that listens.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use prometheus_client::metrics::gauge::Gauge;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{Semaphore, oneshot};

use super::attached::AttachedTask;
use super::config::Config;
use super::descriptors;
use super::handler::Webhooks;
use super::limits::{BACKLOG, PROBE_CONNECTIONS};
use super::listener::{Closing, Listener};
use super::metrics::Metrics;
use super::readiness::{Audit, Readiness};
use super::reload::Reloader;
use super::stopper::Stopper;
use super::tls::TlsError;
use super::trail::{Trail, TrailError};

/// Why a server can't start. Every variant names the thing and what to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address can't be listened on.
    #[error(
        "can't listen on {address}: {cause}: {remedy}, or give another address with {flag}",
        remedy = remedy(.cause)
    )]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The flag that sets it.
        flag: &'static str,
        /// What the system says.
        cause: io::Error,
    },
    /// The certificate files can't be served.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The audit log can't be used.
    #[error(transparent)]
    Audit(#[from] TrailError),
}

fn remedy(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::AddrInUse => "end what listens there",
        io::ErrorKind::PermissionDenied => "run as a user who may (ports below 1024 are root's)",
        io::ErrorKind::AddrNotAvailable => "use an address that this machine has",
        _ => "check that this machine has addresses of the kind (0.0.0.0 where there is no IPv6)",
    }
}

/// Where a server listens: the port is the system's choice where 0 was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// HTTPS.
    pub https: SocketAddr,
    /// Plain HTTP.
    pub probes: SocketAddr,
}

/// A server that listens, and answers once it runs.
pub struct Server {
    pub(super) config: Config,
    pub(super) addresses: Addresses,
    pub(super) https: Listener,
    pub(super) probes: Listener,
    pub(super) closing: Closing,
    pub(super) stopper: Stopper,
    pub(super) reloader: Reloader,
    pub(super) readiness: Arc<Readiness>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) trail: Option<Arc<Trail>>,
    pub(super) trail_end: Option<oneshot::Receiver<()>>,
    pub(super) webhooks: Arc<Webhooks>,
    pub(super) attached: Vec<AttachedTask>,
}

impl Server {
    /// Listens on both addresses, reads the certificates and opens the audit log. Needs a tokio runtime.
    pub fn bind(config: Config) -> Result<Self, StartError> {
        let (https, https_address) = listen(config.listen, "--listen")?;
        let (probes, probes_address) = listen(config.probes_listen, "--probes-listen")?;
        let (trail, trail_end) = open_trail(&config)?.unzip();
        let trail = trail.map(Arc::new);
        let metrics = Arc::new(Metrics::new(trail.as_deref().map(Trail::counters), &config.attached.metrics));
        let stopper = Stopper::default();
        let readiness = Arc::new(readiness(&config, &stopper, trail.as_deref()));
        let reloader = Reloader::new(config.tls.clone(), Arc::clone(&readiness), Arc::clone(&metrics))?;
        let closing = Closing::default();
        let connections = descriptors::connections_within(config.limits.max_connections);
        let gauge = metrics.connections.clone();
        Ok(Self {
            https: Listener::new(https, connections, gauge, closing.clone()),
            probes: Listener::new(probes, PROBE_CONNECTIONS, Gauge::default(), Closing::default()),
            addresses: Addresses { https: https_address, probes: probes_address },
            webhooks: Arc::new(webhooks(&config, trail.as_ref(), &metrics)),
            config,
            closing,
            stopper,
            reloader,
            readiness,
            metrics,
            trail,
            trail_end,
            attached: Vec::new(),
        })
    }

    /// Has a further task run and watched. It ends soon after [`Self::stopper`] has been told; when it ends earlier, the
    /// server drains, and its end is an error.
    pub fn attach(
        &mut self,
        name: &'static str,
        task: impl Future<Output = io::Result<()>> + Send + 'static,
    ) {
        self.attached.push(AttachedTask { name, task: Box::pin(task) });
    }

    /// Where it listens.
    pub fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// What tells it to end.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }
}

fn listen(address: SocketAddr, flag: &'static str) -> Result<(TcpListener, SocketAddr), StartError> {
    let listening = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // A server that starts anew need not wait for the connections of the last one to be forgotten.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let socket = socket.listen(BACKLOG)?;
        let bound = socket.local_addr()?;
        Ok((socket, bound))
    };
    listening().map_err(|cause| StartError::Listen { address, flag, cause })
}

fn open_trail(config: &Config) -> Result<Option<(Trail, oneshot::Receiver<()>)>, StartError> {
    Ok(config.audit.as_ref().map(|audit| Trail::open(config, audit)).transpose()?)
}

fn readiness(config: &Config, stopper: &Stopper, trail: Option<&Trail>) -> Readiness {
    let required = config.audit.as_ref().is_some_and(|audit| audit.required);
    let audit = trail.map(|trail| Audit { counters: trail.counters().clone(), required });
    Readiness::new(stopper.draining(), audit, config.attached.conditions.clone())
}

fn webhooks(config: &Config, trail: Option<&Arc<Trail>>, metrics: &Arc<Metrics>) -> Webhooks {
    Webhooks {
        judge: Arc::clone(&config.judge),
        trail: trail.cloned(),
        places: Arc::new(Semaphore::new(config.limits.max_concurrent)),
        metrics: Arc::clone(metrics),
    }
}
