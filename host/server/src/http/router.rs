//! The routes.

mod responses;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get, post};
use responses::{asset, not_found, surround};
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::timeout::TimeoutLayer;

use super::admission::admit;
use super::compression::{CompressedDocuments, compress_document};
use super::fetch_metadata::reject_embedded;
use super::{admin_api, console, home, portal};
use crate::domain::Services;
use crate::domain::operations::traffic::idempotency::UNDER_WAY;
use crate::http::approvals::callbacks;
use crate::http::devices;
use crate::http::devices::recover;
use crate::http::oidc::{client_calls, cors, endpoints};
use crate::http::operations::{connection, health, logos, metrics, rate_limits};
use crate::http::portal::applications;
use crate::http::saml::{logout, metadata, sign_on};
use crate::http::sign_in::login::followed;
use crate::http::sign_in::login::identify;
use crate::http::sign_in::login::leave;
use crate::http::sign_in::login::passkey;
use crate::http::sign_in::{confirm, consent, login, session_end, test_sign_in};

/// The maximum size of a body, in bytes.
const LARGEST_BODY: usize = 64 * 1024;
/// The maximum body size of a call in which an application authenticates itself, in bytes.
const LARGEST_CALL: usize = 32 * 1024;
/// The maximum time until the response to a request begins. A device's long poll lasts half a minute.
const LONGEST: Duration = Duration::from_secs(60);
/// The maximum time until the response to a file import begins.
const LONGEST_FILE: Duration = Duration::from_secs(240);
// Otherwise a retry could run at the same time as its first attempt.
const _: () = assert!(
    LONGEST.as_secs() < LONGEST_FILE.as_secs() && LONGEST_FILE.as_secs() < UNDER_WAY.as_secs()
);

/// The paths that the listener for client certificates serves.
const MTLS_PATHS: [&str; 4] = [
    "/oidc/token",
    "/oidc/me",
    "/oidc/token/introspection",
    "/oidc/token/revocation",
];

/// Returns the router of everything that the server serves. The prebuilt responses share `origins`.
pub(super) fn routes(services: &Arc<Services>, origins: &Arc<cors::Origins>) -> Router {
    let documents = Arc::new(CompressedDocuments::default());
    let own = Router::new()
        .route("/", get(applications::show))
        .route("/sign-out", post(home::sign_out))
        .route("/session/ended", get(session_end::ended))
        .route("/consents/withdraw", post(consent::withdraw))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/connection", get(connection::show))
        .route("/assets/{*path}", document(&documents, get(asset)))
        .route("/logos/{application}", get(logos::show))
        .merge(portal::routes())
        .merge(sign_in_routes(services, &documents))
        .merge(sign_out_routes(services))
        .merge(saml_logout_routes(services))
        .merge(called(
            services,
            origins,
            Router::new().route("/oidc/token/introspection", post(client_calls::introspect)),
        ))
        .nest("/authenticator", authenticator_routes(services, &documents))
        .merge(recovery_routes(services))
        .route("/approvals/callbacks/{id}", post(callbacks::take))
        .merge(
            head_without_effect(Router::new().route("/admin", get(console::front)))
                .layer(from_fn(reject_embedded)),
        )
        .route("/admin/{*page}", get(console::inside))
        .merge(head_without_effect(Router::new().route(
            "/admin/test-sign-ins/{id}",
            get(test_sign_in::answered).post(test_sign_in::answered_by_post),
        )))
        .nest("/admin/api/v1", admin_api::routes(services))
        .fallback(not_found);
    // Errors also need the header that lets another site's page read a response, so its layer comes last.
    let shared = Router::new()
        .merge(shared_routes(services, origins, &documents))
        .route(
            "/.well-known/oauth-authorization-server/oidc",
            document(&documents, get(endpoints::configuration)),
        );
    let shared =
        bounded(services, shared, LARGEST_BODY, LONGEST).layer(cors::layer(Arc::clone(origins)));
    bounded(services, own, LARGEST_BODY, LONGEST)
        .merge(shared)
        .merge(bounded(
            services,
            admin_api::file_routes(services),
            admin_api::LARGEST_FILE,
            LONGEST_FILE,
        ))
        .layer(from_fn_with_state(Arc::clone(services), surround))
        .with_state(Arc::clone(services))
}

/// Compresses the responses of a route with public documents. No other route of this list is compressed; those of the
/// admin API choose by themselves.
fn document(
    documents: &Arc<CompressedDocuments>,
    handler: MethodRouter<Arc<Services>>,
) -> MethodRouter<Arc<Services>> {
    handler.layer(from_fn_with_state(Arc::clone(documents), compress_document))
}

/// Applies the bounds of every request.
fn bounded(
    services: &Arc<Services>,
    router: Router<Arc<Services>>,
    largest: usize,
    longest: Duration,
) -> Router<Arc<Services>> {
    let bounds = ServiceBuilder::new()
        .layer(from_fn_with_state(Arc::clone(services), admit))
        .layer(CatchPanicLayer::new())
        .layer(TimeoutLayer::with_status_code(
            StatusCode::SERVICE_UNAVAILABLE,
            longest,
        ))
        .layer(RequestBodyLimitLayer::new(largest));
    router.layer(bounds)
}

/// Returns the router of the listener for client certificates, which only serves the endpoints that applications call
/// themselves (RFC 8705 section 5).
pub(super) fn mtls_router(router: Router) -> Router {
    router.layer(from_fn(async |request: Request, next: Next| {
        if MTLS_PATHS.contains(&request.uri().path()) {
            return next.run(request).await;
        }
        let elsewhere =
            "This address is for applications that present a certificate. Pages are at the issuer's address.\n";
        (StatusCode::NOT_FOUND, elsewhere).into_response()
    }))
}

/// Returns the router of the listener for metrics.
pub(super) fn metrics_router(services: &Arc<Services>) -> Router {
    Router::new()
        .route("/metrics", get(metrics::show))
        .layer(RequestBodyLimitLayer::new(LARGEST_BODY))
        .layer(CatchPanicLayer::new())
        .with_state(Arc::clone(services))
}

/// The endpoints that single-page applications call, too.
fn shared_routes(
    services: &Arc<Services>,
    origins: &Arc<cors::Origins>,
    documents: &Arc<CompressedDocuments>,
) -> Router<Arc<Services>> {
    Router::new()
        .route("/oidc/me", get(endpoints::me).post(endpoints::me))
        .route(
            "/oidc/.well-known/openid-configuration",
            document(documents, get(endpoints::configuration)),
        )
        .route("/oidc/jwks", document(documents, get(endpoints::jwks)))
        .merge(called(
            services,
            origins,
            Router::new().route("/oidc/token", post(client_calls::token)),
        ))
        .merge(called(
            services,
            origins,
            Router::new().route("/oidc/token/revocation", post(client_calls::revoke)),
        ))
}

/// Applies the bounds of the endpoints at which applications authenticate themselves.
fn called(
    services: &Arc<Services>,
    origins: &Arc<cors::Origins>,
    router: Router<Arc<Services>>,
) -> Router<Arc<Services>> {
    let state = (Arc::clone(services), Arc::clone(origins));
    let bounds = ServiceBuilder::new()
        .layer(from_fn_with_state(state, rate_limits::token))
        .layer(RequestBodyLimitLayer::new(LARGEST_CALL));
    router.layer(bounds)
}

/// Answers HEAD on routes where GET has an effect, such as completing a login, with success and without the effect (RFC
/// 9110 section 9.3.2).
fn head_without_effect(routes: Router<Arc<Services>>) -> Router<Arc<Services>> {
    routes.layer(from_fn(|request: Request, next: Next| async move {
        if request.method() == Method::HEAD {
            let headers = [
                (header::CACHE_CONTROL, "no-store"),
                (
                    header::CONTENT_SECURITY_POLICY,
                    "default-src 'none'; frame-ancestors 'none'",
                ),
            ];
            return headers.into_response();
        }
        next.run(request).await
    }))
}

/// Each message costs a signature verification, and some cost a signature.
fn saml_logout_routes(services: &Arc<Services>) -> Router<Arc<Services>> {
    let routes = Router::new()
        .route(
            "/sso/SingleLogoutService/{application}",
            get(logout::service).post(logout::service_by_post),
        )
        .route("/sso/logout/{id}", get(logout::show))
        .route("/sso/logout/{id}/{request}", get(logout::ask));
    head_without_effect(routes).layer(from_fn_with_state(
        Arc::clone(services),
        rate_limits::sign_out,
    ))
}

fn sign_out_routes(services: &Arc<Services>) -> Router<Arc<Services>> {
    let routes = Router::new()
        .route(
            "/session/end",
            get(session_end::question).post(session_end::answer),
        )
        .route(
            "/oidc/session/end",
            get(session_end::end).post(session_end::end_by_post),
        );
    head_without_effect(routes).layer(from_fn_with_state(
        Arc::clone(services),
        rate_limits::sign_out,
    ))
}

fn sign_in_routes(
    services: &Arc<Services>,
    documents: &Arc<CompressedDocuments>,
) -> Router<Arc<Services>> {
    let pages = Router::new()
        .route(
            "/oidc/auth",
            get(endpoints::auth).post(endpoints::auth_by_post),
        )
        .route(
            "/sso/SingleSignOnService/{application}",
            get(sign_on::sign_on).post(sign_on::sign_on_by_post),
        )
        .route("/sso/sign-on/{id}", get(sign_on::proceed))
        .route(
            "/login/{id}",
            get(login::show).post(login::identify::identify),
        )
        .route("/login/{id}/return", get(leave::return_by_itself))
        .route("/sign-in", get(portal::sign_in));
    head_without_effect(pages)
        .route(
            "/sso/metadata/{application}",
            document(documents, get(metadata::metadata)),
        )
        .route("/login/{id}/events", get(followed::events))
        .route("/login/{id}/state", get(followed::state))
        .route("/login/{id}/passkey", post(login::passkey::passkey))
        .route(
            "/login/{id}/passkey/challenge",
            post(passkey::passkey_challenge),
        )
        .route("/login/{id}/cancel", post(login::cancel))
        .route("/login/{id}/again", post(login::again))
        .route("/login/{id}/continue", post(identify::proceed))
        .route("/login/{id}/confirm", post(confirm::confirm))
        .route("/login/{id}/consent", post(consent::decide))
        .route("/login/{id}/leave", post(login::leave::leave))
        .layer(from_fn_with_state(
            Arc::clone(services),
            rate_limits::sign_in,
        ))
}

/// Each code costs a search in the database, even without authentication.
fn recovery_routes(services: &Arc<Services>) -> Router<Arc<Services>> {
    Router::new()
        .route("/recover", get(recover::show).post(recover::redeem))
        .route("/recover/done", get(recover::show_link))
        .layer(from_fn_with_state(
            Arc::clone(services),
            rate_limits::sign_in,
        ))
}

fn authenticator_routes(
    services: &Arc<Services>,
    documents: &Arc<CompressedDocuments>,
) -> Router<Arc<Services>> {
    Router::new()
        .route("/", get(devices::app))
        .route("/manifest.webmanifest", document(documents, get(asset)))
        .route("/sw.js", document(documents, get(asset)))
        .nest("/api", devices::routes(services))
}
