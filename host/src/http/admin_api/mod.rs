//! The admin API, under `/admin/api/v1`: JSON, with a bearer token of `assent admin token`, problem details as errors.
//! Lists have `items` and, where there is more, `next`, which the next request gives as `after`.

mod accounts;
mod applications;
mod approval_addresses;
mod audit;
mod claims;
mod logos;
mod plugins;
mod saml_metadata;
mod service_providers;
mod users;

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Query, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post, put};
use serde::{Deserialize, Serialize};

use super::limits;
use super::problem::Problem;
use crate::domain::limits::Network;
use crate::domain::{Host, admin};
use crate::model::audit::{Actor, By, Origin};

/// The routes of the admin API, all behind the token.
pub(super) fn routes(host: &Arc<Host>) -> Router<Arc<Host>> {
    Router::new()
        .route("/applications", get(applications::list).post(applications::create))
        .route("/applications/{id}", get(applications::read).patch(applications::change).delete(applications::remove))
        .route("/applications/{id}/secret", post(applications::secret))
        .route("/applications/{id}/certificates", get(service_providers::certificates).post(service_providers::renew))
        .route("/applications/{id}/certificates/{key}", delete(service_providers::withdraw))
        .route("/applications/{id}/certificates/{key}/use", post(service_providers::take_over))
        .route("/applications/{id}/metadata", post(saml_metadata::refresh))
        .route("/applications/{id}/logo", get(logos::read).put(logos::set).delete(logos::remove))
        .route("/applications/{id}/accounts", get(accounts::list).post(accounts::create))
        .route("/accounts/{id}", get(accounts::read).patch(accounts::change).delete(accounts::remove))
        .route("/users", get(users::list).post(users::create))
        .route("/users/{id}", get(users::read).patch(users::change).delete(users::remove))
        .route("/users/{id}/erase", post(users::erase))
        .route("/users/{id}/enrolments", post(users::enrol))
        .route("/users/{id}/devices", get(users::devices))
        .route("/users/{id}/approval-addresses", get(approval_addresses::list))
        .route(
            "/users/{id}/approval-addresses/{channel}",
            put(approval_addresses::set).delete(approval_addresses::remove),
        )
        .route("/devices/{id}", delete(users::revoke_device))
        .route("/applications/{id}/claims-preview", get(claims::preview))
        .route("/audit", get(audit::list))
        .route("/audit/verification", get(audit::verification))
        .route("/claim-traces", get(claims::list))
        .route("/claim-traces/{token}", get(claims::read))
        .route("/plugins", get(plugins::list))
        .route("/plugins/reload", post(plugins::reload))
        .fallback(|| async { Problem::new(StatusCode::NOT_FOUND, "there is no such path in the admin API") })
        .method_not_allowed_fallback(|| async {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this path does not know that method")
        })
        .layer(from_fn_with_state(Arc::clone(host), authorize))
        .layer(from_fn_with_state(Arc::clone(host), limit_failures))
}

/// Limits how often an address may come without a good token.
async fn limit_failures(State(host): State<Arc<Host>>, from: Network, request: Request, next: Next) -> Response {
    let too_many = || {
        let detail = "there were too many requests without a good token; try again after the time in Retry-After";
        Problem::new(StatusCode::TOO_MANY_REQUESTS, detail).into_response()
    };
    limits::failures(&host, from, request, next, &[StatusCode::UNAUTHORIZED], too_many).await
}

/// Lets only a good token through, and tells the handlers whose it is.
async fn authorize(State(host): State<Arc<Host>>, from: Origin, mut request: Request, next: Next) -> Response {
    let header = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = header.and_then(|value| value.split_once(' '));
    let allowed = match token {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => admin::admin_token(&host, token.trim()).await,
        _ => Ok(None),
    };
    let mut response = match allowed {
        Ok(Some(token)) => {
            request.extensions_mut().insert(By::new(Actor::Administrator(token), from));
            next.run(request).await
        }
        Ok(None) => {
            let detail = "a token of `assent admin token` is required: Authorization: Bearer am_...";
            Problem::new(StatusCode::UNAUTHORIZED, detail).into_response()
        }
        Err(error) => Problem::from(error).into_response(),
    };
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A page of a list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    after: Option<String>,
    #[serde(default = "Page::usual")]
    limit: u32,
}

impl Page {
    const fn usual() -> u32 {
        50
    }

    /// Where the page begins.
    fn after<T: std::str::FromStr>(&self) -> Result<Option<T>, Problem> {
        let invalid = || Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "after: expected `next` of the page before");
        self.after.as_deref().map(|text| text.parse().map_err(|_| invalid())).transpose()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Page {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut axum::http::request::Parts, state: &S) -> Result<Self, Problem> {
        let page: Result<Query<Self>, QueryRejection> = Query::from_request_parts(parts, state).await;
        let Query(page) = page
            .map_err(|_| Problem::new(StatusCode::BAD_REQUEST, "the query may have `after` and `limit` (1 to 200)"))?;
        if !(1..=200).contains(&page.limit) {
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "limit: expected 1 to 200"));
        }
        Ok(page)
    }
}

/// A list's answer.
#[derive(Debug, Serialize)]
struct List<T> {
    items: Vec<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl<T> List<T> {
    /// Makes a page of rows that were asked for with one more than `limit`, to see whether there is more.
    fn of<R>(mut rows: Vec<R>, limit: u32, id: impl Fn(&R) -> String, show: impl Fn(R) -> T) -> Self {
        let limit = limit as usize;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = if more { rows.last().map(id) } else { None };
        Self { items: rows.into_iter().map(show).collect(), next }
    }
}

/// Reads a JSON body; unknown members are errors, and the message names the member.
fn parse<T: for<'a> Deserialize<'a>>(body: &Bytes) -> Result<T, Problem> {
    let unfit = |error: String| {
        Problem::new(StatusCode::BAD_REQUEST, format!("the body is not the JSON expected here: {error}"))
    };
    let mut json = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| unfit(error.to_string()))?;
    json.end().map_err(|error| unfit(error.to_string()))?;
    Ok(value)
}

/// Reads an id of a path; what is none names nothing.
fn id_of<T: std::str::FromStr>(text: &str, what: &'static str) -> Result<T, Problem> {
    text.parse().map_err(|_| admin::Refused::NotFound(what).into())
}

/// A moment in the form of RFC 3339.
fn moment(at: crate::clock::Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.millis()).map(|at| at.to_string()).unwrap_or_default()
}
