//! The requests that a server executes. The writer waits a moment for the writes that they are about to queue.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// Counts the requests under way.
#[derive(Debug, Default)]
pub struct RequestsUnderWay {
    begun: AtomicUsize,
    ended: AtomicUsize,
    /// The number of writes in batches that are being executed.
    writes: AtomicUsize,
    /// Wakes a writer that waits for requests.
    one_ended: Notify,
}

impl RequestsUnderWay {
    /// Counts a request that begins.
    pub fn begin(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the end of a request that was counted at its beginning.
    pub fn end(&self) {
        self.ended.fetch_add(1, Ordering::Release);
        self.one_ended.notify_waiters();
    }

    /// The number of requests that have ended so far.
    pub(crate) fn ended(&self) -> usize {
        self.ended.load(Ordering::Acquire)
    }

    /// The number of requests that have begun and not ended.
    pub fn under_way(&self) -> usize {
        // This order: a request that begins and ends in between would make the difference negative otherwise.
        let ended = self.ended();
        self.begun.load(Ordering::Relaxed).wrapping_sub(ended)
    }

    pub(crate) fn begin_writes(&self, count: usize) {
        self.writes.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn end_writes(&self, count: usize) {
        self.writes.fetch_sub(count, Ordering::Relaxed);
    }

    /// The number of writes in batches that are being executed.
    pub(crate) fn writes(&self) -> usize {
        self.writes.load(Ordering::Relaxed)
    }

    /// Returns a future that waits until a request ends.
    pub(crate) fn one_ended(&self) -> Notified<'_> {
        self.one_ended.notified()
    }
}
