//! The export of spans.

use std::sync::Arc;
use std::time::Duration;

use assent_telemetry::{ROOT_SPANS, SPANS};
use opentelemetry::trace::TracerProvider;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use tokio::runtime::Handle;
use tracing::subscriber::Interest;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, Filter};
use tracing_subscriber::registry::LookupSpan;

use super::collector::{Collector, scope};

/// The path of spans below the collector's base URL.
const PATH: &str = "/v1/traces";
/// The timeout of the last export when the server stops.
const LAST: Duration = Duration::from_secs(5);

/// The exporter of spans, in batches and in its own thread.
#[derive(Clone, Debug)]
pub struct TraceExport(SdkTracerProvider);

impl TraceExport {
    /// Starts the export to this collector. Call it within the runtime that sends the requests.
    pub fn start(collector: Arc<Collector>) -> Self {
        let exporter = Exporter {
            collector,
            runtime: Handle::current(),
        };
        // The traced requests were chosen before their spans began.
        let provider = SdkTracerProvider::builder().with_batch_exporter(exporter);
        Self(provider.build())
    }

    /// Exports the remaining spans, within five seconds.
    pub async fn finish(self) {
        let finishing = move || self.0.shutdown_with_timeout(LAST);
        if let Ok(Err(error)) = tokio::task::spawn_blocking(finishing).await {
            tracing::debug!(%error, "last spans not exported");
        }
    }
}

/// Returns the layer of the subscriber that exports the spans of [`SPANS`] and [`ROOT_SPANS`]. It exports no events,
/// because a line of the log may contain names.
pub fn layer<S>(export: &TraceExport) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'s> LookupSpan<'s> + Send + Sync,
{
    let layer = tracing_opentelemetry::layer()
        .with_tracer(export.0.tracer("assent"))
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_level(false)
        .with_tracked_inactivity(false)
        .with_context_activation(false);
    Box::new(layer.with_filter(TracedSpans))
}

/// A filter that accepts the first span of a trace, and the spans within an exported span.
struct TracedSpans;

impl TracedSpans {
    fn is_exported(metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && [SPANS, ROOT_SPANS].contains(&metadata.target())
    }
}

impl<S> Filter<S> for TracedSpans
where
    S: Subscriber + for<'s> LookupSpan<'s>,
{
    fn enabled(&self, metadata: &Metadata<'_>, context: &Context<'_, S>) -> bool {
        Self::is_exported(metadata)
            && (metadata.target() == ROOT_SPANS || context.lookup_current().is_some())
    }

    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        if Self::is_exported(metadata) {
            Interest::sometimes()
        } else {
            Interest::never()
        }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::INFO)
    }
}

#[derive(Debug)]
struct Exporter {
    collector: Arc<Collector>,
    /// The runtime of the requests. The batches come from a thread without a runtime.
    runtime: Handle,
}

impl SpanExporter for Exporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let collector = Arc::clone(&self.collector);
        let sending = self.runtime.spawn(async move {
            let request = ExportTraceServiceRequest {
                resource_spans: vec![ResourceSpans {
                    resource: Some(collector.resource()),
                    scope_spans: vec![ScopeSpans {
                        scope: Some(scope()),
                        spans: batch.into_iter().map(Span::from).collect(),
                        ..ScopeSpans::default()
                    }],
                    ..ResourceSpans::default()
                }],
            };
            collector.send(PATH, &request).await
        });
        match sending.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(OTelSdkError::InternalFailure(error.to_string())),
            Err(error) => Err(OTelSdkError::InternalFailure(error.to_string())),
        }
    }
}
