//! Requests under load: admission, limits, repeats, draining and their measurement.

pub mod admission;
pub mod draining;
pub mod idempotency;
pub mod long_polls;
pub mod rate_limits;
pub mod request_metrics;
pub mod used_proofs;
