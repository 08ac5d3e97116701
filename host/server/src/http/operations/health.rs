//! Whether the host is alive, and whether it can serve.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;

use crate::domain::Host;

/// `GET /healthz`: the process is alive.
pub(crate) async fn alive() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: the database answers.
pub(crate) async fn ready(State(host): State<Arc<Host>>) -> (StatusCode, &'static str) {
    match host.store.ping().await {
        Ok(()) => (StatusCode::OK, "ready\n"),
        Err(error) => {
            tracing::warn!(%error, "not ready");
            (
                StatusCode::SERVICE_UNAVAILABLE,
                "the database does not answer\n",
            )
        }
    }
}
