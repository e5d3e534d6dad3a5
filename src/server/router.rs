//! The webhook port: which path leads where, and what every answer gets on its way out.

use std::sync::Arc;

use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::post;
use tokio_util::sync::CancellationToken;

use crate::audit::Stage;

use super::answer::{Refusal, close};
use super::handler::Webhooks;
use super::listener::Peer;

/// `draining`: from when on every answer closes its connection.
pub(super) fn router(webhooks: Arc<Webhooks>, draining: CancellationToken) -> Router {
    Router::new()
        .route("/validate", post(validate))
        .route("/mutate", post(mutate))
        .method_not_allowed_fallback(async || Refusal::NotPost)
        .fallback(async || Refusal::NoSuchPath)
        .with_state(webhooks)
        .layer(from_fn_with_state(draining, finish))
}

async fn validate(State(webhooks): State<Arc<Webhooks>>, request: Request) -> Response {
    webhooks.answer(Stage::Validate, request).await
}

async fn mutate(State(webhooks): State<Arc<Webhooks>>, request: Request) -> Response {
    webhooks.answer(Stage::Mutate, request).await
}

async fn finish(
    State(draining): State<CancellationToken>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = next.run(request).await;
    if draining.is_cancelled() {
        close(&mut response);
    }
    peer.has_been_answered();
    response
}
