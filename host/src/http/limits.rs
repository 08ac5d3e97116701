//! The rate limits, as requests meet them: 429 with `Retry-After` (RFC 6585 section 4), in the words of whoever asks.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{CACHE_CONTROL, RETRY_AFTER};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::context::address_of;
use super::pages::Link;
use super::reply::ErrorReply;
use super::texts::Message;
use crate::domain::Host;
use crate::domain::limits::{Exhausted, Network};
use crate::model::language::Language;

/// Where a request comes from.
impl FromRequestParts<Arc<Host>> for Network {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, host: &Arc<Host>) -> Result<Self, Self::Rejection> {
        Ok(address_of(host, &parts.extensions, &parts.headers).into())
    }
}

/// Limits how often an address asks for pages of a sign-in.
pub(super) async fn sign_in(
    State(host): State<Arc<Host>>,
    from: Network,
    language: Language,
    request: Request,
    next: Next,
) -> Response {
    match host.limits.sign_in.take(&from, host.now()) {
        Ok(()) => next.run(request).await,
        Err(exhausted) => {
            let refused = Message::of("error-too-many-network");
            too_many_pages(&host, language, exhausted, refused, way_on(&request))
        }
    }
}

/// Limits how often an address calls the endpoints that applications call.
pub(super) async fn token(State(host): State<Arc<Host>>, from: Network, request: Request, next: Next) -> Response {
    match host.limits.token.take(&from, host.now()) {
        Ok(()) => next.run(request).await,
        Err(exhausted) => too_many_calls("requests", exhausted),
    }
}

/// Limits how often an address is refused for what it shows as proof: a status of `refusals`. `too_many` is the answer in
/// the words of the interface.
pub(super) async fn failures(
    host: &Host,
    from: Network,
    request: Request,
    next: Next,
    refusals: &[StatusCode],
    too_many: impl FnOnce() -> Response,
) -> Response {
    if let Err(exhausted) = host.limits.failures.check(&from, host.now()) {
        return with_retry_after(too_many(), exhausted);
    }
    let response = next.run(request).await;
    if refusals.contains(&response.status()) {
        // Whether this one was still within the limit is for the next request to find out.
        let _ = host.limits.failures.take(&from, host.now());
    }
    response
}

/// What an application is told. Of the codes of RFC 6749 this one says that it may try again.
pub(super) fn too_many_calls(what: &str, exhausted: Exhausted) -> Response {
    let description = format!("there were too many {what}; try again after the time in Retry-After");
    let body = json!({"error": "temporarily_unavailable", "error_description": description});
    let headers = [(CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    with_retry_after((StatusCode::TOO_MANY_REQUESTS, headers, Json(body)).into_response(), exhausted)
}

/// Where the person goes on: to the same page, or, since a link can't post what they posted, to the start page.
fn way_on(request: &Request) -> Link {
    match (request.method(), request.uri().path_and_query()) {
        (&Method::GET, Some(address)) => try_again(address.as_str()),
        _ => Link::to_start(),
    }
}

/// The link to the page that may be asked for again.
pub(super) fn try_again(address: &str) -> Link {
    Link { address: address.to_owned(), text: Message::of("error-again") }
}

/// The page that a person is shown, with what there was too much of, and where they go on after the wait.
pub(super) fn too_many_pages(
    host: &Host,
    language: Language,
    exhausted: Exhausted,
    what_happened: Message,
    next: Link,
) -> Response {
    let page = ErrorReply {
        status: StatusCode::TOO_MANY_REQUESTS,
        title: Message::of("error-too-many"),
        what_happened,
        what_to_do: Message::of("error-wait").number("seconds", i64::try_from(exhausted.seconds()).unwrap_or(i64::MAX)),
    };
    with_retry_after(page.render_with(host, language, &"a rate limit is reached", Some(next)), exhausted)
}

/// What a service that calls back is told.
pub(super) fn too_many_callbacks(exhausted: Exhausted) -> Response {
    with_retry_after(StatusCode::TOO_MANY_REQUESTS.into_response(), exhausted)
}

fn with_retry_after(mut response: Response, exhausted: Exhausted) -> Response {
    response.headers_mut().insert(RETRY_AFTER, exhausted.seconds().into());
    response
}
