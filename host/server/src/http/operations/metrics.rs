//! `GET /metrics` of the listener for metrics, in the text format of OpenMetrics. With `metrics.secret_file` a request
//! needs the secret.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::domain::Services;
use crate::domain::operations::metric_families::families;
use assent_model::secret::Digest;
use assent_telemetry::open_metrics;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// `GET /metrics`
pub(crate) async fn show(State(services): State<Arc<Services>>, headers: HeaderMap) -> Response {
    if let Some(expected) = services.metrics_secret
        && !has_secret(&headers, expected)
    {
        let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
        let text = "The secret of metrics.secret_file is required.\n";
        return (StatusCode::UNAUTHORIZED, challenge, text).into_response();
    }
    match open_metrics(families(&services).await) {
        Ok(text) => (
            [
                (header::CONTENT_TYPE, OPEN_METRICS),
                (header::CACHE_CONTROL, "no-store"),
            ],
            text,
        )
            .into_response(),
        Err(error) => {
            tracing::error!(%error, "metrics not written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Whether the request has the secret as a bearer token (RFC 6750 section 2.1).
fn has_secret(headers: &HeaderMap, expected: Digest) -> bool {
    let header = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let shown = header
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    shown.is_some_and(|(_, secret)| Digest::sha256(secret.trim().as_bytes()) == expected)
}
