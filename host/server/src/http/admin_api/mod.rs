//! The admin API, under `/admin/api/v1`: JSON, with problem details as errors. Callers authenticate with an operator
//! token, a session of the console or an access token of a service account. Each route names the permission that it
//! needs. Lists have `items` and, if there is another page, `next`, which is the value of `after` in the next request.

mod access;
mod access_page;
mod accounts;
mod action_approvals;
mod activity;
mod application_list;
mod application_security;
mod application_view;
mod applications;
mod areas;
mod assignments;
mod audit;
pub(super) mod authorize;
mod backchannel_requests;
mod caller_checks;
mod claims;
mod client_secrets;
mod compression;
mod conditional;
mod context;
mod details_types;
mod email_confirmations;
mod error_references;
mod export;
mod external_authenticators;
mod groups;
mod idempotency;
mod import_limit;
mod input;
mod invitations;
mod keys;
mod logos;
mod mail;
mod managed_applications;
mod manifests;
mod me;
pub mod openapi;
mod operation;
mod plugins;
mod receipts;
mod registration_tokens;
mod reports;
pub mod routes;
mod saml_metadata;
mod service_providers;
mod table;
mod test_sign_ins;
mod transfers;
mod user_devices;
mod users;

use std::sync::Arc;

use axum::Router;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use routes::Route;

use super::problem::{Problem, ProblemKind};
use crate::domain::Services;
use crate::http::admin_api::areas::all_routes;

use routes::Rule;

/// The path of the API.
const BASE: &str = "/admin/api/v1";
/// The maximum size of a body with a file, in bytes: a table, or a component of 8 MiB in base64.
pub(super) const LARGEST_FILE: usize = 12 << 20;

/// The routes with their rules: method, path and rule.
pub fn rules() -> Vec<(Method, String, Rule)> {
    all_routes()
        .into_iter()
        .map(|route| (route.method.clone(), route.path.clone(), route.rule))
        .collect()
}

/// The routes of the admin API except those that take files, below its own path.
pub(super) fn routes(services: &Arc<Services>) -> Router<Arc<Services>> {
    let routes = all_routes().into_iter().filter(|route| !route.takes_file());
    let router = routes.fold(Router::new(), |router, route| {
        route.mount(router, "", services)
    });
    let nothing = || async {
        Problem::with_kind(
            ProblemKind::NotFound,
            "there is no such path in the admin API",
        )
    };
    // Routes are needed here: without them, the fallback of the console would serve these paths, because its pages are
    // all paths below `/admin`.
    router
        .route("/", any(nothing))
        .route("/{*path}", any(nothing))
        .fallback(nothing)
}

/// The routes for callers without authentication: the OpenAPI document, which is public.
pub(super) fn public_routes() -> Router<Arc<Services>> {
    Router::new().route("/openapi.json", get(openapi::serve))
}

/// The routes of the admin API that take files, with their complete paths. Their bodies may be larger.
pub(super) fn file_routes(services: &Arc<Services>) -> Router<Arc<Services>> {
    let routes = all_routes().into_iter().filter(Route::takes_file);
    routes.fold(Router::new(), |router, route| {
        route.mount(router, BASE, services)
    })
}

/// Whether the path belongs to this API.
pub(super) fn is_path(path: &str) -> bool {
    path.strip_prefix(BASE)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Converts rejections of outer layers into problems: a body that is too large, an unsupported method, a response that
/// took too long.
pub(super) fn in_its_words(response: Response) -> Response {
    let status = response.status();
    let kind = response
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default();
    let is_problem = kind.starts_with("application/problem+json");
    if is_problem {
        return response;
    }
    let detail = match status {
        StatusCode::PAYLOAD_TOO_LARGE => input::TOO_LARGE,
        StatusCode::METHOD_NOT_ALLOWED => {
            "this path does not support the method; the header Allow lists the supported ones"
        }
        StatusCode::URI_TOO_LONG => "the address is too long",
        StatusCode::SERVICE_UNAVAILABLE => {
            "the server is busy, or the response took too long; try again"
        }
        StatusCode::BAD_REQUEST => "the URL contains an invalid character",
        status if status.is_client_error() => "the request cannot be read",
        _ => "the server could not answer; try again",
    };
    let mut answer = Problem::new(status, detail).into_response();
    // The rejection's other headers stay, such as `Allow`.
    for (name, value) in response.headers() {
        let is_own = name == header::CONTENT_TYPE
            || name == header::CONTENT_LENGTH
            || name == header::RETRY_AFTER && answer.headers().contains_key(header::RETRY_AFTER);
        if !is_own {
            answer.headers_mut().append(name, value.clone());
        }
    }
    answer
}
