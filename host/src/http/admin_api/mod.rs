//! The admin API, under `/admin/api/v1`: JSON, problem details as errors. Whoever calls is known by a token of the machine, a
//! session of the console or an access token of a service account; each route names the permission that it needs.
//! Lists have `items` and, where there is more, `next`, which the next request gives as `after`.

mod accounts;
mod activity;
mod applications;
mod approval_addresses;
mod audit;
mod authorize;
mod claims;
mod conditional;
mod idempotency;
mod input;
mod keys;
mod logos;
mod me;
mod openapi;
mod operation;
mod plugins;
mod routes;
mod saml_metadata;
mod service_providers;
mod steps;
mod trials;
mod users;

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::problem::{Problem, ProblemKind};
use crate::domain::{Host, admin};
pub use openapi::text as openapi_document;
use routes::Route;
pub use routes::Rule;

/// Where the API is.
const BASE: &str = "/admin/api/v1";

/// Every route there is.
fn all_routes() -> Vec<Route> {
    let areas = [
        me::routes(),
        steps::routes(),
        users::routes(),
        activity::routes(),
        approval_addresses::routes(),
        accounts::routes(),
        applications::routes(),
        service_providers::routes(),
        logos::routes(),
        trials::routes(),
        claims::routes(),
        audit::routes(),
        keys::routes(),
        plugins::routes(),
        operation::routes(),
    ];
    areas.into_iter().flat_map(routes::Area::into_routes).collect()
}

/// The routes with who may use them: method, path and rule.
pub fn rules() -> Vec<(Method, String, Rule)> {
    all_routes().into_iter().map(|route| (route.method.clone(), route.path.clone(), route.rule)).collect()
}

/// The routes of the admin API, but for those with larger bodies.
pub(super) fn routes(host: &Arc<Host>) -> Router<Arc<Host>> {
    let routes = all_routes().into_iter().filter(|route| !route.is_large());
    guarded(
        host,
        mounted(host, routes)
            .fallback(|| async { Problem::of(ProblemKind::NotFound, "there is no such path in the admin API") }),
    )
    // It is for everybody.
    .route("/openapi.json", get(openapi::serve))
}

/// The routes whose bodies may be larger than others'.
pub(super) fn large_routes(host: &Arc<Host>) -> Router<Arc<Host>> {
    guarded(host, mounted(host, all_routes().into_iter().filter(Route::is_large))).layer(DefaultBodyLimit::disable())
}

fn mounted(host: &Arc<Host>, routes: impl Iterator<Item = Route>) -> Router<Arc<Host>> {
    routes.fold(Router::new(), |router, route| route.mount(router, host))
}

fn guarded(host: &Arc<Host>, router: Router<Arc<Host>>) -> Router<Arc<Host>> {
    router
        .layer(from_fn_with_state(Arc::clone(host), authorize::authorize))
        .layer(from_fn_with_state(Arc::clone(host), authorize::limit_failures))
        .layer(from_fn(authorize::never_stored))
}

/// Says as problems what was refused before the API could say it itself: a body that is too large, another method, an answer
/// that took too long.
pub(super) async fn in_its_words(request: Request, next: Next) -> Response {
    let called = request.uri().path().strip_prefix(BASE).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let response = next.run(request).await;
    let status = response.status();
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_problem = kind.starts_with("application/problem+json");
    if !called || is_problem || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let detail = match status {
        StatusCode::PAYLOAD_TOO_LARGE => input::TOO_LARGE,
        StatusCode::METHOD_NOT_ALLOWED => "this path does not know that method; Allow has those that it knows",
        StatusCode::URI_TOO_LONG => "the address is too long",
        StatusCode::SERVICE_UNAVAILABLE => "the answer took too long; try again",
        status if status.is_client_error() => "the request can't be read",
        _ => "the server could not answer; try again",
    };
    let mut answer = Problem::new(status, detail).into_response();
    // What the refusal said in other headers stands, such as `Allow`.
    for (name, value) in response.headers() {
        if name != header::CONTENT_TYPE && name != header::CONTENT_LENGTH {
            answer.headers_mut().append(name, value.clone());
        }
    }
    answer
}

/// Reads an id of a path; what is none names nothing.
fn id_of<T: std::str::FromStr>(text: &str, what: &'static str) -> Result<T, Problem> {
    text.parse().map_err(|_| admin::Refused::NotFound(what).into())
}

/// A moment in the form of RFC 3339.
fn moment(at: crate::clock::Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.millis()).map(|at| at.to_string()).unwrap_or_default()
}
