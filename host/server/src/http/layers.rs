//! The layers of a request, from the outside to the inside. A request passes those of its route in this order, and its
//! response passes them in the opposite order.
//!
//! The listener comes before: it accepts connections, measures requests and answers prebuilt documents. Most calls of
//! applications pass the same checks in the [short way](super::short_way).

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use axum::routing::MethodRouter;
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::set_header::SetResponseHeaderLayer;
use tower_http::timeout::TimeoutLayer;

use crate::domain::Services;
use crate::http::admin_api::{LARGEST_FILE, authorize};
use crate::http::admission::admit;
use crate::http::compression::{CompressedDocuments, compress_document};
use crate::http::devices;
use crate::http::fetch_metadata::reject_embedded;
use crate::http::oidc::{cors, paths};
use crate::http::operations::rate_limits;
use crate::http::router::responses::surround;

/// The maximum size of a call in which an application authenticates itself, in bytes.
pub(super) const LARGEST_CALL: usize = 32 * 1024;

/// The paths that the listener for client certificates serves, with those of receipts.
const MTLS_PATHS: [&str; 7] = [
    "/oidc/token",
    "/oidc/me",
    "/oidc/token/introspection",
    "/oidc/token/revocation",
    "/oidc/par",
    "/oidc/backchannel",
    "/oidc/device_authorization",
];

/// The routes below a layer.
type Routes = Router<Arc<Services>>;

/// 1. Only on the listener for client certificates. It serves the endpoints that applications call themselves (RFC 8705
///    section 5), because a browser would ask the user for a certificate on every page.
pub(super) fn only_calls(router: Router) -> Router {
    router.layer(from_fn(async |request: Request, next: Next| {
        let path = request.uri().path();
        if MTLS_PATHS.contains(&path) || paths::is_receipt(path) {
            return next.run(request).await;
        }
        let elsewhere =
            "This address is for applications that present a certificate. Pages are at the issuer's address.\n";
        (StatusCode::NOT_FOUND, elsewhere).into_response()
    }))
}

/// 2. The headers of every response, and the form of errors from the layers below.
pub(super) fn within_response_form(services: &Arc<Services>, routes: Routes) -> Routes {
    routes.layer(from_fn_with_state(Arc::clone(services), surround))
}

/// 3. Lets pages of single-page applications read responses. It is outside the bounds, because errors need the header
///    too.
pub(super) fn readable_across_origins(origins: &Arc<cors::Origins>, routes: Routes) -> Routes {
    routes.layer(cors::layer(Arc::clone(origins)))
}

/// 4. The bounds of every request. Under overload the least urgent requests are rejected before they cost anything. A
///    panic ends one request. Then come the maximum time until the response begins, and the maximum size of the body.
pub(super) fn within_bounds(
    services: &Arc<Services>,
    routes: Routes,
    largest: usize,
    longest: Duration,
) -> Routes {
    let bounds = ServiceBuilder::new()
        .layer(from_fn_with_state(Arc::clone(services), admit))
        .layer(CatchPanicLayer::new())
        .layer(TimeoutLayer::with_status_code(
            StatusCode::SERVICE_UNAVAILABLE,
            longest,
        ))
        .layer(RequestBodyLimitLayer::new(largest));
    routes.layer(bounds)
}

/// 5. The endpoints at which applications authenticate themselves have a rate limit for each address, and smaller
///    bodies, because the body is read before the application is known.
pub(super) fn called_by_applications(
    services: &Arc<Services>,
    origins: &Arc<cors::Origins>,
    routes: Routes,
) -> Routes {
    let state = (Arc::clone(services), Arc::clone(origins));
    let bounds = ServiceBuilder::new()
        .layer(from_fn_with_state(state, rate_limits::token))
        .layer(RequestBodyLimitLayer::new(LARGEST_CALL));
    routes.layer(bounds)
}

/// 5. The endpoints at which applications register themselves have the rate limit of those at which they authenticate.
///    The body is read only after the token was verified.
pub(super) fn called_by_registrations(
    services: &Arc<Services>,
    origins: &Arc<cors::Origins>,
    routes: Routes,
) -> Routes {
    let state = (Arc::clone(services), Arc::clone(origins));
    routes.layer(from_fn_with_state(state, rate_limits::token))
}

/// 5. The pages to sign in have a rate limit for each address, because each request costs a search or a write in the
///    database, even without authentication.
pub(super) fn limited_sign_in(services: &Arc<Services>, routes: Routes) -> Routes {
    routes.layer(from_fn_with_state(
        Arc::clone(services),
        rate_limits::sign_in,
    ))
}

/// 5. The pages to sign out have a rate limit for each address, because each message costs a signature verification,
///    and some cost a signature.
pub(super) fn limited_sign_out(services: &Arc<Services>, routes: Routes) -> Routes {
    routes.layer(from_fn_with_state(
        Arc::clone(services),
        rate_limits::sign_out,
    ))
}

/// 5. The admin API. No cache stores its responses. Failed authentications have a rate limit for each network; then
///    comes the authentication itself, except for `public` routes.
///
/// A route adds the layers that follow from its description, such as its permission: see `admin_api::routes`.
pub(super) fn administration(services: &Arc<Services>, routes: Routes, public: Routes) -> Routes {
    let authentication = ServiceBuilder::new()
        .layer(from_fn_with_state(
            Arc::clone(services),
            authorize::limit_failures,
        ))
        .layer(from_fn_with_state(
            Arc::clone(services),
            authorize::authorize,
        ));
    routes
        .layer(authentication)
        .merge(public)
        .layer(from_fn(authorize::never_stored))
}

/// 5. The routes of the admin API that take files: outside of its other layers, the maximum size of a file replaces
///    that of axum's extractors.
pub(super) fn with_files(routes: Routes) -> Routes {
    routes.layer(DefaultBodyLimit::max(LARGEST_FILE))
}

/// 5. The authenticator API. No cache stores its responses. Calls with an invalid link or signature have a rate limit
///    for each network.
pub(super) fn called_by_authenticators(services: &Arc<Services>, routes: Routes) -> Routes {
    let bounds = ServiceBuilder::new()
        .layer(SetResponseHeaderLayer::overriding(
            header::CACHE_CONTROL,
            HeaderValue::from_static("no-store"),
        ))
        .layer(from_fn_with_state(
            Arc::clone(services),
            devices::limit_failures,
        ));
    routes.layer(bounds)
}

/// 6. Rejects requests of other sites' pages that cannot show the response.
pub(super) fn without_embedding(routes: Routes) -> Routes {
    routes.layer(from_fn(reject_embedded))
}

/// 7. Answers HEAD on routes where GET has an effect, such as completing a login, with success and without the effect
///    (RFC 9110 section 9.3.2).
pub(super) fn head_without_effect(routes: Routes) -> Routes {
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

/// 8. Compresses the responses of a route with public documents. No other route is compressed, because a compressed
///    secret beside text of an attacker can be guessed; those of the admin API choose by themselves.
pub(super) fn document(
    documents: &Arc<CompressedDocuments>,
    handler: MethodRouter<Arc<Services>>,
) -> MethodRouter<Arc<Services>> {
    handler.layer(from_fn_with_state(Arc::clone(documents), compress_document))
}
