//! The parts of the server for its operator: bootstrap, rate limits, metrics, branding, plugins.
//!
//! - Rate limits use bounded memory, regardless of the requests.

pub mod admission;
pub mod bootstrap;
pub mod branding;
pub mod draining;
pub mod error_references;
pub mod idempotency;
pub mod lost_log_lines;
pub mod metric_families;
pub mod metrics;
pub mod plugin_reloads;
pub mod plugin_specs;
pub mod plugins;
mod process_metrics;
pub mod rate_limits;
pub mod request_metrics;
pub mod signed_documents;
pub mod span_sampler;
pub mod task_restarts;
pub mod wakeups;
