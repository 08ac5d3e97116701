//! What the integration tests in `it/` and the benchmarks have in common.

pub mod harness;
