//! Requests with an `Idempotency-Key`. The server executes them once, however often they are sent, and returns the same
//! response each time.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::domain::{InternalError, Services};
use assent_model::audit::{Actor, RequestAttempt};
use assent_model::clock::KEYED_REQUEST_RETENTION;
use assent_model::secret::{Digest, Secret};
use assent_store::IdempotentRow;

/// The largest time for which a request may be in progress. It is longer than the timeout of any request. After a crash
/// without a change, the key is free after this time.
pub const UNDER_WAY: Duration = Duration::from_secs(10 * 60);

/// A request with a key.
#[derive(Clone, Debug)]
pub struct KeyedRequest {
    attempt: RequestAttempt,
    body: Digest,
}

impl KeyedRequest {
    /// Returns the keyed request of this caller, with its method, path, key and body.
    pub fn new(
        services: &Services,
        actor: &Actor,
        [method, path, key]: [&str; 3],
        body: &[u8],
    ) -> Self {
        // JSON makes the concatenation unambiguous.
        let caller = actor.id().unwrap_or_default();
        let named = serde_json::json!([actor.kind(), caller, method, path, key]).to_string();
        Self {
            attempt: RequestAttempt {
                request: Digest::sha256(named.as_bytes()).to_text(),
                attempt: Secret::random(&*services.entropy).expose().to_owned(),
            },
            body: Digest::sha256(body),
        }
    }

    /// Returns this attempt to execute the request, which its changes record.
    pub const fn attempt(&self) -> &RequestAttempt {
        &self.attempt
    }

    fn purpose(&self) -> String {
        format!("idempotent response {}", self.attempt.request)
    }
}

/// The result of claiming a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyClaim {
    /// The key was free: the request is executed now.
    First,
    /// The request was executed, with this response.
    Executed(Vec<u8>),
    /// The request is in progress.
    InProgress,
    /// The request made changes, but its response was lost.
    ResponseLost,
    /// The key was used with another body.
    OtherBody,
}

/// Claims the key of a request. Of concurrent requests with one key, only one is the first.
pub async fn claim(services: &Services, request: &KeyedRequest) -> Result<KeyClaim, InternalError> {
    let now = services.now();
    let (attempt, body) = (request.attempt.clone(), request.body);
    let Some(IdempotentRow {
        body,
        response,
        is_executed,
        in_progress_until,
    }) = services
        .store
        .claim_request(attempt, body, now, now + UNDER_WAY)
        .await?
    else {
        return Ok(KeyClaim::First);
    };
    if body != request.body {
        return Ok(KeyClaim::OtherBody);
    }
    let Some(sealed) = response else {
        let is_lost = is_executed && in_progress_until <= now;
        return Ok(match is_lost {
            true => KeyClaim::ResponseLost,
            false => KeyClaim::InProgress,
        });
    };
    let opened = services.sealing_keys.open(&request.purpose(), &sealed)?;
    Ok(KeyClaim::Executed(opened.to_vec()))
}

/// Stores the response of a request in sealed form, because it may contain a secret. `subjects` are the identifiers of
/// the objects of the request and its response. The erasure of a user deletes the responses about the user.
pub async fn store_response(
    services: &Services,
    request: &KeyedRequest,
    response: &[u8],
    subjects: BTreeSet<String>,
) -> Result<(), InternalError> {
    let sealed = services.seal(&request.purpose(), response)?;
    let until = services.now() + KEYED_REQUEST_RETENTION;
    Ok(services
        .store
        .store_response(request.attempt.clone(), sealed, subjects, until)
        .await?)
}

/// Releases the key of a request that was rejected or failed, unless it made a change. The error does not show that: a
/// commit may have succeeded although its reply was lost.
pub async fn release(services: &Services, request: &KeyedRequest) -> Result<(), InternalError> {
    Ok(services
        .store
        .release_unless_executed(request.attempt.clone())
        .await?)
}
