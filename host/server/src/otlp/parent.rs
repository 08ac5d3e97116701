//! The trace of a request, in the headers of W3C Trace Context.

use opentelemetry::Context;
use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::TraceContextExt;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use reqwest::header::HeaderMap;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The span of another server to which a request belongs.
#[derive(Clone, Debug)]
pub struct TraceParent(Context);

struct Headers<'h>(&'h HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        // `tracestate` is ignored, because it is free text.
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
    /// Returns the parent in a valid `traceparent`.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        headers.get("traceparent")?;
        let propagator = TraceContextPropagator::new();
        let context = propagator.extract_with_context(&Context::new(), &Headers(headers));
        let is_valid = context.span().span_context().is_valid();
        is_valid.then_some(Self(context))
    }

    /// Returns whether the other server traces the request.
    pub fn is_sampled(&self) -> bool {
        self.0.span().span_context().is_sampled()
    }

    /// Adds a span to the trace.
    pub fn adopt(self, span: &Span) {
        // This fails only if there is no exporter of spans, or the span has begun.
        if let Err(error) = span.set_parent(self.0) {
            tracing::debug!(%error, "trace not continued");
        }
    }
}

/// Renames an exported span. A field cannot do that once the span has begun.
pub fn rename(span: &Span, name: String) {
    span.context().span().update_name(name);
}

/// Returns the identifier of an exported span's trace.
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
