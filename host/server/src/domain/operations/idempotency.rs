//! Requests that are done once, however often they are sent: who asks gives them a key, and is answered as the first
//! time.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::domain::{InternalError, Services};
use assent_model::audit::Actor;
use assent_model::deadline::KEYED_REQUEST_KEPT;
use assent_model::secret::Digest;
use assent_store::IdempotentRow;

/// How long one may take. Longer than any request may; one that a crash cut off before it changed anything may be asked
/// again after that.
pub const UNDER_WAY: Duration = Duration::from_secs(10 * 60);

/// A request with a key.
#[derive(Clone, Debug)]
pub struct KeyedRequest {
    id: String,
    body: Digest,
}

impl KeyedRequest {
    /// The request that this caller makes: its method, its path and its key, and its body.
    pub fn new(actor: &Actor, [method, path, key]: [&str; 3], body: &[u8]) -> Self {
        // JSON, so that no two of them run into each other.
        let caller = actor.id().unwrap_or_default();
        let named = serde_json::json!([actor.kind(), caller, method, path, key]).to_string();
        Self {
            id: Digest::sha256(named.as_bytes()).to_text(),
            body: Digest::sha256(body),
        }
    }

    /// Its id, for the changes that it makes.
    pub fn id(&self) -> &str {
        &self.id
    }

    fn purpose(&self) -> String {
        format!("idempotent answer {}", self.id)
    }
}

/// What came of claiming a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyClaim {
    /// Nobody had it: the request is to be done.
    First,
    /// It was done, and this was the answer.
    Answered(Vec<u8>),
    /// It is being done.
    InProgress,
    /// It made changes, but its answer was lost.
    AnswerLost,
    /// Another body came with the key.
    OtherBody,
}

/// Claims the key of a request. However many ask at once, one is the first.
///
/// # Errors
/// If the database or the cryptographic library fails.
pub async fn claim(services: &Services, request: &KeyedRequest) -> Result<KeyClaim, InternalError> {
    let now = services.now();
    let (id, body) = (request.id.clone(), request.body);
    let Some(IdempotentRow {
        body,
        answer,
        is_executed,
        in_progress_until,
    }) = services
        .store
        .claim_request(id, body, now, now + UNDER_WAY)
        .await?
    else {
        return Ok(KeyClaim::First);
    };
    if body != request.body {
        return Ok(KeyClaim::OtherBody);
    }
    let Some(sealed) = answer else {
        let is_lost = is_executed && in_progress_until <= now;
        return Ok(match is_lost {
            true => KeyClaim::AnswerLost,
            false => KeyClaim::InProgress,
        });
    };
    let opened = services.master_key.open(&request.purpose(), &sealed)?;
    Ok(KeyClaim::Answered(opened.to_vec()))
}

/// Keeps the answer of a request that was done, sealed: it may hold a secret. `subjects` are the ids that the request
/// or its answer is about: erasing a user deletes the answers about them.
///
/// # Errors
/// If the database or the cryptographic library fails.
pub async fn store_response(
    services: &Services,
    request: &KeyedRequest,
    answer: &[u8],
    subjects: BTreeSet<String>,
) -> Result<(), InternalError> {
    let sealed = services
        .master_key
        .seal(&request.purpose(), answer, &*services.entropy)?;
    Ok(services
        .store
        .store_response(
            request.id.clone(),
            sealed,
            subjects,
            services.now() + KEYED_REQUEST_KEPT,
        )
        .await?)
}

/// Gives the key of a request back that was refused.
///
/// # Errors
/// If the database fails.
pub async fn release(services: &Services, request: &KeyedRequest) -> Result<(), InternalError> {
    Ok(services.store.release_request(request.id.clone()).await?)
}

/// Gives the key of a request back that failed, unless it made a change. The failure does not tell: a commit may have
/// succeeded although its reply was lost.
///
/// # Errors
/// If the database fails.
pub async fn release_failed(
    services: &Services,
    request: &KeyedRequest,
) -> Result<(), InternalError> {
    Ok(services
        .store
        .release_unless_executed(request.id.clone())
        .await?)
}
