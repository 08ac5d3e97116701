//! Whether the instance is alive, and whether it can serve.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::domain::Services;
use crate::http::reply::unavailable;
use assent_store::StoreError;

/// The maximum difference from the database's clock with which an instance serves, in milliseconds.
const CLOCK_DIFFERENCE: u64 = 5000;

/// `GET /healthz`: the process is alive.
pub(crate) async fn alive() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: the database accepts writes, the instance's clock agrees with it, and the instance is not draining.
pub(crate) async fn ready(State(services): State<Arc<Services>>) -> Response {
    if services.draining.is_begun() {
        return unavailable("draining\n".into_response());
    }
    match services.store.probe(&*services.clock).await {
        Ok(difference) if difference.unsigned_abs() > CLOCK_DIFFERENCE => {
            tracing::warn!(
                difference,
                "readiness check failed: the clock differs from the database's clock"
            );
            unavailable("the clock differs from the database's clock\n".into_response())
        }
        Ok(_) => (StatusCode::OK, "ready\n").into_response(),
        Err(error @ StoreError::Contracted) => {
            tracing::error!(%error, "readiness check failed");
            unavailable("a newer release contracted the schema\n".into_response())
        }
        Err(error) => {
            tracing::warn!(%error, "readiness check failed");
            unavailable("the database does not answer\n".into_response())
        }
    }
}
