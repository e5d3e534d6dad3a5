//! The plain port: whether the process lives, whether it is ready, what it has counted.

use std::sync::Arc;
use std::time::SystemTime;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::answer::{text, with_type};
use super::metrics::Metrics;
use super::readiness::Readiness;

const OPEN_METRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

/// What the plain port shows.
#[derive(Clone)]
pub(super) struct Probes {
    pub(super) readiness: Arc<Readiness>,
    pub(super) metrics: Arc<Metrics>,
}

pub(super) fn router(probes: Probes) -> Router {
    Router::new()
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .method_not_allowed_fallback(not_get)
        .fallback(no_such_path)
        .with_state(probes)
}

// Nothing else is asked: whoever restarts a server because its disk is full has one server less.
async fn livez() -> Response {
    text(StatusCode::OK, "alive\n".to_owned())
}

async fn readyz(State(probes): State<Probes>, RawQuery(query): RawQuery) -> Response {
    let report = probes.readiness.report(SystemTime::now());
    let status = if report.is_ready() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let mut pairs = url::form_urlencoded::parse(query.as_deref().unwrap_or_default().as_bytes());
    text(status, report.text(pairs.any(|(key, _)| key == "verbose")))
}

async fn metrics(State(probes): State<Probes>) -> Response {
    let ready = probes.readiness.report(SystemTime::now()).is_ready();
    match probes.metrics.render(ready) {
        Ok(rendered) => with_type(StatusCode::OK, rendered.into(), OPEN_METRICS),
        Err(error) => {
            text(StatusCode::INTERNAL_SERVER_ERROR, format!("metrics can't be rendered: {error}\n"))
        }
    }
}

async fn not_get() -> Response {
    let allow = [("allow", "GET, HEAD")];
    (allow, text(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered here\n".to_owned())).into_response()
}

async fn no_such_path() -> Response {
    let paths = "no such path: ask for /livez, /readyz, /readyz?verbose or /metrics\n";
    text(StatusCode::NOT_FOUND, paths.to_owned())
}
