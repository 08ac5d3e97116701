//! Measurements: histograms that many threads record into, the metric families built from them, and their text format
//! for Prometheus.
//!
//! A family has the same name and the same numbers in every export: `/metrics` and OTLP are written from one list.

mod family;
mod histogram;
mod number;
mod open_metrics;

pub use family::{Family, Label, Samples, label};
pub use histogram::{Buckets, Histogram, Scale};
pub use number::{field, number};
pub use open_metrics::{open_metrics, prometheus_text};

/// The target of spans that are exported as parts of a trace. Log lines never contain these spans. Without an exporter,
/// or in a request without a trace, they cost almost nothing. They contain no name, address, token or claim.
pub const SPANS: &str = "assent::spans";
/// The target of root spans, with which a trace begins: a request, or a delivery in the background.
pub const ROOT_SPANS: &str = "assent::root_spans";
