//! Runs a server, and ends it without losing a request.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum_server::Handle;
use axum_server::tls_rustls::RustlsAcceptor;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::attached::AttachedTask;
use super::bind::Server;
use super::labels::Handshake;
use super::limits::{ATTACHED_END, AUDIT_WAIT, HEADER_BYTES, Limits};
use super::listener::{Closing, Listener, Peer};
use super::metrics::Metrics;
use super::probes::{self, Probes};
use super::router;
use super::stopper::Stopper;
use super::tasks::{Ended, Tasks};
use super::trail::Trail;

/// Why a server did not end as it should.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A task ended that nobody told to.
    #[error("the task {name:?} ended early: {cause}")]
    Ended {
        /// The task: `https`, `probes`, `certificates`, `audit`, or one that was attached.
        name: &'static str,
        /// Its error, or that it panicked.
        cause: String,
    },
    /// The grace was over before the requests in flight were.
    #[error("{0} connections were cut: their requests took longer than --shutdown-grace")]
    Cut(usize),
}

/// How a server comes to its end, step by step.
struct Drain {
    stopper: Stopper,
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
        let handle = Handle::new();
        let (told, trail) = (self.stopper.draining(), self.trail.clone());
        let drain = Drain {
            stopper: self.stopper.clone(),
            told: told.clone(),
            closing: self.closing.clone(),
            handle: handle.clone(),
            closing_time: self.config.drain_time,
            grace: self.config.shutdown_grace,
            limits: self.config.limits,
        };
        let (mut server, stopper) = (self, drain.stopper.clone());
        let attached = spawn_attached(std::mem::take(&mut server.attached));
        let watched = AbortOnDropHandle::new(tokio::spawn(watch(attached, stopper.clone())));
        let mut tasks = server.spawn(handle);
        let ended = run(&mut tasks, told, drain.run()).await;
        stopper.drain();
        let attached = finish_attached(watched).await;
        finish_audit(&mut tasks, trail.as_deref()).await;
        ended.and(attached)
    }

    fn spawn(self, handle: Handle<Peer>) -> Tasks {
        let (metrics, limits, mut tasks) = (self.metrics, self.config.limits, Tasks::default());
        let app = router::router(self.webhooks, self.stopper.draining());
        let probes = probes::router(Probes { readiness: self.readiness, metrics: Arc::clone(&metrics) });
        let acceptor = RustlsAcceptor::new(self.reloader.served()).handshake_timeout(limits.handshake);
        tasks.spawn("https", serve_https(self.https, acceptor, app, handle, limits, metrics));
        tasks.spawn("probes", serve_probes(self.probes, probes, limits));
        let reloader = self.reloader;
        tasks.spawn("certificates", async {
            reloader.run().await;
            Ok(())
        });
        if let Some(end) = self.trail_end {
            tasks.spawn("audit", end_of(end));
        }
        tasks
    }
}

/// Until `https` has ended after it was `told` to, or any task before that. `drain` ends when the grace is over,
/// and says how many connections were cut then.
async fn run(
    tasks: &mut Tasks,
    told: CancellationToken,
    drain: impl Future<Output = usize>,
) -> Result<(), RunError> {
    let mut drain = pin!(drain);
    let mut cut = None;
    loop {
        tokio::select! {
            connections = &mut drain, if cut.is_none() => cut = Some(connections),
            Some(Ended { name, result }) = tasks.next() => return match result {
                Ok(()) if name == "https" && told.is_cancelled() => match cut {
                    Some(connections) if connections > 0 => Err(RunError::Cut(connections)),
                    _ => Ok(()),
                },
                Ok(()) => Err(RunError::Ended { name, cause: "without an error".to_owned() }),
                Err(cause) => Err(RunError::Ended { name, cause }),
            },
            else => return Ok(()),
        }
    }
}

impl Drain {
    async fn run(self) -> usize {
        self.told.cancelled().await;
        tracing::info!(
            seconds = self.closing_time.as_secs_f64(),
            "told to end: not ready, answers close their connections"
        );
        sleep(self.closing_time).await;
        tracing::info!("accepting ends");
        self.stop_accepting().await;
        self.handle.graceful_shutdown(None);
        sleep(self.grace).await;
        let cut = self.handle.connection_count();
        self.handle.shutdown();
        cut
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

fn spawn_attached(attached: Vec<AttachedTask>) -> Tasks {
    let mut tasks = Tasks::default();
    for AttachedTask { name, task } in attached {
        tasks.spawn(name, task);
    }
    tasks
}

/// Until all have ended. The first that ends before it was told to has the server drain: reviews in flight are not
/// its fault.
async fn watch(mut attached: Tasks, stopper: Stopper) -> Result<(), RunError> {
    let (mut early, told) = (Ok(()), stopper.draining());
    while let Some(Ended { name, result }) = attached.next().await {
        let cause = match result {
            Ok(()) if told.is_cancelled() => continue,
            Ok(()) => "without an error".to_owned(),
            Err(cause) => cause,
        };
        tracing::error!(task = name, %cause, "a task ended early: the server drains and ends");
        early = early.and(Err(RunError::Ended { name, cause }));
        stopper.drain();
    }
    early
}

/// They were told long ago; what hasn't ended now doesn't end.
async fn finish_attached(watched: AbortOnDropHandle<Result<(), RunError>>) -> Result<(), RunError> {
    match timeout(ATTACHED_END, watched).await {
        Ok(Ok(ended)) => ended,
        Ok(Err(error)) => Err(RunError::Ended { name: "attached", cause: error.to_string() }),
        Err(_) => {
            tracing::warn!("tasks beside the server did not end in time: they are cut");
            Ok(())
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
    // Who asks less often than that connects anew: a held connection is one that the kubelet can't have.
    let limits = Limits { idle: limits.first_request, ..limits };
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

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    async fn ended(name: &'static str, told: bool, task: fn() -> io::Result<()>) -> Result<(), RunError> {
        let (mut tasks, token) = (Tasks::default(), CancellationToken::new());
        tasks.spawn("endless", pending());
        tasks.spawn(name, async move { task() });
        if told {
            token.cancel();
        }
        run(&mut tasks, token, pending()).await
    }

    #[tokio::test]
    async fn the_early_end_of_any_task_is_an_error_with_its_name() {
        for name in ["https", "probes", "certificates", "audit"] {
            let error = ended(name, false, || Ok(())).await.unwrap_err();
            assert_eq!(error.to_string(), format!("the task {name:?} ended early: without an error"));
        }
        let error = ended("audit", true, || panic!("a defect")).await.unwrap_err();
        assert!(
            matches!(&error, RunError::Ended { name: "audit", cause } if cause.contains("panic")),
            "{error}"
        );
        assert!(ended("https", true, || Err(io::ErrorKind::Other.into())).await.is_err());
    }

    #[tokio::test]
    async fn an_attached_task_that_ends_early_drains_the_server() {
        let (mut tasks, stopper) = (Tasks::default(), Stopper::default());
        let told = stopper.draining();
        tasks.spawn("lease", async { Err(io::Error::other("lost")) });
        tasks.spawn("watch", async move {
            told.cancelled().await;
            Ok(())
        });
        let watched = timeout(Duration::from_secs(10), watch(tasks, stopper.clone())).await;
        let error = watched.expect("the others are told to end").unwrap_err();
        assert_eq!(error.to_string(), "the task \"lease\" ended early: lost");
        assert!(stopper.draining().is_cancelled());
    }

    #[tokio::test]
    async fn https_may_end_once_the_server_is_told_to() {
        assert_eq!(ended("https", true, || Ok(())).await, Ok(()));
    }
}
