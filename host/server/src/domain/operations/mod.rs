//! The parts of the server for its operator: the first start, branding, plugins, traffic, and what the server reports
//! about itself. Rate limits use bounded memory, regardless of the requests.

pub mod bootstrap;
pub mod branding;
pub mod plugins;
pub mod recent_requests;
pub mod request_queue;
pub mod telemetry;
pub mod traffic;
pub mod wakeups;
