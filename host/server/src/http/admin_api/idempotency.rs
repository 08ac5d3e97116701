//! `Idempotency-Key`: a POST that is sent again because its response was lost is executed once, and gets the same
//! response.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Extension;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::input;
use crate::domain::Services;
use crate::domain::admin::Caller;
use crate::domain::operations::traffic::idempotency;
use crate::domain::operations::traffic::idempotency::{KeyClaim, KeyedRequest};
use crate::http::admin_api::context::ACTION_APPROVAL;
use crate::http::problem::{Problem, ProblemKind};
use assent_model::id::UserId;

/// The header `Idempotency-Key`.
pub(super) const KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The maximum length of a key, in characters.
pub(super) const LONGEST: usize = 255;
/// Headers that are stored with a response.
const STORED_HEADERS: [HeaderName; 3] = [header::CONTENT_TYPE, header::ETAG, header::LOCATION];
/// The maximum size of a stored response, in bytes.
const LARGEST: usize = 4 << 20;

/// A stored response.
#[derive(Serialize, Deserialize)]
struct StoredResponse {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

/// Executes a request once for each key.
pub(super) async fn once(
    State(services): State<Arc<Services>>,
    Extension(caller): Extension<Caller>,
    request: Request,
    next: Next,
) -> Response {
    let Some(key) = request.headers().get(KEY).cloned() else {
        return next.run(request).await;
    };
    let key = key
        .to_str()
        .ok()
        .filter(|key| is_key(key))
        .map(str::to_owned);
    let Some(key) = key else {
        let detail =
            format!("Idempotency-Key: expected 1 to {LONGEST} characters of ASCII, without blanks");
        return Problem::with_kind(ProblemKind::Malformed, detail).into_response();
    };
    match claim(&services, &caller, &key, request).await {
        Ok(ClaimOutcome::Ours(keyed_request, mut request)) => {
            let mut caller = caller;
            caller.by.keyed_request = Some(keyed_request.attempt().clone());
            request.extensions_mut().insert(caller);
            run(services, keyed_request, *request, next).await
        }
        Ok(ClaimOutcome::Executed(response)) => replay(&response),
        Err(problem) => problem.into_response(),
    }
}

/// The result of claiming a key.
enum ClaimOutcome {
    /// The request is the first, and must be executed.
    Ours(KeyedRequest, Box<Request>),
    /// The request was executed, and this response was stored.
    Executed(Vec<u8>),
}

fn is_key(text: &str) -> bool {
    (1..=LONGEST).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Claims the key, unless another request has it.
async fn claim(
    services: &Services,
    caller: &Caller,
    key: &str,
    request: Request,
) -> Result<ClaimOutcome, Problem> {
    let (parts, body) = request.into_parts();
    let path = parts
        .uri
        .path_and_query()
        .map(ToString::to_string)
        .unwrap_or_default();
    let bytes = input::body(Request::from_parts(parts.clone(), body), &()).await?;
    // The response to a protected action is only for a request that names its approval.
    let approval = parts
        .headers
        .get(ACTION_APPROVAL)
        .map(HeaderValue::as_bytes);
    let content = approval.map(|approval| [&bytes[..], b"\0", approval].concat());
    let keyed_request = KeyedRequest::new(
        services,
        &caller.by.actor,
        [parts.method.as_str(), &path, key],
        content.as_deref().unwrap_or(&bytes),
    );
    match idempotency::claim(services, &keyed_request).await? {
        KeyClaim::First => Ok(ClaimOutcome::Ours(
            keyed_request,
            Box::new(Request::from_parts(parts, Body::from(bytes))),
        )),
        KeyClaim::Executed(response) => Ok(ClaimOutcome::Executed(response)),
        KeyClaim::InProgress => {
            let detail =
                "the first request with this Idempotency-Key is still in progress; try again";
            Err(Problem::with_kind(ProblemKind::InProgress, detail))
        }
        KeyClaim::ResponseLost => {
            let detail = "the first request with this Idempotency-Key made some or all of its changes, but its \
                          response was lost; check which changes it made, and use another key for another request";
            Err(Problem::with_kind(ProblemKind::ResponseLost, detail))
        }
        KeyClaim::OtherBody => {
            let detail = "this Idempotency-Key was used with another body; use another key";
            Err(Problem::with_kind(ProblemKind::KeyReused, detail))
        }
    }
}

/// Executes the request, and stores its response. It continues if the client closes the connection, so that a
/// repetition gets the response.
async fn run(
    services: Arc<Services>,
    keyed_request: KeyedRequest,
    request: Request,
    next: Next,
) -> Response {
    let running = tokio::spawn(async move {
        let path = request.uri().path().to_owned();
        let response = next.run(request).await;
        store_response(&services, &keyed_request, &path, response).await
    });
    running.await.unwrap_or_else(|error| {
        tracing::error!(%error, "request with an Idempotency-Key aborted");
        Problem::with_kind(
            ProblemKind::Internal,
            "the server could not do this; try again",
        )
        .into_response()
    })
}

/// Stores the response of a request that succeeded. After another one the key may be used again, unless the request
/// made a change.
async fn store_response(
    services: &Services,
    keyed_request: &KeyedRequest,
    path: &str,
    response: Response,
) -> Response {
    let (parts, body) = response.into_parts();
    let bytes = match to_bytes(body, LARGEST).await {
        Ok(bytes) => bytes,
        Err(error) => {
            tracing::error!(%error, "response for an Idempotency-Key not stored");
            return Problem::with_kind(ProblemKind::Internal, "the server could not answer")
                .into_response();
        }
    };
    let stored = if parts.status.is_success() {
        let text = |name: &HeaderName| {
            let value = parts.headers.get(name)?.to_str().ok()?;
            Some((name.to_string(), value.to_owned()))
        };
        let headers = STORED_HEADERS.iter().filter_map(text).collect();
        let answer = StoredResponse {
            status: parts.status.as_u16(),
            headers,
            body: STANDARD.encode(&bytes),
        };
        let mut subjects: BTreeSet<String> = path
            .split('/')
            .filter(|part| is_id(part))
            .map(str::to_owned)
            .collect();
        add_ids(
            &serde_json::from_slice(&bytes).unwrap_or_default(),
            &mut subjects,
        );
        idempotency::store_response(
            services,
            keyed_request,
            &serde_json::to_vec(&answer).unwrap_or_default(),
            subjects,
        )
        .await
    } else {
        idempotency::release(services, keyed_request).await
    };
    if let Err(error) = stored {
        // The client gets the response all the same. For a retry, the request is in progress.
        tracing::error!(%error, "response for an Idempotency-Key not stored");
    }
    Response::from_parts(parts, Body::from(bytes))
}

/// Whether a text has the form of an id. All kinds of ids have the same form.
fn is_id(text: &str) -> bool {
    text.parse::<UserId>().is_ok()
}

/// Adds the ids in a response, at every depth.
fn add_ids(answer: &Value, ids: &mut BTreeSet<String>) {
    match answer {
        Value::String(text) if is_id(text) => {
            ids.insert(text.clone());
        }
        Value::Array(all) => all.iter().for_each(|one| add_ids(one, ids)),
        Value::Object(members) => members.values().for_each(|one| add_ids(one, ids)),
        _ => {}
    }
}

fn replay(answer: &[u8]) -> Response {
    let read = || {
        let StoredResponse {
            status,
            headers,
            body,
        } = serde_json::from_slice(answer).ok()?;
        let mut response = Response::new(Body::from(STANDARD.decode(body).ok()?));
        *response.status_mut() = StatusCode::from_u16(status).ok()?;
        for (name, value) in headers {
            response.headers_mut().insert(
                HeaderName::try_from(name).ok()?,
                HeaderValue::try_from(value).ok()?,
            );
        }
        Some(response)
    };
    read().unwrap_or_else(|| {
        tracing::error!("stored response for an Idempotency-Key unreadable");
        Problem::with_kind(
            ProblemKind::Internal,
            "the stored response is unreadable; use another key",
        )
        .into_response()
    })
}
