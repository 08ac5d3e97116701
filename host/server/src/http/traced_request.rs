//! The span of a request that is traced.

use std::sync::Arc;

use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use axum::response::Response;
use tracing::Span;
use tracing::field::Empty;

use super::forwarded::is_from_trusted_proxy;
use super::request_id::RequestId;
use crate::domain::Services;
use crate::otlp::{TraceParent, rename, trace_id};
use assent_telemetry::{ROOT_SPANS, field};

/// Begins the spans of traced requests.
#[derive(Clone, Default)]
pub(super) struct RequestTracing(Option<Arc<Services>>);

impl RequestTracing {
    pub(super) fn new(services: &Arc<Services>) -> Self {
        let is_on = services.span_sampler.is_on();
        Self(is_on.then(|| Arc::clone(services)))
    }

    /// Begins the span of this request, which is disabled if the request is not traced. `line_span`, the span of the
    /// log lines, gets the trace's id.
    pub(super) fn begin(&self, request: &Request, id: &RequestId, line_span: &Span) -> Span {
        let Some(services) = &self.0 else {
            return Span::none();
        };
        let proxies = &services.settings.http.trusted_proxies;
        let parent = is_from_trusted_proxy(request, proxies)
            .then(|| TraceParent::of(request.headers()))
            .flatten();
        let is_sampled = parent.as_ref().map(TraceParent::is_sampled);
        if !services.span_sampler.decide(is_sampled) {
            return Span::none();
        }
        let span = tracing::info_span!(
            target: ROOT_SPANS,
            "request",
            otel.kind = "server",
            otel.status_code = Empty,
            http.request.method = method(request.method()),
            http.route = Empty,
            http.response.status_code = Empty,
            request_id = id.as_str(),
        );
        if let Some(parent) = parent {
            parent.adopt(&span);
        }
        if let Some(trace) = trace_id(&span) {
            line_span.record("trace_id", trace);
        }
        span
    }
}

/// Returns the method, if the server knows it: a client may send any word.
fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "_OTHER",
    }
}

/// Names the current span after the route. A trace never contains the path itself, because it may contain ids and
/// names.
pub(super) fn record_route(request: &Request) {
    let span = Span::current();
    // The current span of a request without a trace is that of the log.
    if span.field("http.route").is_none() {
        return;
    }
    if let Some(route) = request.extensions().get::<MatchedPath>() {
        let name = format!("{} {}", method(request.method()), route.as_str());
        span.record("http.route", route.as_str());
        rename(&span, name);
    }
}

/// Records the response to a request.
pub(super) fn end(span: &Span, response: &Response) {
    if span.is_disabled() {
        return;
    }
    let status = response.status();
    span.record("http.response.status_code", field(status.as_u16()));
    if status.is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
}
