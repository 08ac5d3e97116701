//! Epochs of connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the times that a connection of this database was lost. What was opened before the last time is not used
/// again: after a fail-over it may lead to the former primary.
#[derive(Clone, Debug, Default)]
pub(crate) struct Epoch(Arc<AtomicU64>);

impl Epoch {
    pub(crate) fn now(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Ends the epoch, if it still is the one in which the lost connection was opened.
    pub(crate) fn end(&self, opened: u64) {
        let _ = self
            .0
            .compare_exchange(opened, opened + 1, Ordering::AcqRel, Ordering::Relaxed);
    }
}
