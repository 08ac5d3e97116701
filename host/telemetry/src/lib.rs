//! Measurements: histograms that many threads record into, the families of metrics that are made of them, and their
//! text for Prometheus.
//!
//! A family has the same name and the same numbers wherever it goes: `/metrics` and OTLP are written from one list.

mod family;
mod histogram;
mod number;
mod open_metrics;

pub use family::{Family, Label, Samples, label};
pub use histogram::{Buckets, Histogram, Scale};
pub use number::{field, number};
pub use open_metrics::open_metrics;

/// The target of spans that are exported as parts of a trace. No line of the log has them, and without an exporter, or
/// in a request that is not traced, they cost next to nothing. They carry no name, address, token or claim.
pub const SPANS: &str = "assent::spans";
/// The target of spans that a trace begins with: a request, or a delivery in the background.
pub const ROOT_SPANS: &str = "assent::root_spans";
