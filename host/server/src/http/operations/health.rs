//! Whether the host is alive, and whether it can serve.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;

use crate::domain::Host;

/// `GET /healthz`: the process is alive.
pub(crate) async fn alive() -> &'static str {
    "ok\n"
}

/// The largest difference from the database's clock, in milliseconds, of an instance that serves.
const CLOCK_DIFFERENCE: u64 = 5000;

/// `GET /readyz`: the database takes writes, and its clock is this instance's.
pub(crate) async fn ready(State(host): State<Arc<Host>>) -> (StatusCode, &'static str) {
    match host.store.probe(&*host.clock).await {
        Ok(difference) if difference.unsigned_abs() > CLOCK_DIFFERENCE => {
            tracing::warn!(
                difference,
                "not ready: the clock differs from the database's clock"
            );
            (
                StatusCode::SERVICE_UNAVAILABLE,
                "the clock differs from the database's clock\n",
            )
        }
        Ok(_) => (StatusCode::OK, "ready\n"),
        Err(error) => {
            tracing::warn!(%error, "not ready");
            (
                StatusCode::SERVICE_UNAVAILABLE,
                "the database does not answer\n",
            )
        }
    }
}
