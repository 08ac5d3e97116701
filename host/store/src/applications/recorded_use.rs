//! The sign-ins to applications that an instance has recorded.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use assent_model::clock::Timestamp;
use assent_model::id::Did;

/// The minimum age of a recorded sign-in when the next one is recorded.
const INTERVAL: Duration = Duration::from_secs(10 * 60);

/// The number of applications for which an instance remembers the recorded sign-in.
const REMEMBERED: usize = 10_000;

/// The time of the sign-in that this instance recorded last for each application.
#[derive(Debug, Default)]
pub(crate) struct RecordedUse(Mutex<HashMap<Did, Timestamp>>);

impl RecordedUse {
    /// Whether a sign-in at `now` must be recorded.
    pub(crate) fn is_due(&self, application: &Did, now: Timestamp) -> bool {
        let recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        recorded
            .get(application)
            .is_none_or(|at| *at + INTERVAL <= now || now < *at)
    }

    /// Remembers that a sign-in at `now` was recorded.
    pub(crate) fn recorded(&self, application: Did, now: Timestamp) {
        let mut recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if recorded.len() >= REMEMBERED {
            recorded.clear();
        }
        recorded.insert(application, now);
    }
}
