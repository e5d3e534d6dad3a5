//! Every answer of the webhook port: a review, or a short text that says what to do.

use axum::body::Body;
use axum::http::header::{ALLOW, CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::admission::NoReview;

use super::limits::BODY_BYTES;

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// Why a request gets no review. One variant a status, or a text.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error(transparent)]
    NoReview(#[from] NoReview),
    #[error("the body ended early: {0}")]
    BrokenBody(String),
    #[error("no such path: post an AdmissionReview to /validate or /mutate")]
    NoSuchPath,
    #[error("only POST is answered here: post an AdmissionReview as JSON")]
    NotPost,
    #[error(
        "the body was not complete within the time for this request: send it at once, or with a longer ?timeout="
    )]
    SlowBody,
    #[error(
        "the body is longer than {BODY_BYTES} bytes, more than two objects and an envelope: no API server sends that"
    )]
    LongBody,
    #[error("the content type is not application/json: send the AdmissionReview as JSON, with that header")]
    NotJson,
    #[error("the review could not be judged because of a defect in etcd-warden: see its log, and report it")]
    Panicked,
    #[error("too many reviews at once: try again in a second, or raise --max-concurrent")]
    Overloaded,
}

impl Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::NoReview(_) | Self::BrokenBody(_) => StatusCode::BAD_REQUEST,
            Self::NoSuchPath => StatusCode::NOT_FOUND,
            Self::NotPost => StatusCode::METHOD_NOT_ALLOWED,
            Self::SlowBody => StatusCode::REQUEST_TIMEOUT,
            Self::LongBody => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Panicked => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = text(self.status(), format!("{self}\n"));
        let headers = response.headers_mut();
        match self {
            Self::NotPost => drop(headers.insert(ALLOW, HeaderValue::from_static("POST"))),
            Self::Overloaded => drop(headers.insert(RETRY_AFTER, HeaderValue::from_static("1"))),
            Self::SlowBody => close(&mut response),
            _ => {}
        }
        response
    }
}

/// An AdmissionReview.
pub(super) fn review(body: Vec<u8>) -> Response {
    with_type(StatusCode::OK, body.into(), JSON)
}

/// A text.
pub(super) fn text(status: StatusCode, text: String) -> Response {
    with_type(status, text.into(), TEXT)
}

/// Has the connection closed after this answer.
pub(super) fn close(response: &mut Response) {
    response.headers_mut().insert(CONNECTION, CLOSE);
}

pub(super) fn with_type(status: StatusCode, body: Body, content_type: HeaderValue) -> Response {
    let mut response = (status, body).into_response();
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}
