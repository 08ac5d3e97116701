//! Health, metrics, branding, and the limits of every request.

pub(crate) mod branding;
pub(crate) mod connection;
pub(crate) mod health;
pub(crate) mod logos;
pub(crate) mod measured_request;
pub(crate) mod metrics;
pub(crate) mod rate_limits;
