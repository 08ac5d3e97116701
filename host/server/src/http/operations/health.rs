//! Whether the host is alive, and whether it can serve.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::domain::Host;
use crate::http::outage::unavailable;

/// `GET /healthz`: the process is alive.
pub(crate) async fn alive() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: the database answers, and the instance is not about to stop.
pub(crate) async fn ready(State(host): State<Arc<Host>>) -> Response {
    if host.draining.is_begun() {
        return unavailable("draining\n".into_response());
    }
    match host.store.ping().await {
        Ok(()) => (StatusCode::OK, "ready\n").into_response(),
        Err(error) => {
            tracing::warn!(%error, "not ready");
            unavailable("the database does not answer\n".into_response())
        }
    }
}
