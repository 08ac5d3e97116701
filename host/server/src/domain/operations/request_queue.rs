//! The queue of requests of applications that are not stored yet.

use std::sync::{Mutex as SyncMutex, PoisonError};

use tokio::sync::{Mutex, mpsc};

use assent_model::bounded_cache::BoundedCache;
use assent_model::clock::Timestamp;
use assent_model::id::Did;
use assent_store::ClientRequest;

/// The number of accepted requests, and of rejected ones, of an application that each instance stores in a minute.
const MOST_IN_A_MINUTE: u32 = 10;
/// The same for rejected requests of strangers, so that they cannot hide those of the application.
const MOST_OF_STRANGERS: u32 = 2;
/// The number of applications whose requests are counted.
const COUNTED: usize = 1000;
const QUEUE: usize = 1024;

/// The queue of requests that are not stored yet.
#[derive(Debug)]
pub struct RecentRequests {
    pub(super) queue: mpsc::Sender<ClientRequest>,
    /// The receiver. The task that writes the requests holds the lock while it runs.
    pub(super) waiting: Mutex<mpsc::Receiver<ClientRequest>>,
    counts: SyncMutex<BoundedCache<(Did, Sender, bool), MinuteCount>>,
}

/// The number of requests in a minute since 1970.
#[derive(Clone, Copy, Debug, Default)]
struct MinuteCount {
    minute: i64,
    count: u32,
}

impl Default for RecentRequests {
    fn default() -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        Self {
            queue,
            waiting: Mutex::new(waiting),
            counts: SyncMutex::new(BoundedCache::new(COUNTED)),
        }
    }
}

impl RecentRequests {
    /// Whether a further request of the application may be stored in this minute.
    pub(super) fn admits(
        &self,
        application: &Did,
        sender: Sender,
        is_accepted: bool,
        now: Timestamp,
    ) -> bool {
        let minute = now.seconds() / 60;
        let most = match (sender, is_accepted) {
            (Sender::Stranger, false) => MOST_OF_STRANGERS,
            _ => MOST_IN_A_MINUTE,
        };
        let key = (application.clone(), sender, is_accepted);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let known = counts.get(&key).filter(|known| known.minute == minute);
        let count = known.map_or(0, |known| known.count);
        counts.insert(
            key,
            MinuteCount {
                minute,
                count: count.saturating_add(1),
            },
        );
        count < most
    }
}

/// The sender of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sender {
    /// The application, which authenticated itself.
    Application,
    /// A browser, or a client that did not authenticate: any program may name the application.
    Stranger,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_has_a_few_requests_in_a_minute() {
        let recent = RecentRequests::default();
        let id: Did = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"
            .parse()
            .unwrap();
        let admitted = |sender, now| {
            let now = Timestamp::from_seconds(now);
            let all = (0..50).filter(|_| recent.admits(&id, sender, false, now));
            all.count()
        };
        assert_eq!(admitted(Sender::Application, 60), 10);
        assert_eq!(admitted(Sender::Application, 119), 0);
        assert_eq!(admitted(Sender::Application, 120), 10);
        assert_eq!(admitted(Sender::Stranger, 120), 2);
        assert!(recent.admits(&id, Sender::Stranger, true, Timestamp::from_seconds(120)));
    }
}
