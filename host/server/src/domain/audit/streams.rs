//! The states of the audit log's streams.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The state of a stream on this instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamStatus {
    /// Whether the last delivery succeeded. `None` before the first delivery, and if another instance holds the stream.
    pub up: Option<bool>,
    /// The number of entries that this instance has sent.
    pub sent: u64,
    /// The number of entries that are not sent yet.
    pub behind: i64,
}

/// The states of the streams on this instance, by their names.
#[derive(Debug, Default)]
pub struct Streams(Mutex<BTreeMap<&'static str, StreamStatus>>);

impl Streams {
    /// Returns the states of all streams.
    pub fn statuses(&self) -> BTreeMap<&'static str, StreamStatus> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn update_status(&self, name: &'static str, change: impl FnOnce(&mut StreamStatus)) {
        change(
            self.0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .entry(name)
                .or_default(),
        );
    }
}
