//! Takes a request's body in: whole, within bounds, in time.

use axum::body::{Body, HttpBody};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout, timeout_at};

use super::answer::Refusal;
use super::limits::{BODY_BYTES, DISCARD_TIME, DISCARDED_BYTES};

/// Memory that a `content-length` alone is believed for.
const BELIEVED_BYTES: usize = 1024 * 1024;

/// That the content type is `application/json`, with or without parameters.
pub(super) fn check_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let found = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = found.split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case("application/json") { Ok(()) } else { Err(Refusal::NotJson) }
}

/// That the body does not say of itself that it is too long.
pub(super) fn check_length(body: &Body) -> Result<(), Refusal> {
    let announced = body.size_hint().lower();
    if announced > BODY_BYTES as u64 { Err(Refusal::LongBody) } else { Ok(()) }
}

/// The whole body, if it is complete by `deadline`.
pub(super) async fn read(body: &mut Body, deadline: Instant) -> Result<Bytes, Refusal> {
    let read = timeout_at(deadline, read_all(body)).await.unwrap_or(Err(Refusal::SlowBody));
    if matches!(read, Err(Refusal::LongBody)) {
        discard(body).await;
    }
    read
}

async fn read_all(body: &mut Body) -> Result<Bytes, Refusal> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let mut read = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Refusal::BrokenBody(error.to_string()))?;
        let Ok(data) = frame.into_data() else { continue };
        if read.len() + data.len() > BODY_BYTES {
            return Err(Refusal::LongBody);
        }
        if read.is_empty() {
            // Most bodies come in one piece: it is used as it is.
            if body.is_end_stream() {
                return Ok(data);
            }
            read.reserve(announced.clamp(data.len(), BELIEVED_BYTES.max(data.len())));
        }
        read.extend_from_slice(&data);
    }
    Ok(read.freeze())
}

/// Takes in what is left of a body that nobody wants, for a while: closing a connection on unread bytes
/// resets it, and the answer with it.
pub(super) async fn discard(body: &mut Body) {
    let rest = async {
        let mut bytes = 0;
        while let Some(Ok(frame)) = body.frame().await {
            bytes += frame.data_ref().map_or(0, Bytes::len);
            if bytes > DISCARDED_BYTES {
                return;
            }
        }
    };
    // What has not come by then is the client's loss.
    let _ = timeout(DISCARD_TIME, rest).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_json(content_type: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, content_type.parse().unwrap());
        check_type(&headers).is_ok()
    }

    #[test]
    fn json_may_have_parameters() {
        for accepted in ["application/json", "application/json; charset=utf-8", "Application/JSON ;v=1"] {
            assert!(is_json(accepted), "{accepted}");
        }
        for refused in ["", "text/plain", "application/jsonp", "application/yaml", "json", "text/json"] {
            assert!(!is_json(refused), "{refused}");
        }
        assert!(check_type(&HeaderMap::new()).is_err());
    }
}
