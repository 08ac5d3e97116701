//! How long this server takes to answer, counted since it started: the share of a sign-in's time that is its own, and
//! not the person's.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;
use utoipa::ToSchema;

/// The longest time that is told apart from longer ones, in microseconds.
const LONGEST: u64 = 60_000_000;

/// A group of endpoints with measured response times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndpointGroup {
    /// Where an OpenID Connect sign-in begins and goes on.
    Authorization,
    /// Codes and refresh tokens for tokens.
    Token,
    /// Claims for an access token.
    #[serde(rename = "userinfo")]
    UserInfo,
    /// SAML, in both directions.
    Saml,
    /// The admin API.
    #[serde(rename = "admin_api")]
    Administration,
    /// The discovery documents and the key set.
    Discovery,
}

impl EndpointGroup {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Authorization,
        Self::Token,
        Self::UserInfo,
        Self::Saml,
        Self::Administration,
        Self::Discovery,
    ];

    /// The endpoint's stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Authorization => "authorization",
            Self::Token => "token",
            Self::UserInfo => "userinfo",
            Self::Saml => "saml",
            Self::Administration => "admin_api",
            Self::Discovery => "discovery",
        }
    }
}

/// How an endpoint answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndpointLatency {
    /// The number of responses.
    pub count: u64,
    /// How many of them said that the server failed (5xx).
    pub failures: u64,
    /// Half of them took at most this.
    pub p50: Duration,
    /// 99 of 100 took at most this.
    pub p99: Duration,
}

struct EndpointCounts {
    failures: u64,
    micros: Histogram<u64>,
}

/// Counts the answers of this server.
#[derive(Default)]
pub struct LatencyHistograms(Mutex<BTreeMap<EndpointGroup, EndpointCounts>>);

impl LatencyHistograms {
    /// An answer was given.
    pub fn count(&self, endpoint: EndpointGroup, took: Duration, failed: bool) {
        let mut all = self.all();
        if let std::collections::btree_map::Entry::Vacant(vacant) = all.entry(endpoint) {
            // Two digits are enough to compare by, and keep a histogram at a few kilobytes. It can't fail with these
            // bounds.
            let Ok(micros) = Histogram::new_with_bounds(1, LONGEST, 2) else {
                return;
            };
            vacant.insert(EndpointCounts {
                failures: 0,
                micros,
            });
        }
        if let Some(counted) = all.get_mut(&endpoint) {
            counted.failures += u64::from(failed);
            counted
                .micros
                .saturating_record(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
        }
    }

    /// What was counted of each endpoint; zeros where nobody came.
    pub fn answered(&self) -> Vec<(EndpointGroup, EndpointLatency)> {
        let all = self.all();
        let of = |counted: &EndpointCounts| EndpointLatency {
            count: counted.micros.len(),
            failures: counted.failures,
            p50: Duration::from_micros(counted.micros.value_at_quantile(0.5)),
            p99: Duration::from_micros(counted.micros.value_at_quantile(0.99)),
        };
        EndpointGroup::ALL
            .into_iter()
            .map(|endpoint| (endpoint, all.get(&endpoint).map(of).unwrap_or_default()))
            .collect()
    }

    /// A thread that ended while it counted left numbers, and numbers are what is asked for.
    fn all(&self) -> MutexGuard<'_, BTreeMap<EndpointGroup, EndpointCounts>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_by_endpoint() {
        let latency = LatencyHistograms::default();
        for milliseconds in 1..=100 {
            latency.count(
                EndpointGroup::Token,
                Duration::from_millis(milliseconds),
                milliseconds == 100,
            );
        }
        let all: BTreeMap<EndpointGroup, EndpointLatency> =
            latency.answered().into_iter().collect();
        assert_eq!(all.len(), EndpointGroup::ALL.len());
        assert_eq!(
            all.get(&EndpointGroup::Saml),
            Some(&EndpointLatency::default())
        );
        let token = all.get(&EndpointGroup::Token).copied().unwrap_or_default();
        assert_eq!((token.count, token.failures), (100, 1));
        // Two digits.
        assert!(
            (49_000..=51_500).contains(&token.p50.as_micros()),
            "{token:?}"
        );
        assert!(
            (98_000..=100_500).contains(&token.p99.as_micros()),
            "{token:?}"
        );
    }
}
