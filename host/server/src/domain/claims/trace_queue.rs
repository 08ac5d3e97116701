//! The queue of claim traces that are not stored yet.

use tokio::sync::{Mutex, mpsc};

use assent_store::ClaimTrace;

/// The largest number of traces in the queue, and of traces that are written at once.
const QUEUE: usize = 1024;

/// The queue of traces.
#[derive(Debug)]
pub struct Traces {
    pub(super) queue: mpsc::Sender<ClaimTrace>,
    /// The receiver. The task that writes the traces holds the lock while it runs.
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
