//! Measurements: histograms that many threads record into, the metric families built from them, and their text format
//! for Prometheus.
//!
//! A family has the same name and the same numbers in every export: `/metrics` and OTLP are written from one list.

mod export;
mod family;
mod histogram;
mod open_metrics;

pub use export::{ROOT_SPANS, SPANS, field, number};
pub use family::{Family, Label, Samples, label};
pub use histogram::{Buckets, Histogram, Scale};
pub use open_metrics::{open_metrics, prometheus_text};
