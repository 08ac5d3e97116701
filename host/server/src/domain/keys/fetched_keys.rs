//! The cache of applications' key sets.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::domain::shared_fetches::SharedFetches;
use crate::keys::client;
use crate::keys::client::JwtError;
use assent_model::clock::Timestamp;

/// The time for which a fetched set is valid.
const VALID_FOR: Duration = Duration::from_secs(5 * 60);
/// The time for which a set is valid if it cannot be fetched again. Sign-ins of an application must not fail because
/// its server is unavailable for a moment.
const VALID_WITHOUT_REFRESH: Duration = Duration::from_secs(60 * 60);
/// The shortest time between two fetches of a set. An application may have rotated its keys, but invalid signatures by
/// an attacker must not cause continuous requests.
const MIN_REFETCH_INTERVAL: Duration = Duration::from_secs(10);
/// The number of cached sets. The cache holds up to twice as many.
const SETS: usize = 1000;

/// The cached key sets.
#[derive(Debug)]
pub struct FetchedKeys(pub(super) SharedFetches<KeySet>);

/// The cached key set of an application.
#[derive(Clone, Debug, Default)]
pub(super) struct KeySet {
    keys: Arc<Vec<Map<String, Value>>>,
    fetched_at: Option<Timestamp>,
    tried_at: Option<Timestamp>,
    /// Whether the last fetch failed.
    failed: bool,
}

impl Default for FetchedKeys {
    fn default() -> Self {
        Self(SharedFetches::new(SETS))
    }
}

impl KeySet {
    pub(super) fn note(&mut self, fetched: Option<Vec<Map<String, Value>>>, now: Timestamp) {
        (self.tried_at, self.failed) = (Some(now), fetched.is_none());
        if let Some(keys) = fetched {
            (self.keys, self.fetched_at) = (Arc::new(keys), Some(now));
        }
    }

    /// Returns the verdict on a token with the cached keys. `None` if a new fetch may change it.
    pub(super) fn decide(
        &self,
        token: &str,
        accepted: &[&str],
        now: Timestamp,
    ) -> Option<Result<Map<String, Value>, JwtError>> {
        let Self {
            keys,
            fetched_at,
            tried_at,
            failed,
        } = self;
        let within =
            |since: &Option<Timestamp>, limit| since.is_some_and(|since| now < since + limit);
        let tried_lately = within(tried_at, MIN_REFETCH_INTERVAL);
        let valid_for = if tried_lately {
            VALID_WITHOUT_REFRESH
        } else {
            VALID_FOR
        };
        match client::verify(token, keys, accepted) {
            Ok(claims) if within(fetched_at, valid_for) => Some(Ok(claims)),
            Ok(_) | Err(JwtError::Signature) if tried_lately && *failed => {
                Some(Err(JwtError::NoKeys))
            }
            Ok(_) | Err(JwtError::Signature) if tried_lately => Some(Err(JwtError::Signature)),
            Ok(_) | Err(JwtError::Signature) => None,
            Err(malformed) => Some(Err(malformed)),
        }
    }
}
