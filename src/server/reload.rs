//! Reads the certificate files again and serves what has changed; never instead of a good pair a bad one.

use std::future::pending;
use std::sync::Arc;

use axum_server::tls_rustls::RustlsConfig;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::config::{Source, Tls};
use super::metrics::Metrics;
use super::readiness::Readiness;
use super::tls::{Bytes, Material, TlsError};

/// Keeps what is served in step with the files.
pub(super) struct Reloader {
    tls: Arc<Tls>,
    served: RustlsConfig,
    seen: Seen,
    readiness: Arc<Readiness>,
    metrics: Arc<Metrics>,
}

/// What the last reads brought.
#[derive(Clone, Debug)]
struct Seen {
    /// The files as they are served.
    good: Bytes,
    /// The files as they could not be served, and why: they are not tried, or talked about, again and again.
    bad: Option<(Option<Bytes>, String)>,
}

/// What one read brought.
enum Read {
    Unchanged,
    Good(Bytes, Material),
    Bad(Option<Bytes>, String),
}

impl Reloader {
    /// Reads the files for the first time; here a fault is the caller's to tell.
    pub(super) fn new(tls: Tls, readiness: Arc<Readiness>, metrics: Arc<Metrics>) -> Result<Self, TlsError> {
        metrics.certificate_reads.inc();
        let good = Bytes::read(&tls)?;
        let material = good.check(&tls)?;
        let served = RustlsConfig::from_config(Arc::clone(&material.config));
        let reloader =
            Self { tls: Arc::new(tls), served, seen: Seen { good, bad: None }, readiness, metrics };
        reloader.announce(&material);
        Ok(reloader)
    }

    /// What the acceptor takes each handshake's configuration from.
    pub(super) fn served(&self) -> RustlsConfig {
        self.served.clone()
    }

    /// Never ends.
    pub(super) async fn run(mut self) {
        loop {
            let handed_over = async {
                match &self.tls.source {
                    Source::Held(held) => held.changed().await,
                    Source::Files { .. } => pending().await,
                }
            };
            tokio::select! {
                () = sleep(self.tls.poll) => {}
                () = handed_over => {}
            }
            self.poll().await;
        }
    }

    async fn poll(&mut self) {
        self.metrics.certificate_reads.inc();
        let (tls, seen) = (Arc::clone(&self.tls), self.seen.clone());
        // A volume that hangs stops this task only.
        match spawn_blocking(move || seen.read(&tls)).await {
            Ok(Read::Unchanged) => self.seen.bad = None,
            Ok(Read::Good(bytes, material)) => self.serve(bytes, &material),
            Ok(Read::Bad(bytes, fault)) => self.keep(bytes, fault),
            Err(error) => self.keep(None, error.to_string()),
        }
    }

    fn serve(&mut self, bytes: Bytes, material: &Material) {
        self.served.reload_from_config(Arc::clone(&material.config));
        self.announce(material);
        self.seen = Seen { good: bytes, bad: None };
        if let Some(validity) = material.validity {
            let certificate = self.tls.source.names().0;
            tracing::info!(certificate = %certificate.display(), not_after = validity.not_after, "certificate read anew");
        }
    }

    fn keep(&mut self, bytes: Option<Bytes>, fault: String) {
        self.metrics.certificate_errors.inc();
        if self.seen.bad.as_ref().is_none_or(|(_, known)| *known != fault) {
            tracing::error!(%fault, "changed certificate files can't be served: the last good ones are kept");
        }
        self.seen.bad = Some((bytes, fault));
    }

    fn announce(&self, material: &Material) {
        if let Some(validity) = material.validity {
            self.metrics.certificate_not_after.set(validity.not_after);
            self.readiness.serves(validity);
        }
    }
}

impl Seen {
    fn read(&self, tls: &Tls) -> Read {
        let bytes = match Bytes::read(tls) {
            Ok(bytes) => bytes,
            Err(error) => return Read::Bad(None, error.to_string()),
        };
        if bytes == self.good {
            return Read::Unchanged;
        }
        match &self.bad {
            Some((Some(bad), fault)) if *bad == bytes => Read::Bad(Some(bytes), fault.clone()),
            _ => match bytes.check(tls) {
                Ok(material) => Read::Good(bytes, material),
                Err(error) => Read::Bad(Some(bytes), error.to_string()),
            },
        }
    }
}
