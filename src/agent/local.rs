//! This pod's own etcd, asked over loopback with the certificate that others see.

use std::sync::{Mutex, PoisonError};

use crate::member::{Config, Scheme, TlsFiles};

use super::client::Endpoint;
use super::fault::Fault;
use super::pb::etcdserverpb::StatusResponse;
use super::tls::Mounted;

/// How the own etcd is asked, while it runs.
#[derive(Debug)]
pub struct Local {
    mounted: Mounted,
    address: String,
    running: Mutex<Option<(Scheme, u16, String)>>,
}

impl Local {
    /// One that doesn't run; `address` is where it will listen, as it stands in a URL.
    pub fn new(mounted: Mounted, address: String) -> Self {
        Self { mounted, address, running: Mutex::default() }
    }

    /// It runs, by this configuration; or no more.
    pub fn runs(&self, by: Option<(&Config, u32)>) {
        let running = by.map(|(config, ordinal)| {
            (config.endpoints.client_scheme, config.endpoints.client_port, config.host(ordinal))
        });
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = running;
    }

    /// A client of it. Made anew each time: a changed certificate counts at once, and a member that was restarted is
    /// not asked over a dead connection.
    pub fn endpoint(&self) -> Option<Result<Endpoint, Fault>> {
        let (scheme, port, host) = self.running.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let url = format!("{}://{}:{port}", scheme.name(), self.address);
        if scheme == Scheme::Http {
            return Some(Endpoint::new(&url, None, None));
        }
        let files = self.mounted.read(&TlsFiles::CLIENT).map_err(|error| Fault::of_setup(&url, &error));
        Some(files.and_then(|files| Endpoint::new(&url, Some(&files), Some(&host))))
    }

    /// What it says of itself.
    pub async fn status(&self) -> Option<Result<StatusResponse, Fault>> {
        match self.endpoint()? {
            Ok(endpoint) => Some(endpoint.status().await),
            Err(fault) => Some(Err(fault)),
        }
    }

    /// Whether it is a voter that answers a linearizable read, or why not.
    pub async fn serves(&self) -> Result<(), String> {
        let endpoint = self.endpoint().ok_or("etcd does not run")?.map_err(|fault| fault.to_string())?;
        let status = endpoint.status().await.map_err(|fault| fault.to_string())?;
        if status.is_learner {
            return Err("a learner".to_owned());
        }
        endpoint.read().await.map_err(|fault| fault.to_string())
    }
}
