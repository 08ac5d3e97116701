//! The count of log lines that were lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing_appender::non_blocking::ErrorCounter;

/// Counts the log lines that no reader received.
#[derive(Clone, Debug)]
pub struct LostLogLines {
    dropped: ErrorCounter,
    unwritten: Arc<AtomicU64>,
}

impl LostLogLines {
    /// Returns the sum of the lines that were dropped because too many waited, and of `unwritten` lines.
    pub const fn new(dropped: ErrorCounter, unwritten: Arc<AtomicU64>) -> Self {
        Self { dropped, unwritten }
    }

    /// Returns the number of lost lines.
    pub fn count(&self) -> u64 {
        let dropped = u64::try_from(self.dropped.dropped_lines()).unwrap_or(u64::MAX);
        dropped.saturating_add(self.unwritten.load(Ordering::Relaxed))
    }
}
