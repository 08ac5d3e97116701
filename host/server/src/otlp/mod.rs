//! OpenTelemetry: traces and metrics for a collector, over OTLP/HTTP with protobuf (OTLP specification 1.9).

mod collector;
mod metrics;
mod parent;
mod traces;

pub use collector::{Collector, CollectorError, ExportError};
pub use metrics::{METRICS_PATH, export_request};
pub use parent::{TraceParent, rename, trace_id};
pub use traces::{TraceExport, layer};
