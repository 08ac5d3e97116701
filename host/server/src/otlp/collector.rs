//! The collector, and the requests to it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::transform::common::tonic::Attributes;
use prost::Message;
use reqwest::Client;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use url::Url;

/// The timeout of one request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The pauses before a request is repeated.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];
const PROTOBUF: HeaderValue = HeaderValue::from_static("application/x-protobuf");

/// The reason why no export is possible.
#[derive(Debug, thiserror::Error)]
pub enum CollectorError {
    /// A line of the file with headers is not a header.
    #[error("line {line} is not a header; expected `Name: value`")]
    NotAHeader {
        /// The number of the line, from 1.
        line: usize,
    },
    /// This machine's TLS cannot be used.
    #[error("the HTTP client cannot be set up: {0}")]
    Setup(#[from] reqwest::Error),
}

/// The reason why one export failed.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The collector cannot be reached. The error does not contain the URL, which may include a secret.
    #[error("the collector cannot be reached: {0}")]
    Unreachable(String),
    /// The collector rejected the request.
    #[error("the collector answered {0}")]
    Rejected(u16),
}

impl ExportError {
    /// Returns whether the same request may succeed soon (OTLP specification, "Retryable Response Codes").
    const fn is_passing(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Rejected(429 | 502..=504))
    }
}

/// A collector of OpenTelemetry.
#[derive(Debug)]
pub struct Collector {
    client: Client,
    base: Url,
    headers: HeaderMap,
    resource: Resource,
    /// Whether the last export failed. A change is logged once.
    is_failing: AtomicBool,
}

impl Collector {
    /// Returns the collector at this base URL. `headers` has a line with `Name: value` for each header of the requests.
    /// `instance` identifies this run of the server.
    ///
    /// # Errors
    /// If a line is not a header, or TLS cannot be used.
    pub fn new(base: Url, headers: &str, instance: String) -> Result<Self, CollectorError> {
        let client = Client::builder()
            .user_agent(concat!("assent/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(TIMEOUT)
            .build()?;
        let attributes = Attributes::from([
            KeyValue::new("service.name", "assent"),
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
            KeyValue::new("service.instance.id", instance),
        ]);
        let resource = Resource {
            attributes: attributes.0,
            ..Resource::default()
        };
        Ok(Self {
            client,
            base,
            headers: parse_headers(headers)?,
            resource,
            is_failing: AtomicBool::new(false),
        })
    }

    /// Returns the description of this instance in each export.
    pub(super) fn resource(&self) -> Resource {
        self.resource.clone()
    }

    /// Sends a message to this path below the base URL, up to three times.
    ///
    /// # Errors
    /// If the collector does not accept it.
    pub async fn send(&self, path: &str, message: &impl Message) -> Result<(), ExportError> {
        let body = message.encode_to_vec();
        let mut sent = self.send_once(path, body.clone()).await;
        for pause in PAUSES {
            match &sent {
                Err(error) if error.is_passing() => tokio::time::sleep(pause).await,
                _ => break,
            }
            sent = self.send_once(path, body.clone()).await;
        }
        let was_failing = self.is_failing.swap(sent.is_err(), Ordering::Relaxed);
        match &sent {
            Err(error) if !was_failing => {
                tracing::warn!(%error, path, "telemetry not exported, dropped");
            }
            Err(error) => tracing::debug!(%error, path, "telemetry not exported, dropped"),
            Ok(()) if was_failing => tracing::info!("telemetry exported again"),
            Ok(()) => {}
        }
        sent
    }

    async fn send_once(&self, path: &str, body: Vec<u8>) -> Result<(), ExportError> {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", url.path().trim_end_matches('/')));
        let request = self.client.post(url).headers(self.headers.clone());
        let request = request.header(CONTENT_TYPE, PROTOBUF).body(body);
        let unreachable = |error: reqwest::Error| ExportError::Unreachable(cause(&error));
        let response = request.send().await.map_err(unreachable)?;
        match response.status().as_u16() {
            200..=299 => Ok(()),
            status => Err(ExportError::Rejected(status)),
        }
    }
}

/// Returns the root cause of an error, because the errors above it name the URL.
fn cause(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    let first = causes.last().map(ToString::to_string);
    first.unwrap_or_else(|| "the request could not be sent".to_owned())
}

/// Returns the scope of spans and metrics.
pub(super) fn scope() -> InstrumentationScope {
    InstrumentationScope {
        name: "assent".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    }
}

/// Parses lines of `Name: value`, and ignores empty lines.
fn parse_headers(text: &str) -> Result<HeaderMap, CollectorError> {
    let mut headers = HeaderMap::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let not_a_header = CollectorError::NotAHeader { line: index + 1 };
        let header = line.split_once(':').and_then(|(name, value)| {
            let name = HeaderName::from_bytes(name.trim().as_bytes()).ok()?;
            let mut value = HeaderValue::from_str(value.trim()).ok()?;
            value.set_sensitive(true);
            Some((name, value))
        });
        let (name, value) = header.ok_or(not_a_header)?;
        headers.append(name, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_parsed_from_lines() {
        let headers = parse_headers("Authorization: Bearer a:b\n\n  X-Scope-OrgID :t1 \n").unwrap();
        assert_eq!(headers["authorization"], "Bearer a:b");
        assert_eq!(headers["x-scope-orgid"], "t1");
        assert!(!format!("{headers:?}").contains("Bearer"));
        let error = parse_headers("A: b\nsecret-token\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 2 is not a header; expected `Name: value`"
        );
        assert!(parse_headers("a b: c").is_err());
    }
}
