//! The settings of OpenTelemetry.

use std::net::SocketAddr;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use super::HumanDuration;

/// OpenTelemetry: traces and metrics for a collector.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Telemetry {
    /// The base URL of a collector that speaks OTLP over HTTP with protobuf, such as `http://127.0.0.1:4318`. Traces
    /// are posted to `/v1/traces` below it, metrics to `/v1/metrics`. Without it nothing is exported.
    pub otlp_endpoint: Option<Url>,
    /// A file with the headers of the requests to the collector, such as `Authorization: Bearer ...`, one per line.
    pub headers_file: Option<PathBuf>,
    /// The share of the requests that is traced, from 0 to 1. Where a trusted proxy sends `traceparent`, its decision
    /// counts. 0 exports no traces.
    pub traced_share: f64,
    /// The interval of the export of metrics; `0s` exports none.
    pub metrics_interval: HumanDuration,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self {
            otlp_endpoint: None,
            headers_file: None,
            traced_share: 0.02,
            metrics_interval: HumanDuration::seconds(60),
        }
    }
}

/// Checks the rules that the types cannot express.
pub(super) fn check(telemetry: &Telemetry, expect: &mut impl FnMut(bool, &str, &str)) {
    let is_base = |url: &Url| {
        let is_http = matches!(url.scheme(), "http" | "https") && url.has_host();
        let has_secret = !url.username().is_empty() || url.password().is_some();
        is_http && !has_secret && url.query().is_none() && url.fragment().is_none()
    };
    expect(
        telemetry.otlp_endpoint.as_ref().is_none_or(is_base),
        "telemetry.otlp_endpoint",
        "expected an http or https URL without user, password and query, such as http://127.0.0.1:4318",
    );
    expect(
        telemetry.headers_file.is_none() || telemetry.otlp_endpoint.is_some(),
        "telemetry.headers_file",
        "expected telemetry.otlp_endpoint as well",
    );
    let is_protected = |url: &Url| {
        let is_loopback = match url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        url.scheme() == "https" || is_loopback
    };
    expect(
        telemetry.headers_file.is_none()
            || telemetry.otlp_endpoint.as_ref().is_none_or(is_protected),
        "telemetry.headers_file",
        "expected telemetry.otlp_endpoint to be https or on this machine: the headers may have a secret",
    );
    expect(
        (0.0..=1.0).contains(&telemetry.traced_share),
        "telemetry.traced_share",
        "expected a number from 0 to 1",
    );
    let interval = telemetry.metrics_interval;
    expect(
        interval.is_zero() || interval >= HumanDuration::seconds(1),
        "telemetry.metrics_interval",
        "expected 0s or at least 1s",
    );
}

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
