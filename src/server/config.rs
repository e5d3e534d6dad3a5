//! What a server runs with, checked by whoever made it.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::audit;

use super::{Attached, Held, Judge, Limits};

/// Everything a server needs to know.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where HTTPS is spoken: `/validate` and `/mutate`.
    pub listen: SocketAddr,
    /// Where plain HTTP is spoken: `/livez`, `/readyz` and `/metrics`.
    pub probes_listen: SocketAddr,
    /// Certificates.
    pub tls: Tls,
    /// The audit log; none with `--audit off`.
    pub audit: Option<Audit>,
    /// Bounds.
    pub limits: Limits,
    /// How long answers close their connections before accepting stops.
    pub drain_time: Duration,
    /// How long requests in flight may take after that.
    pub shutdown_grace: Duration,
    /// What decides.
    pub judge: Arc<dyn Judge>,
    /// What is shown beside the server's own.
    pub attached: Attached,
}

/// What is served, and to whom.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The certificate and its key.
    pub source: Source,
    /// Who may connect; everybody where it is absent.
    pub clients: Option<Clients>,
    /// The oldest protocol spoken.
    pub minimum: TlsVersion,
    /// How often files are read again: [`Tls::POLL`], less in tests.
    pub poll: Duration,
}

/// Where the certificate and its key come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// From files that may change.
    Files {
        /// The certificate chain in PEM, leaf first.
        certificate: PathBuf,
        /// Its key in PEM.
        key: PathBuf,
    },
    /// From this process; until there is one, handshakes fail and the server isn't ready.
    Held(Held),
}

impl Source {
    /// What an error calls the certificate and the key.
    pub(super) fn names(&self) -> (PathBuf, PathBuf) {
        match self {
            Self::Files { certificate, key } => (certificate.clone(), key.clone()),
            Self::Held(_) => ("the server's own certificate".into(), "its key".into()),
        }
    }
}

impl Tls {
    /// Soon enough for a Secret that the kubelet takes a minute to bring, and next to no work.
    pub const POLL: Duration = Duration::from_secs(2);
}

/// Who may connect.
#[derive(Clone, Debug)]
pub struct Clients {
    /// The CA certificates in PEM by which client certificates must be signed.
    pub ca: PathBuf,
    /// Names of which a client certificate must bear one; any name where this is empty.
    pub names: Vec<String>,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsVersion {
    /// 1.2, spoken together with 1.3.
    V1_2,
    /// 1.3.
    V1_3,
}

/// Where decisions are written down. Which of them is up to the judge: those that come with a record.
#[derive(Clone, Debug)]
pub struct Audit {
    /// Where.
    pub target: audit::Target,
    /// Whether the server is not ready while records fail.
    pub required: bool,
}

impl fmt::Debug for dyn Judge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Judge")
    }
}
