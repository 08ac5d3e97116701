//! Epochs of connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts how often a connection of this database was lost. Connections that were opened before the last loss are not
/// used again, because after a fail-over they may lead to the former primary.
#[derive(Clone, Debug, Default)]
pub(crate) struct Epoch(Arc<AtomicU64>);

impl Epoch {
    pub(crate) fn now(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Ends the epoch in which the lost connection was opened, if it has not ended yet.
    pub(crate) fn end(&self, opened: u64) {
        let _ = self
            .0
            .compare_exchange(opened, opened + 1, Ordering::AcqRel, Ordering::Relaxed);
    }
}
