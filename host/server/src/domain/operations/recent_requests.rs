//! The requests of applications in the last hour, which explain to administrators why a client is rejected.
//!
//! They are only explanations, so no request waits for them. They are written in the background, and an application has
//! a few in a minute at most, so that neither many requests nor rejected ones of strangers cost more.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::request_queue::Sender;
use crate::domain::Services;
use assent_model::id::{ClientRequestId, Did};
use assent_store::{ClientRequest, StoreError};

/// The time for which requests are shown and stored.
pub const KEPT: Duration = Duration::from_secs(60 * 60);
/// The number of requests that are shown: more than those of strangers in an hour.
const SHOWN: u32 = 200;
const BATCH: usize = 64;
/// The time for which requests are collected for one write.
const GATHER: Duration = Duration::from_millis(200);

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
