//! The streams of the audit log, as they fare.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// How a stream fares on this server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamStatus {
    /// Whether the last handing over went well; `None` before the first, and where another instance carries it.
    pub up: Option<bool>,
    /// How many entries this server has handed over.
    pub sent: u64,
    /// How many entries wait to be.
    pub behind: i64,
}

/// How the streams fare on this server, by their names.
#[derive(Debug, Default)]
pub struct Streams(Mutex<BTreeMap<&'static str, StreamStatus>>);

impl Streams {
    /// All of them.
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
