//! The queue of claim traces on their way to the store.

use tokio::sync::{Mutex, mpsc};

use assent_store::ClaimTrace;

/// How many traces wait to be written at most, and how many are written at once.
const QUEUE: usize = 1024;

/// Traces on their way to the store.
#[derive(Debug)]
pub struct Traces {
    pub(super) queue: mpsc::Sender<ClaimTrace>,
    /// The task that writes them holds the lock as long as it runs.
    pub(super) waiting: Mutex<mpsc::Receiver<ClaimTrace>>,
}

impl Default for Traces {
    fn default() -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        Self {
            queue,
            waiting: Mutex::new(waiting),
        }
    }
}
