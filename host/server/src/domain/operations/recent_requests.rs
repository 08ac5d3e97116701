//! The requests of applications in the last hour, which explain to administrators why a client is rejected.
//!
//! They are only explanations, so no request waits for them. They are written in the background, and an application has
//! a few in a minute at most, so that neither many requests nor rejected ones of strangers cost more.

use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Mutex, mpsc};

use crate::domain::Services;
use assent_model::bounded_cache::BoundedCache;
use assent_model::clock::Timestamp;
use assent_model::id::{ClientRequestId, Did};
use assent_store::{ClientRequest, StoreError};

/// The time for which requests are shown and stored.
pub const KEPT: Duration = Duration::from_secs(60 * 60);
/// The number of requests that are shown: more than those of strangers in an hour.
const SHOWN: u32 = 200;
/// The number of accepted requests, and of rejected ones, of an application that each instance stores in a minute.
const MOST_IN_A_MINUTE: u32 = 10;
/// The same for rejected requests of strangers, so that they cannot hide those of the application.
const MOST_OF_STRANGERS: u32 = 2;
/// The number of applications whose requests are counted.
const COUNTED: usize = 1000;
const QUEUE: usize = 1024;
const BATCH: usize = 64;
/// The time for which requests are collected for one write.
const GATHER: Duration = Duration::from_millis(200);

/// The queue of requests that are not stored yet.
#[derive(Debug)]
pub struct RecentRequests {
    queue: mpsc::Sender<ClientRequest>,
    /// The receiver. The task that writes the requests holds the lock while it runs.
    waiting: Mutex<mpsc::Receiver<ClientRequest>>,
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
    fn admits(&self, application: &Did, sender: Sender, is_accepted: bool, now: Timestamp) -> bool {
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

/// The error of a rejected request.
#[derive(Clone, Debug)]
pub struct RequestError {
    /// The code.
    pub code: String,
    /// The reason.
    pub reason: String,
}

/// Stores a request of an application, if it had few in this minute. `parts` describes it, without secrets.
pub fn record(
    services: &Services,
    application: &Did,
    sender: Sender,
    endpoint: &str,
    error: Option<RequestError>,
    parts: impl FnOnce() -> Vec<Value>,
) {
    let now = services.now();
    let recent = &services.recent_requests;
    if !recent.admits(application, sender, error.is_none(), now) {
        return;
    }
    let (error, reason) = error.map_or_else(Default::default, |error| (error.code, error.reason));
    let request = ClientRequest {
        id: ClientRequestId::new(now, &*services.entropy),
        application: application.clone(),
        endpoint: endpoint.to_owned(),
        created_at: now,
        error,
        reason,
        parts: Value::Array(parts()).to_string(),
    };
    // If there are too many, some are not shown.
    let _ = recent.queue.try_send(request);
}

/// Writes requests from the queue, until the task is dropped.
pub async fn run_request_writer(services: Arc<Services>) {
    let mut waiting = services.recent_requests.waiting.lock().await;
    let mut batch = Vec::new();
    while waiting.recv_many(&mut batch, BATCH).await > 0 {
        tokio::time::sleep(GATHER).await;
        while batch.len() < BATCH
            && let Ok(request) = waiting.try_recv()
        {
            batch.push(request);
        }
        let requests = std::mem::take(&mut batch);
        if let Err(error) = services.store.add_client_requests(requests).await {
            tracing::warn!(%error, "requests of applications not stored");
        }
    }
}

/// Returns the requests of an application in the last hour, the latest first.
///
/// # Errors
/// If the database fails.
pub async fn of_application(
    services: &Services,
    application: &Did,
) -> Result<Vec<ClientRequest>, StoreError> {
    let since = services.now() - KEPT;
    services
        .store
        .client_requests(application, since, SHOWN)
        .await
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
