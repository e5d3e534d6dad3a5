//! Readiness and liveness, plain HTTP: ready is a voter that answers a linearizable read, and alive is the agent. An
//! alarm or a long snapshot must never lead to restarts.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::local::Local;

/// Answers probes for as long as the process lasts, from when the port is known: it stands in the configuration.
pub async fn serve(address: IpAddr, port: oneshot::Receiver<u16>, local: Arc<Local>) -> io::Result<()> {
    // Nobody will say it any more where the agent ends before.
    let Ok(port) = port.await else { return std::future::pending().await };
    let listener = bind(SocketAddr::new(address, port)).await?;
    let router = Router::new().route("/livez", get(alive)).route("/readyz", get(ready)).with_state(local);
    axum::serve(listener, router).await
}

async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("can't listen on {address}: {error}"));
    TcpListener::bind(address).await.map_err(named)
}

async fn alive() -> &'static str {
    "ok\n"
}

async fn ready(State(local): State<Arc<Local>>) -> (StatusCode, String) {
    match local.serves().await {
        Ok(()) => (StatusCode::OK, "ok\n".to_owned()),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")),
    }
}
