//! The routes.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{ETAG, IF_NONE_MATCH, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post, put};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::set_header::SetResponseHeaderLayer;
use tower_http::timeout::TimeoutLayer;

use super::reply::ErrorReply;
use super::{admin_api, assets, authenticator, console, health, home, login, oidc, session_end};
use crate::domain::Host;

/// The largest body that is read, in bytes.
const LARGEST_BODY: usize = 64 * 1024;
/// How long a request may take until its answer begins. A phone's request for news waits half a minute.
const LONGEST: Duration = Duration::from_secs(60);

/// Everything that the host serves.
pub fn router(host: Arc<Host>) -> Router {
    Router::new()
        .route("/", get(home::show))
        .route("/sign-out", post(home::sign_out))
        .route("/session/end", get(session_end::question).post(session_end::answer))
        .route("/session/ended", get(session_end::ended))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/assets/{*path}", get(asset))
        .nest("/oidc", oidc_routes())
        .nest("/login", login_routes())
        .nest("/authenticator", authenticator_routes())
        .route("/admin", get(console::overview))
        .nest("/admin/api/v1", admin_api::routes(&host))
        .fallback(not_found)
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, LONGEST))
        .layer(CatchPanicLayer::new())
        .layer(from_fn_with_state(Arc::clone(&host), common_headers))
        .with_state(host)
}

fn oidc_routes() -> Router<Arc<Host>> {
    Router::new()
        .route("/.well-known/openid-configuration", get(oidc::configuration))
        .route("/auth", get(oidc::auth).post(oidc::auth_by_post))
        .route("/token", post(oidc::token))
        .route("/me", get(oidc::me).post(oidc::me))
        .route("/jwks", get(oidc::jwks))
        .route("/session/end", get(session_end::end).post(session_end::end_by_post))
}

fn login_routes() -> Router<Arc<Host>> {
    Router::new()
        .route("/{id}", get(login::show).post(login::identify))
        .route("/{id}/events", get(login::events))
        .route("/{id}/cancel", post(login::cancel))
        .route("/{id}/again", post(login::again))
        .route("/{id}/leave", post(login::leave))
}

fn authenticator_routes() -> Router<Arc<Host>> {
    Router::new()
        .route("/", get(authenticator::app))
        .route("/manifest.webmanifest", get(asset))
        .route("/sw.js", get(asset))
        .nest("/api", authenticator_api_routes())
}

fn authenticator_api_routes() -> Router<Arc<Host>> {
    Router::new()
        .route("/enrolments/look", post(authenticator::look))
        .route("/enrolments", post(authenticator::enrol))
        .route("/requests", get(authenticator::requests))
        .route("/requests/{id}", post(authenticator::decide))
        .route("/device/push", put(authenticator::push))
        .route("/device", delete(authenticator::remove))
        .layer(SetResponseHeaderLayer::overriding(header::CACHE_CONTROL, HeaderValue::from_static("no-store")))
}

/// A stylesheet, script or icon.
async fn asset(
    State(host): State<Arc<Host>>,
    axum::extract::OriginalUri(uri): axum::extract::OriginalUri,
    headers: HeaderMap,
) -> Response {
    let Some(asset) = assets::find(uri.path()) else { return not_found(State(host), uri).await };
    let Ok(etag) = HeaderValue::from_str(&asset.etag) else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let unchanged = headers.get(IF_NONE_MATCH).is_some_and(|known| known == etag);
    let mut response = if unchanged { StatusCode::NOT_MODIFIED.into_response() } else { asset.bytes.into_response() };
    let set = response.headers_mut();
    set.insert(ETAG, etag);
    set.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
    set.insert(header::CACHE_CONTROL, HeaderValue::from_static(asset.cache_control));
    if let Some(scope) = asset.service_worker_allowed {
        set.insert("service-worker-allowed", HeaderValue::from_static(scope));
    }
    response
}

async fn not_found(State(host): State<Arc<Host>>, uri: Uri) -> Response {
    ErrorReply {
        status: StatusCode::NOT_FOUND,
        title: "There is no such page",
        what_happened: "The address does not lead anywhere on this site.",
        what_to_do: "Check the address, or begin at the start page.",
    }
    .render(&host, &uri.path())
}

/// Headers of every answer: nothing is guessed about types, no address leaks to other sites, no page is framed.
async fn common_headers(State(host): State<Arc<Host>>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers
        .insert("permissions-policy", HeaderValue::from_static("camera=(), geolocation=(), microphone=(), payment=()"));
    if host.settings.is_https() {
        headers.insert(STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    }
    response
}
