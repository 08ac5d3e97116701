//! What the server reports about itself: metrics, spans and the references of errors.

pub mod error_references;
pub mod metric_families;
pub mod metrics;
pub mod process_metrics;
pub mod span_sampler;
