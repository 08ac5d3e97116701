//! Callbacks of vendors and other services about approvals: `POST /approvals/callbacks/{id}`.
//!
//! No authentication is required. The response is the same for each result, so that it does not reveal whether a
//! request exists.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::{COOKIE, HeaderMap};
use axum::response::{IntoResponse, Response};

use crate::domain::approvals::{callback, channel};
use crate::domain::operations::traffic::rate_limits::keys::Network;
use crate::domain::{InternalError, Services};
use crate::http::header_text;
use crate::http::operations::rate_limits;
use crate::http::reply::unavailable;
use assent_plugin_host::Callback;

/// The maximum number of headers that a plugin receives.
const MOST_HEADERS: usize = 64;
/// The maximum size of their names and values together, in bytes.
const LARGEST_HEADERS: usize = 16 << 10;

/// `POST /approvals/callbacks/{id}`: 204, or 404 if no channel has this address.
pub(crate) async fn take(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
    from: Network,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let reply = async {
        let Some(channel) = channel::called_back(&services, &id)? else {
            return Ok(StatusCode::NOT_FOUND.into_response());
        };
        if let Err(exhausted) = services
            .rate_limits
            .callbacks_per_ip
            .count_call(&(channel.name.clone(), from), services.now())
        {
            return Ok(rate_limits::too_many_callbacks(exhausted));
        }
        let Some(headers) = plugin_headers(&headers) else {
            return Ok(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE.into_response());
        };
        callback::take_callback(
            &services,
            &channel,
            Callback {
                headers,
                body: body.to_vec(),
            },
        )
        .await?;
        Ok(StatusCode::NO_CONTENT.into_response())
    };
    reply.await.unwrap_or_else(|error: InternalError| {
        tracing::error!(%error, "callback failed");
        unavailable(StatusCode::SERVICE_UNAVAILABLE.into_response())
    })
}

/// Returns the headers for the plugin, without cookies, which it must not see. Returns `None` if there are too many.
fn plugin_headers(headers: &HeaderMap) -> Option<Vec<(String, String)>> {
    let mut size = 0;
    let mut copied = Vec::new();
    for (name, value) in headers.iter().filter(|(name, _)| **name != COOKIE) {
        let value = header_text::text(value).into_owned();
        size += name.as_str().len() + value.len();
        copied.push((name.as_str().to_owned(), value));
    }
    (copied.len() <= MOST_HEADERS && size <= LARGEST_HEADERS).then_some(copied)
}
