//! One call of a webhook, from its first header to its answer.

use std::sync::Arc;

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::audit::Stage;

use super::answer::{self, Refusal};
use super::body;
use super::deadline::time_for;
use super::decide::{Call, Decided, Judge};
use super::log;
use super::metrics::Metrics;
use super::trail::Trail;

/// What both webhooks work with.
pub(super) struct Webhooks {
    pub(super) judge: Arc<dyn Judge>,
    pub(super) trail: Option<Arc<Trail>>,
    /// A place for each review that is handled at once.
    pub(super) places: Arc<Semaphore>,
    pub(super) metrics: Arc<Metrics>,
}

impl Webhooks {
    /// Answers a call of the webhook `stage`.
    pub(super) async fn answer(&self, stage: Stage, request: Request) -> Response {
        let started = Instant::now();
        let _in_flight = self.metrics.in_flight(stage);
        let answered = self.handle(stage, request, started).await;
        if let Err(refusal) = &answered {
            self.metrics.refused(refusal);
        }
        let response = answered.unwrap_or_else(IntoResponse::into_response);
        self.metrics.answered(stage, response.status(), started.elapsed());
        response
    }

    async fn handle(&self, stage: Stage, request: Request, started: Instant) -> Result<Response, Refusal> {
        let limit = time_for(request.uri().query());
        let (head, mut body) = request.into_parts();
        body::check_length(&body)?;
        let place = match body::check_type(&head.headers).and_then(|()| self.place()) {
            Ok(place) => place,
            Err(refusal) => {
                body::discard(&mut body).await;
                return Err(refusal);
            }
        };
        let body = body::read(&mut body, started + limit).await?;
        self.metrics.body_bytes(body.len());
        self.judge(&Call { stage, body, started, limit, place: Arc::new(place) }).await
    }

    fn place(&self) -> Result<tokio::sync::OwnedSemaphorePermit, Refusal> {
        Arc::clone(&self.places).try_acquire_owned().map_err(|_| Refusal::Overloaded)
    }

    async fn judge(&self, call: &Call) -> Result<Response, Refusal> {
        let Decided { mut outcome, late } = call.decide(&self.judge).await?;
        self.metrics.decided(&outcome.facts, late);
        if let Some(trail) = &self.trail {
            trail.write(call, &mut outcome).await;
        }
        log::decision(&outcome.facts, call.started.elapsed());
        Ok(answer::review(outcome.body))
    }
}
