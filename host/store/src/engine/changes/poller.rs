//! The poller of an instance: it wakes waiting requests when another process made their change, and at their deadlines.

use std::collections::VecDeque;
use std::time::Duration;

use crate::Store;
use crate::engine::changes::reader::ChangeReader;
use crate::engine::changes::waiters::{ChangeListener, Waker};
use assent_model::change::Change;
use assent_model::clock::Clock;

/// The time between two reads while requests wait.
const INTERVAL: Duration = Duration::from_millis(200);
/// The most requests that are woken in an interval only because they may have missed a change. Each of them reads.
const RECHECKED: usize = 200;

impl Store {
    /// Registers a request that waits for any of these changes. Register it before reading the state that they concern.
    pub fn listen(&self, changes: impl IntoIterator<Item = Change>) -> ChangeListener {
        self.waiters.listen(changes.into_iter().collect())
    }

    /// The number of this instance's requests that wait for changes.
    pub fn waiting_requests(&self) -> usize {
        self.waiters.count()
    }

    /// Wakes waiting requests, until the task is dropped. While requests wait it executes five statements a second, no
    /// matter how many requests there are. It executes up to ten while a transaction of another instance is late.
    /// Otherwise it executes none.
    ///
    /// After an outage, and when the first request waits, changes may have been missed, so all waiting requests are
    /// woken.
    pub async fn run_change_poller(&self, clock: &dyn Clock) {
        loop {
            self.waiters.first().await;
            self.poll_while_requests_wait(clock).await;
        }
    }

    async fn poll_while_requests_wait(&self, clock: &dyn Clock) {
        let mut reader: Option<ChangeReader> = None;
        let mut rechecked: VecDeque<Waker> = VecDeque::new();
        while self.waiters.count() > 0 {
            self.waiters.wake_due(clock.now());
            let read = match &mut reader {
                Some(reader) => reader
                    .next()
                    .await
                    .map(|changes| self.waiters.wake(&changes)),
                None => ChangeReader::begin(self.readers.clone())
                    .await
                    .map(|begun| {
                        reader = Some(begun);
                        rechecked = self.waiters.wakers().into();
                    }),
            };
            if let Err(error) = read {
                tracing::warn!(%error, "change notifications not read");
                reader = None;
            }
            for waker in rechecked.drain(..rechecked.len().min(RECHECKED)) {
                waker.notify_one();
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }
}
