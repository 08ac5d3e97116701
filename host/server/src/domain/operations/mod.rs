//! What an operator runs and watches: first start, rate limits, latency, branding, plugins.
//!
//! - Limits use bounded memory, whatever comes from outside.

pub mod admission;
pub mod bootstrap;
pub mod branding;
pub mod draining;
pub mod error_references;
pub mod idempotency;
pub mod latency;
pub mod plugin_reloads;
pub mod plugin_specs;
pub mod plugins;
pub mod rate_limits;
pub mod signed_documents;
pub mod task_restarts;
pub mod wakeups;
