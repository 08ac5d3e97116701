//! The settings of metrics.

use std::net::SocketAddr;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The metrics for Prometheus.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Metrics {
    /// The address and port of the listener that serves `/metrics`, such as `127.0.0.1:9464`. Without it there are no
    /// metrics.
    pub listen: Option<SocketAddr>,
    /// A file with the bearer token for `/metrics`; surrounding white space is ignored. Without it, every client that
    /// reaches the listener can read the metrics.
    pub secret_file: Option<PathBuf>,
}
