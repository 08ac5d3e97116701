//! Code that the integration tests in `it/`, the fault tests in `faults/` and the benchmarks share.

pub mod flows;
pub mod harness;
