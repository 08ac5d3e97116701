//! The parts of the server for its operator: bootstrap, rate limits, metrics, branding, plugins.
//!
//! - Rate limits use bounded memory, regardless of the requests.

pub mod bootstrap;
pub mod branding;
pub mod plugins;
pub mod telemetry;
pub mod traffic;
pub mod wakeups;
