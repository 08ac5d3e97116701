//! Responses during an outage of the database: 503 with `Retry-After`, in the form in which the caller expects errors.

use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

/// The time after which the caller may repeat the request, in seconds. A failover of the database usually takes longer,
/// but a lost connection does not.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("2");

/// Turns an error of any form into one that the caller may retry: 503 with `Retry-After`.
pub(super) fn unavailable(mut response: Response) -> Response {
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response
        .headers_mut()
        .insert(RETRY_AFTER, RETRY_AFTER_SECONDS);
    response
}
