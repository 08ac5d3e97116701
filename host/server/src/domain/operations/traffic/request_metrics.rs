//! The responses of this instance by endpoint and status, with their times, since the start. They show the server's own
//! share of the time of a sign-in.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use utoipa::ToSchema;

use assent_telemetry::{Family, Histogram, Label, Scale};

/// A group of endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum EndpointGroup {
    /// The authorization endpoint.
    Authorization,
    /// The token endpoint.
    Token,
    /// The UserInfo endpoint.
    #[serde(rename = "userinfo")]
    #[strum(serialize = "userinfo")]
    UserInfo,
    /// SAML single sign-on, logout and metadata.
    Saml,
    /// The admin API.
    #[serde(rename = "admin_api")]
    #[strum(serialize = "admin_api")]
    Administration,
    /// The discovery documents and the key set.
    Discovery,
    /// Token introspection.
    Introspection,
    /// Token revocation.
    Revocation,
    /// Pushed authorization requests.
    PushedRequest,
    /// Back-channel authentication requests.
    Backchannel,
    /// Device authorization requests.
    DeviceAuthorization,
    /// Dynamic client registration.
    Registration,
    /// The pages of a sign-in, a recovery and a sign-out.
    SignIn,
    /// The authenticator and its API.
    Authenticator,
    /// The portal.
    Portal,
    /// All other paths: the console's pages, assets, callbacks, probes and unknown paths.
    Other,
}
assent_model::enum_texts!(EndpointGroup);

/// The responses of a group of endpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndpointLatency {
    /// The number of measured responses.
    pub count: u64,
    /// The number of responses with a status of 500 or more.
    pub failures: u64,
    /// The median time.
    pub p50: Duration,
    /// The 99th percentile of the times.
    pub p99: Duration,
}

/// The counts of the responses of this instance.
#[derive(Debug)]
pub struct RequestMetrics([EndpointCounts; EndpointGroup::ALL.len()]);

#[derive(Debug)]
struct EndpointCounts {
    times: Histogram,
    statuses: Mutex<BTreeMap<u16, u64>>,
}

impl Default for RequestMetrics {
    fn default() -> Self {
        Self(EndpointGroup::ALL.map(|_| EndpointCounts {
            times: Histogram::new(Scale::Request),
            statuses: Mutex::default(),
        }))
    }
}

impl EndpointCounts {
    /// Locks the counts. They are valid even if a thread panicked while it counted.
    fn statuses(&self) -> MutexGuard<'_, BTreeMap<u16, u64>> {
        self.statuses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn latency(&self) -> EndpointLatency {
        let failures = self.statuses().range(500..).map(|(_, count)| count).sum();
        EndpointLatency {
            count: self.times.count(),
            failures,
            p50: Duration::from_micros(self.times.quantile(0.5)),
            p99: Duration::from_micros(self.times.quantile(0.99)),
        }
    }
}

impl RequestMetrics {
    /// Counts a response. `took` is `None` for a response that waited for an event, because its time does not describe
    /// the server.
    pub fn count(&self, endpoint: EndpointGroup, status: u16, took: Option<Duration>) {
        let Some(counts) = self.0.get(endpoint as usize) else {
            return;
        };
        *counts.statuses().entry(status).or_default() += 1;
        if let Some(took) = took {
            counts.times.record_time(took);
        }
    }

    /// Returns the latency of each endpoint. All values are zero for an endpoint without requests.
    pub fn overview(&self) -> Vec<(EndpointGroup, EndpointLatency)> {
        let latency =
            |endpoint: EndpointGroup| self.0.get(endpoint as usize).map(EndpointCounts::latency);
        EndpointGroup::ALL
            .into_iter()
            .map(|endpoint| (endpoint, latency(endpoint).unwrap_or_default()))
            .collect()
    }

    /// Returns the metrics.
    pub fn families(&self) -> [Family; 2] {
        let label = |endpoint: EndpointGroup| ("endpoint", endpoint.as_str().to_owned());
        let endpoints = || EndpointGroup::ALL.into_iter().zip(&self.0);
        let mut responses: Vec<(Vec<Label>, u64)> = Vec::new();
        for (endpoint, counts) in endpoints() {
            for (status, count) in &*counts.statuses() {
                let labels = vec![label(endpoint), ("status", status.to_string())];
                responses.push((labels, *count));
            }
        }
        [
            Family::counters(
                "assent_http_requests",
                "Responses by endpoint and status",
                responses,
            ),
            Family::histograms(
                "assent_http_request_duration_seconds",
                "How long responses took, without long polls, imports and claims previews",
                endpoints()
                    .map(|(endpoint, counts)| (vec![label(endpoint)], counts.times.buckets())),
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_serialized_as_their_texts() {
        for group in EndpointGroup::ALL {
            assert_eq!(serde_json::json!(group), group.as_str());
        }
    }

    #[test]
    fn responses_are_counted_by_endpoint_and_status() {
        for (place, endpoint) in EndpointGroup::ALL.into_iter().enumerate() {
            assert_eq!(endpoint as usize, place);
        }
        let requests = RequestMetrics::default();
        for milliseconds in 1..=100 {
            let status = if milliseconds == 100 { 503 } else { 200 };
            let took = Duration::from_millis(milliseconds);
            requests.count(EndpointGroup::Token, status, Some(took));
        }
        requests.count(EndpointGroup::Token, 200, None);
        let overview: BTreeMap<EndpointGroup, EndpointLatency> =
            requests.overview().into_iter().collect();
        assert_eq!(overview.len(), EndpointGroup::ALL.len());
        assert_eq!(
            overview.get(&EndpointGroup::Saml),
            Some(&EndpointLatency::default())
        );
        let token = overview
            .get(&EndpointGroup::Token)
            .copied()
            .unwrap_or_default();
        assert_eq!((token.count, token.failures), (100, 1));
        // The precision is two digits.
        assert!(
            (49_000..=51_500).contains(&token.p50.as_micros()),
            "{token:?}"
        );
        assert!(
            (98_000..=100_500).contains(&token.p99.as_micros()),
            "{token:?}"
        );
        let text = assent_telemetry::open_metrics(requests.families().into()).unwrap();
        for line in [
            "assent_http_requests_total{endpoint=\"token\",status=\"200\"} 100",
            "assent_http_requests_total{endpoint=\"token\",status=\"503\"} 1",
            "assent_http_request_duration_seconds_count{endpoint=\"token\"} 100",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
