//! `GET /metrics` of the listener for metrics, in the text format of OpenMetrics, or in that of Prometheus for a
//! request that prefers `text/plain`. With `metrics.secret_file` a request needs the secret.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::domain::Services;
use crate::domain::operations::telemetry::metric_families::families;
use crate::http::header_text;
use assent_model::secret::Digest;
use assent_telemetry::{open_metrics, prometheus_text};

const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
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
    let families = families(&services).await;
    let (kind, written) = match prefers_text(&headers) {
        true => (PROMETHEUS, prometheus_text(families)),
        false => (OPEN_METRICS, open_metrics(families)),
    };
    match written {
        Ok(text) => (
            [
                (header::CONTENT_TYPE, kind),
                (header::VARY, "accept"),
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

/// Whether `Accept` prefers `text/plain` to OpenMetrics (RFC 9110 section 12.5.1).
fn prefers_text(headers: &HeaderMap) -> bool {
    let ranges: Vec<_> = header_text::elements(headers, &header::ACCEPT).collect();
    let weight = |kind: &str| {
        let weights = ranges.iter().filter_map(|range| {
            let mut parts = range.split(';').map(str::trim);
            if !parts.next()?.eq_ignore_ascii_case(kind) {
                return None;
            }
            let given = parts.find_map(|part| part.strip_prefix("q="));
            Some(given.map_or(1.0, |text| text.parse::<f32>().unwrap_or_default()))
        });
        weights.fold(0.0, f32::max)
    };
    weight("text/plain") > weight("application/openmetrics-text")
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

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn the_format_follows_the_header_accept() {
        for (accept, is_text) in [
            (b"".as_slice(), false),
            (b"*/*", false),
            (b"text/plain", true),
            (b"Text/Plain; version=0.0.4", true),
            (b"application/openmetrics-text; version=1.0.0", false),
            (
                b"application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1",
                false,
            ),
            (b"application/openmetrics-text;q=0.2, text/plain;q=0.7", true),
            (b"text/plain;q=0", false),
            // An octet above 0x7F hides no other element.
            (b"x/K\xf6ln, text/plain", true),
        ] {
            let accept = HeaderValue::from_bytes(accept).unwrap();
            let headers = HeaderMap::from_iter([(header::ACCEPT, accept.clone())]);
            assert_eq!(prefers_text(&headers), is_text, "{accept:?}");
        }
    }
}
