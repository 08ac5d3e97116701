//! Answers during an outage of the database: 503 with `Retry-After`, in whatever form the caller expects errors.

use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

/// Seconds after which the request may be repeated. A fail-over of the database usually takes longer, but a lost
/// connection does not.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("2");

/// Makes an error of any form one that the caller may repeat: 503 with `Retry-After`.
pub(super) fn unavailable(mut response: Response) -> Response {
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response
        .headers_mut()
        .insert(RETRY_AFTER, RETRY_AFTER_SECONDS);
    response
}
