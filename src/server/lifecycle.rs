//! Runs a server, and ends it without losing a request.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum_server::Handle;
use axum_server::tls_rustls::RustlsAcceptor;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::bind::Server;
use super::limits::{AUDIT_WAIT, HEADER_BYTES, Limits};
use super::listener::{Closing, Listener, Peer};
use super::metrics::{Handshake, Metrics};
use super::probes::{self, Probes};
use super::router;
use super::tasks::Tasks;
use super::trail::Trail;

/// Tells a server to end: it drains, then [`Server::run`] returns. To end it at once, drop what runs.
#[derive(Clone, Debug, Default)]
pub struct Stopper(CancellationToken);

impl Stopper {
    /// From here on the server is not ready, and on its way out.
    pub fn drain(&self) {
        self.0.cancel();
    }

    pub(super) fn draining(&self) -> CancellationToken {
        self.0.clone()
    }
}

/// Why a server ended that was not told to.
#[derive(Debug, thiserror::Error)]
#[error("the task {name:?} ended early: {cause}")]
pub struct RunError {
    /// The task: `https`, `probes`, `certificates` or `audit`.
    pub name: &'static str,
    /// Its error, or that it panicked.
    pub cause: String,
}

/// How a server comes to its end, step by step.
struct Drain {
    told: CancellationToken,
    closing: Closing,
    handle: Handle<Peer>,
    closing_time: Duration,
    grace: Duration,
    limits: Limits,
}

impl Server {
    /// Answers until it is told to end and has drained, or until one of its tasks ends early.
    pub async fn run(self) -> Result<(), RunError> {
        let Self {
            config,
            https,
            probes,
            closing,
            stopper,
            reloader,
            readiness,
            metrics,
            trail,
            trail_end,
            webhooks,
            ..
        } = self;
        let handle = Handle::new();
        let mut tasks = Tasks::default();
        let app = router::router(webhooks, stopper.draining());
        let acceptor = RustlsAcceptor::new(reloader.served()).handshake_timeout(config.limits.handshake);
        tasks.spawn(
            "https",
            serve_https(https, acceptor, app, handle.clone(), config.limits, Arc::clone(&metrics)),
        );
        tasks.spawn(
            "probes",
            serve_probes(probes, probes::router(Probes { readiness, metrics }), config.limits),
        );
        tasks.spawn("certificates", async {
            reloader.run().await;
            Ok(())
        });
        if let Some(end) = trail_end {
            tasks.spawn("audit", end_of(end));
        }
        let drain = Drain {
            told: stopper.draining(),
            closing,
            handle,
            closing_time: config.drain_time,
            grace: config.shutdown_grace,
            limits: config.limits,
        };
        run(&mut tasks, drain).await?;
        finish_audit(&mut tasks, trail.as_deref()).await;
        Ok(())
    }
}

async fn run(tasks: &mut Tasks, drain: Drain) -> Result<(), RunError> {
    let told = drain.told.clone();
    let mut draining = std::pin::pin!(drain.run());
    let mut shutting_down = false;
    loop {
        tokio::select! {
            () = &mut draining, if !shutting_down => shutting_down = true,
            ended = tasks.next() => return match ended {
                Some(ended) if ended.name == "https" && told.is_cancelled() && ended.result.is_ok() => Ok(()),
                Some(ended) => Err(RunError { name: ended.name, cause: ended.result.err().unwrap_or_else(|| "without an error".to_owned()) }),
                None => Ok(()),
            },
        }
    }
}

impl Drain {
    async fn run(self) {
        self.told.cancelled().await;
        tracing::info!(
            seconds = self.closing_time.as_secs_f64(),
            "told to end: not ready, answers close their connections"
        );
        sleep(self.closing_time).await;
        tracing::info!("accepting ends");
        self.stop_accepting().await;
        self.handle.graceful_shutdown(Some(self.grace));
    }

    /// axum-server's graceful shutdown drops connections in their handshake, and closes fresh ones before
    /// their first request: it has to wait for them.
    async fn stop_accepting(&self) {
        self.closing.stop.cancel();
        let first_requests = async {
            self.closing.closed.cancelled().await;
            self.closing.fresh.close();
            self.closing.fresh.wait().await;
        };
        let bound = self.limits.handshake + self.limits.first_request;
        if timeout(bound, first_requests).await.is_err() {
            tracing::warn!(
                connections = self.closing.fresh.len(),
                "connections ended before their first request"
            );
        }
    }
}

async fn serve_https(
    listener: Listener,
    acceptor: RustlsAcceptor,
    app: Router,
    handle: Handle<Peer>,
    limits: Limits,
    metrics: Arc<Metrics>,
) -> io::Result<()> {
    let server = server(listener, limits).handle(handle).acceptor(acceptor);
    let server = server.accept_error_handler(move |peer, error| {
        if peer.is_some() {
            metrics.handshake_failed(kind(error));
        } else {
            tracing::warn!(%error, "a connection can't be accepted");
        }
    });
    server.serve(app.into_make_service_with_connect_info::<Peer>()).await
}

async fn serve_probes(listener: Listener, app: Router, limits: Limits) -> io::Result<()> {
    server(listener, limits).serve(app.into_make_service_with_connect_info::<Peer>()).await
}

fn server(listener: Listener, limits: Limits) -> axum_server::Server<Peer> {
    let mut server = axum_server::Server::<Peer>::from_listener(listener)
        .first_request_timeout(limits.first_request)
        .http1_only();
    server.http_builder().http1().header_read_timeout(limits.idle).max_buf_size(HEADER_BYTES);
    server
}

fn kind(error: &io::Error) -> Handshake {
    match error.kind() {
        io::ErrorKind::TimedOut => Handshake::timeout,
        io::ErrorKind::InvalidData => Handshake::tls,
        _ => Handshake::io,
    }
}

async fn end_of(thread: oneshot::Receiver<()>) -> io::Result<()> {
    // The sender is dropped when the thread ends, however that comes.
    let _ = thread.await;
    Ok(())
}

/// What the disk has not taken in this time is given up: the answers have left long ago.
async fn finish_audit(tasks: &mut Tasks, trail: Option<&Trail>) {
    let Some(trail) = trail else { return };
    trail.close();
    let written = async { while tasks.next().await.is_some_and(|ended| ended.name != "audit") {} };
    if timeout(AUDIT_WAIT, written).await.is_err() {
        tracing::error!("the audit log did not take its last records in time");
    }
}
