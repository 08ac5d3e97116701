//! What the integration tests in `it/`, the fault tests in `faults/` and the benchmarks have in common.

pub mod flows;
pub mod harness;
