//! The sign-ins to applications that an instance has recorded.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use assent_model::clock::Timestamp;

/// The minimum age of a recorded sign-in when the next one is recorded.
const INTERVAL: Duration = Duration::from_secs(10 * 60);

/// The number of keys for which an instance remembers the recorded sign-in.
const REMEMBERED: usize = 10_000;

/// The time of the sign-in that this instance recorded last for each key: an application, or a user in an application.
#[derive(Debug)]
pub(crate) struct RecordedUse<K>(Mutex<HashMap<K, Timestamp>>);

impl<K> Default for RecordedUse<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash> RecordedUse<K> {
    /// Whether a sign-in at `now` must be recorded.
    pub(crate) fn is_due(&self, key: &K, now: Timestamp) -> bool {
        let recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        recorded
            .get(key)
            .is_none_or(|at| *at + INTERVAL <= now || now < *at)
    }

    /// Remembers that a sign-in at `now` was recorded.
    pub(crate) fn remember(&self, key: K, now: Timestamp) {
        let mut recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if recorded.len() >= REMEMBERED {
            recorded.clear();
        }
        recorded.insert(key, now);
    }
}
