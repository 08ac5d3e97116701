//! `GET /metrics` of the listener of metrics, in the text format of OpenMetrics. With `metrics.secret_file` a request
//! needs the secret.

use std::collections::BTreeMap;
use std::fmt::Error;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::domain::Services;
use crate::domain::audit::StreamStatus;
use crate::domain::operations::admission::RequestClass;
use crate::domain::operations::latency::{EndpointGroup, EndpointLatency};
use assent_model::secret::Digest;
use assent_plugin_host::{PluginMetrics, PluginStatus};

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// `GET /metrics`
pub(crate) async fn show(State(services): State<Arc<Services>>, headers: HeaderMap) -> Response {
    if let Some(expected) = services.metrics_secret
        && !has_secret(&headers, expected)
    {
        let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
        let text = "The secret of metrics.secret_file is required.\n";
        return (StatusCode::UNAUTHORIZED, challenge, text).into_response();
    }
    let mut registry = Registry::with_prefix("assent");
    registry
        .sub_registry_with_prefix("plugin")
        .register_collector(Box::new(Plugins(services.plugins.status())));
    let answers = registry.sub_registry_with_prefix("http");
    answers.register_collector(Box::new(AllLatencies(services.latency.answered())));
    answers.register_collector(Box::new(Rejections(services.admission.rejected())));
    answers.register_collector(Box::new(Waiting(services.store.waiting_requests())));
    let tasks = registry.sub_registry_with_prefix("task");
    tasks.register_collector(Box::new(Tasks(services.task_restarts.counts())));
    if let Some(dropped) = &services.dropped_log_lines {
        let lines = registry.sub_registry_with_prefix("log");
        lines.register_collector(Box::new(LogLines(dropped.dropped_lines())));
    }
    let streams = registry.sub_registry_with_prefix("audit_stream");
    streams.register_collector(Box::new(Streams(services.audit_streams.statuses())));
    let mut text = String::new();
    match prometheus_client::encoding::text::encode(&mut text, &registry) {
        Ok(()) => (
            [
                (header::CONTENT_TYPE, OPEN_METRICS),
                (header::CACHE_CONTROL, "no-store"),
            ],
            text,
        )
            .into_response(),
        Err(error) => {
            tracing::error!(%error, "metrics not written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Whether the request has the secret as a bearer token (RFC 6750 section 2.1).
fn has_secret(headers: &HeaderMap, expected: Digest) -> bool {
    let header = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let shown = header
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    shown.is_some_and(|(_, secret)| Digest::sha256(secret.trim().as_bytes()) == expected)
}

/// How long this instance takes to answer.
#[derive(Debug)]
struct AllLatencies(Vec<(EndpointGroup, EndpointLatency)>);

impl Collector for AllLatencies {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let mut family = encoder.encode_descriptor(
            "requests",
            "Answered requests",
            None,
            MetricType::Counter,
        )?;
        for (endpoint, answered) in &self.0 {
            let labels = [("endpoint", endpoint.as_str())];
            ConstCounter::new(answered.count).encode(family.encode_family(&labels)?)?;
        }
        let help = "Responses with a status of 500 or more";
        let mut family = encoder.encode_descriptor("failures", help, None, MetricType::Counter)?;
        for (endpoint, answered) in &self.0 {
            let labels = [("endpoint", endpoint.as_str())];
            ConstCounter::new(answered.failures).encode(family.encode_family(&labels)?)?;
        }
        let help = "Quantiles of the time until a response, in seconds";
        let mut family =
            encoder.encode_descriptor("request_duration_seconds", help, None, MetricType::Gauge)?;
        for (endpoint, answered) in &self.0 {
            for (quantile, time) in [("0.5", answered.p50), ("0.99", answered.p99)] {
                let labels = [("endpoint", endpoint.as_str()), ("quantile", quantile)];
                ConstGauge::new(time.as_secs_f64()).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

/// The requests that this instance rejected under overload.
#[derive(Debug)]
struct Rejections([(RequestClass, u64); 3]);

impl Collector for Rejections {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let help = "Requests that were rejected because of overload";
        let mut family =
            encoder.encode_descriptor("rejected_requests", help, None, MetricType::Counter)?;
        for (class, rejected) in &self.0 {
            ConstCounter::new(*rejected)
                .encode(family.encode_family(&[("class", class.as_str())])?)?;
        }
        Ok(())
    }
}

/// How often the background tasks of this instance were restarted.
#[derive(Debug)]
struct Tasks(BTreeMap<&'static str, u64>);

impl Collector for Tasks {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let help = "Restarts of a background task that panicked or ended";
        let mut family = encoder.encode_descriptor("restarts", help, None, MetricType::Counter)?;
        for (task, restarts) in &self.0 {
            ConstCounter::new(*restarts).encode(family.encode_family(&[("task", *task)])?)?;
        }
        Ok(())
    }
}

/// The requests that wait for a change.
#[derive(Debug)]
struct Waiting(usize);

impl Collector for Waiting {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let help = "Pages and devices that wait for a change";
        let family =
            encoder.encode_descriptor("waiting_requests", help, None, MetricType::Gauge)?;
        ConstGauge::new(i64::try_from(self.0).unwrap_or(i64::MAX)).encode(family)
    }
}

/// The lines of the log that nobody read in time.
#[derive(Debug)]
struct LogLines(usize);

impl Collector for LogLines {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let help = "Lines of the log that were dropped because its reader was too slow";
        let family = encoder.encode_descriptor("dropped_lines", help, None, MetricType::Counter)?;
        ConstCounter::new(u64::try_from(self.0).unwrap_or(u64::MAX)).encode(family)
    }
}

/// How the streams of the audit log fare on this server.
#[derive(Debug)]
struct Streams(BTreeMap<&'static str, StreamStatus>);

impl Collector for Streams {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let help = "1 if the last delivery succeeded, 0 if it failed; absent while another instance delivers";
        let mut family = encoder.encode_descriptor("up", help, None, MetricType::Gauge)?;
        for (stream, status) in &self.0 {
            if let Some(up) = status.up {
                ConstGauge::new(i64::from(up))
                    .encode(family.encode_family(&[("stream", *stream)])?)?;
            }
        }
        let mut family = encoder.encode_descriptor(
            "lag_entries",
            "Entries that the stream has not received yet",
            None,
            MetricType::Gauge,
        )?;
        for (stream, status) in &self.0 {
            ConstGauge::new(status.behind).encode(family.encode_family(&[("stream", *stream)])?)?;
        }
        let help = "Entries that this instance sent to the stream";
        let mut family =
            encoder.encode_descriptor("sent_entries", help, None, MetricType::Counter)?;
        for (stream, status) in &self.0 {
            ConstCounter::new(status.sent).encode(family.encode_family(&[("stream", *stream)])?)?;
        }
        Ok(())
    }
}

/// What the plugins' calls used.
#[derive(Debug)]
struct Plugins(Vec<PluginStatus>);

impl Plugins {
    fn counter(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        name: &str,
        help: &str,
        of: fn(&PluginMetrics) -> u64,
    ) -> Result<(), Error> {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for plugin in &self.0 {
            let labels = [("plugin", plugin.identity.plugin.as_str())];
            ConstCounter::new(of(&plugin.measured)).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    /// The two quantiles that are known, as gauges.
    fn quantiles(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        name: &str,
        help: &str,
        of: fn(&PluginMetrics) -> [f64; 2],
    ) -> Result<(), Error> {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for plugin in &self.0 {
            for (quantile, value) in ["0.5", "0.99"].into_iter().zip(of(&plugin.measured)) {
                let labels = [
                    ("plugin", plugin.identity.plugin.as_str()),
                    ("quantile", quantile),
                ];
                ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

impl Collector for Plugins {
    #[allow(
        clippy::cast_precision_loss,
        reason = "a measure needs no more digits than a float has"
    )]
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let e = &mut encoder;
        let mut family = e.encode_descriptor(
            "loaded",
            "1 for each plugin that is loaded",
            None,
            MetricType::Gauge,
        )?;
        for plugin in &self.0 {
            let (identity, role) = (&plugin.identity, plugin.role);
            let labels = [
                ("plugin", identity.plugin.as_str()),
                ("role", role),
                ("version", identity.version.as_str()),
                ("sha256", identity.sha256.as_str()),
            ];
            ConstGauge::new(1).encode(family.encode_family(&labels)?)?;
        }
        self.counter(e, "calls", "Started calls", |measured| measured.calls)?;
        self.counter(
            e,
            "faults",
            "Calls that failed, or violated the contract or a limit",
            |measured| measured.faults,
        )?;
        self.counter(
            e,
            "denials",
            "Calls that denied the user access to the application",
            |measured| measured.denials,
        )?;
        let help = "Calls that the queue rejected, and calls during a suspension";
        self.counter(e, "rejected", help, |measured| measured.rejected)?;
        let help =
            "Suspensions of a plugin for an application, because it exceeded its limits repeatedly";
        self.counter(e, "suspensions", help, |measured| measured.suspensions)?;
        self.counter(e, "fuel", "Units of fuel", |measured| measured.fuel.total)?;
        self.quantiles(
            e,
            "call_duration_seconds",
            "Quantiles of the plugin's own time of a call, in seconds, without HTTP requests and waiting",
            |measured| {
                [measured.time_us.p50, measured.time_us.p99]
                    .map(|micros| micros as f64 / 1_000_000.0)
            },
        )?;
        self.quantiles(
            e,
            "call_fuel",
            "Quantiles of the fuel of a call",
            |measured| [measured.fuel.p50, measured.fuel.p99].map(|fuel| fuel as f64),
        )?;
        let mut family = e.encode_descriptor(
            "queue_length",
            "Calls in the queue",
            None,
            MetricType::Gauge,
        )?;
        for plugin in &self.0 {
            let labels = [("plugin", plugin.identity.plugin.as_str())];
            ConstGauge::new(plugin.measured.queue_length as f64)
                .encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
