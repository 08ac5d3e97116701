//! The queue of claim traces that are not stored yet, and the last stored results of token families.

use std::sync::{Mutex as SyncMutex, PoisonError};

use tokio::sync::{Mutex, mpsc};

use assent_model::bounded_cache::BoundedCache;
use assent_model::clock::Timestamp;
use assent_model::id::FamilyId;
use assent_model::secret::Digest;
use assent_store::ClaimTrace;

/// The largest number of traces in the queue, and of traces that are written at once.
const QUEUE: usize = 1024;
/// The number of token families whose last result is remembered.
const REMEMBERED: usize = 4096;

/// The queue of traces.
#[derive(Debug)]
pub struct Traces {
    pub(super) queue: mpsc::Sender<QueuedTrace>,
    /// The receiver. The task that writes the traces holds the lock while it runs.
    pub(super) waiting: Mutex<mpsc::Receiver<QueuedTrace>>,
    stored: SyncMutex<BoundedCache<FamilyId, StoredResult>>,
}

impl Default for Traces {
    fn default() -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        Self {
            queue,
            waiting: Mutex::new(waiting),
            stored: SyncMutex::new(BoundedCache::new(REMEMBERED)),
        }
    }
}

/// A trace to store, and the result to remember afterwards for the token family.
#[derive(Debug)]
pub(super) struct QueuedTrace {
    pub trace: ClaimTrace,
    pub result: Option<(FamilyId, Digest)>,
}

/// The last result of a token family that this instance stored.
#[derive(Clone, Debug)]
pub(super) struct StoredResult {
    /// The digest of the calls of the plugins.
    pub digest: Digest,
    /// The token of its trace.
    pub token: String,
    pub created_at: Timestamp,
}

impl Traces {
    pub(super) fn last_result(&self, family: FamilyId) -> Option<StoredResult> {
        let stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        stored.get(&family)
    }

    pub(super) fn remember(&self, family: FamilyId, result: StoredResult) {
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        stored.insert(family, result);
    }
}
