//! The trace that a request belongs to, in the headers of W3C Trace Context.

use opentelemetry::Context;
use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::TraceContextExt;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use reqwest::header::HeaderMap;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// A span of another server, of which a request is a part.
#[derive(Clone, Debug)]
pub struct TraceParent(Context);

struct Headers<'h>(&'h HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        // `tracestate` is free text.
        if key != "traceparent" {
            return None;
        }
        self.0.get(key).and_then(|value| value.to_str().ok())
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(|name| name.as_str()).collect()
    }
}

impl TraceParent {
    /// The parent in a valid `traceparent`.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        headers.get("traceparent")?;
        let propagator = TraceContextPropagator::new();
        let context = propagator.extract_with_context(&Context::new(), &Headers(headers));
        let is_valid = context.span().span_context().is_valid();
        is_valid.then_some(Self(context))
    }

    /// Whether the other server traces the request.
    pub fn is_sampled(&self) -> bool {
        self.0.span().span_context().is_sampled()
    }

    /// Makes a span a part of the trace.
    pub fn adopt(self, span: &Span) {
        // It fails only if nothing exports spans, or the span has begun.
        if let Err(error) = span.set_parent(self.0) {
            tracing::debug!(%error, "trace not continued");
        }
    }
}

/// Gives an exported span another name, which its fields cannot do once it has begun.
pub fn rename(span: &Span, name: String) {
    span.context().span().update_name(name);
}

/// The id of the trace of an exported span.
pub fn trace_id(span: &Span) -> Option<String> {
    let context = span.context();
    let span = context.span();
    let context = span.span_context();
    context.is_valid().then(|| context.trace_id().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_valid_header_names_a_parent() {
        let parent = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("traceparent", value.parse().unwrap());
            TraceParent::of(&headers).map(|parent| parent.is_sampled())
        };
        let valid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(parent(valid), Some(true));
        assert_eq!(
            parent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"),
            Some(false)
        );
        for invalid in [
            "",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "garbage",
        ] {
            assert_eq!(parent(invalid), None, "{invalid}");
        }
        assert!(TraceParent::of(&HeaderMap::new()).is_none());
    }
}
