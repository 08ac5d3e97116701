//! The rate limits of requests: 429 with `Retry-After` (RFC 6585 section 4), in the form that the caller expects.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{CACHE_CONTROL, RETRY_AFTER};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::domain::Services;
use crate::domain::operations::traffic::rate_limits::keys::Network;
use crate::domain::operations::traffic::rate_limits::limit::{Limit, RateLimitError};
use crate::http::fetch_metadata;
use crate::http::fetch_metadata::Cause;
use crate::http::forwarded::address_of;
use crate::http::oidc::cors::Origins;
use crate::http::page_error::PageError;
use crate::http::pages::link::Link;
use crate::http::texts::preferred_language;
use crate::messages::Message;

/// The network of a request.
impl FromRequestParts<Arc<Services>> for Network {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        services: &Arc<Services>,
    ) -> Result<Self, Self::Rejection> {
        Ok(address_of(services, &parts.extensions, &parts.headers).into())
    }
}

/// Limits the requests of an address for login pages. Pages of other sites cannot use up the limit: see [`Cause`].
pub(crate) async fn sign_in(
    State(services): State<Arc<Services>>,
    request: Request,
    next: Next,
) -> Response {
    match rejection_of_sign_in(&services, &request) {
        None => next.run(request).await,
        Some(rejection) => rejection,
    }
}

/// Counts a request for a login page. Returns the response to one too many.
pub(crate) fn rejection_of_sign_in(services: &Services, request: &Request) -> Option<Response> {
    rejection_of_page(services, &services.rate_limits.login_pages_per_ip, request)
}

/// Limits the requests of an address to sign out, because each may cost a signature or a seal.
pub(crate) async fn sign_out(
    State(services): State<Arc<Services>>,
    request: Request,
    next: Next,
) -> Response {
    let limit = &services.rate_limits.sign_out_pages_per_ip;
    match rejection_of_page(&services, limit, &request) {
        None => next.run(request).await,
        Some(rejection) => rejection,
    }
}

fn rejection_of_page(
    services: &Services,
    navigations: &Limit<Network>,
    request: &Request,
) -> Option<Response> {
    let limit = match Cause::from_request(request) {
        Cause::Navigation => navigations,
        Cause::Frame => &services.rate_limits.framed_pages_per_ip,
        Cause::Embedded => return Some(fetch_metadata::rejection()),
    };
    let from = address_of(services, request.extensions(), request.headers()).into();
    let exhausted = limit.count_call(&from, services.now()).err()?;
    let refused = Message::new("error-too-many-network");
    let language = preferred_language(services, request.headers());
    let page = PageError::too_many(exhausted, refused, next_link(request));
    Some(page.render(services, language))
}

/// Limits the calls of an address to the endpoints for applications. A browser calls them only for single-page
/// applications, so the server rejects calls of other sites' pages without counting them.
pub(crate) async fn token(
    State((services, origins)): State<(Arc<Services>, Arc<Origins>)>,
    request: Request,
    next: Next,
) -> Response {
    if fetch_metadata::is_cross_site(request.headers())
        && !origins.has_that_of(request.headers()).await
    {
        return foreign_page();
    }
    match rejection_of_call(&services, &request) {
        None => next.run(request).await,
        Some(rejection) => rejection,
    }
}

/// Counts a call of the address to the endpoints for applications. Returns the response to one too many.
pub(crate) fn rejection_of_call(services: &Services, request: &Request) -> Option<Response> {
    let from = address_of(services, request.extensions(), request.headers()).into();
    let limit = &services.rate_limits.token_requests_per_ip;
    let counted = limit.count_call(&from, services.now());
    let exhausted = counted.err()?;
    Some(too_many_calls("requests", exhausted))
}

/// Limits the authentication failures of an address. The server checks the credentials first: valid ones pass, even
/// after many failures of the same network. `failed` returns whether a response reports a failure; `too_many` is the
/// interface's own rejection.
pub(crate) async fn limit_failures(
    services: &Services,
    limit: &Limit<Network>,
    from: Network,
    request: Request,
    next: Next,
    failed: impl FnOnce(&Response) -> bool,
    too_many: impl FnOnce() -> Response,
) -> Response {
    let response = next.run(request).await;
    if !failed(&response) {
        return response;
    }
    match limit.count_call(&from, services.now()) {
        Ok(()) => response,
        Err(exhausted) => with_retry_after(too_many(), exhausted),
    }
}

/// The response to a page of an origin that no single-page application registered.
fn foreign_page() -> Response {
    let description =
        "no single-page application has a redirect URI at the origin of the page that called";
    let body = json!({"error": "invalid_request", "error_description": description});
    let headers = [(CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (StatusCode::FORBIDDEN, headers, Json(body)).into_response()
}

/// The error for an application. This code of RFC 6749 means that the application may retry.
pub(crate) fn too_many_calls(what: &str, exhausted: RateLimitError) -> Response {
    let description =
        format!("there were too many {what}; try again after the time in Retry-After");
    let body = json!({"error": "temporarily_unavailable", "error_description": description});
    let headers = [(CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    with_retry_after(
        (StatusCode::TOO_MANY_REQUESTS, headers, Json(body)).into_response(),
        exhausted,
    )
}

/// The link with which the user continues: to the same page, or to the start page if the request was a POST, which a
/// link cannot repeat.
fn next_link(request: &Request) -> Link {
    match (request.method(), request.uri().path_and_query()) {
        (&Method::GET, Some(address)) => try_again(address.as_str()),
        _ => Link::to_start(),
    }
}

/// The link to the page that the user may request again.
pub(crate) fn try_again(address: &str) -> Link {
    Link {
        address: address.to_owned(),
        text: Message::new("error-again"),
    }
}

/// The response to a service that calls back too often.
pub(crate) fn too_many_callbacks(exhausted: RateLimitError) -> Response {
    with_retry_after(StatusCode::TOO_MANY_REQUESTS.into_response(), exhausted)
}

pub(crate) fn too_many_images(exhausted: RateLimitError) -> Response {
    with_retry_after(StatusCode::TOO_MANY_REQUESTS.into_response(), exhausted)
}

fn with_retry_after(mut response: Response, exhausted: RateLimitError) -> Response {
    response
        .headers_mut()
        .insert(RETRY_AFTER, exhausted.seconds().into());
    response
}
