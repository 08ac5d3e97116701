//! Where vendors and other services call back about approvals: `POST /approvals/callbacks/{id}`.
//!
//! Anybody may call. The answer is the same whatever came of it, so nobody learns from it whether there is such a
//! request.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::{COOKIE, HeaderMap};
use axum::response::{IntoResponse, Response};

use crate::domain::approvals::{callback_address, callbacks};
use crate::domain::operations::rate_limits::Network;
use crate::domain::{InternalError, Services};
use crate::http::operations::rate_limits;
use crate::http::outage::unavailable;
use assent_plugin_host::Callback;

/// How many headers reach a plugin at most.
const MOST_HEADERS: usize = 64;
/// Bytes of all their names and values at most.
const LARGEST_HEADERS: usize = 16 << 10;

/// `POST /approvals/callbacks/{id}`: 204, or 404 where no channel has this address.
pub(crate) async fn take(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
    from: Network,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let reply = async {
        let Some(channel) = callback_address::called_back(&services, &id)? else {
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
        callbacks::take_callback(
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

/// The headers as the plugin sees them, all but cookies, which are none of its business. `None` if they are too many.
fn plugin_headers(headers: &HeaderMap) -> Option<Vec<(String, String)>> {
    let mut size = 0;
    let mut told = Vec::new();
    for (name, value) in headers.iter().filter(|(name, _)| **name != COOKIE) {
        let Ok(value) = value.to_str() else { continue };
        size += name.as_str().len() + value.len();
        told.push((name.as_str().to_owned(), value.to_owned()));
    }
    (told.len() <= MOST_HEADERS && size <= LARGEST_HEADERS).then_some(told)
}
