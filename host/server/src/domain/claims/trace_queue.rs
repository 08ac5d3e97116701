//! The queue of claim traces on their way to the store.

use std::sync::Mutex;

use tokio::sync::mpsc;

use assent_store::ClaimTrace;

/// How many traces wait to be written at most, and how many are written at once.
const QUEUE: usize = 1024;

/// Traces on their way to the store.
#[derive(Debug)]
pub struct Traces {
    pub(super) queue: mpsc::Sender<ClaimTrace>,
    pub(super) waiting: Mutex<Option<mpsc::Receiver<ClaimTrace>>>,
}

impl Default for Traces {
    fn default() -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        Self {
            queue,
            waiting: Mutex::new(Some(waiting)),
        }
    }
}
