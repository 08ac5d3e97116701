//! The routes.

pub(super) mod responses;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::{get, post};
use responses::{asset, not_found};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::limit::RequestBodyLimitLayer;

use super::compression::CompressedDocuments;
use super::{admin_api, console, home, layers, page_routes, portal};
use crate::domain::Services;
use crate::domain::operations::traffic::idempotency::UNDER_WAY;
use crate::http::approvals::callbacks;
use crate::http::devices;
use crate::http::devices::recover;
use crate::http::oidc::{client_calls, cors, endpoints, registration};
use crate::http::operations::{connection, health, logos, metrics};
use crate::http::portal::applications;
use crate::http::saml::{logout, metadata, sign_on};
use crate::http::sign_in::login::followed;
use crate::http::sign_in::login::identify;
use crate::http::sign_in::login::leave;
use crate::http::sign_in::login::passkey;
use crate::http::sign_in::{
    confirm, consent, device_authorization, login, session_end, test_sign_in,
};

/// The maximum size of a body, in bytes.
const LARGEST_BODY: usize = 64 * 1024;
/// The maximum time until the response to a request begins. A device's long poll lasts half a minute.
pub(super) const LONGEST: Duration = Duration::from_secs(60);
/// The maximum time until the response to a file import begins.
const LONGEST_FILE: Duration = Duration::from_secs(240);
// Otherwise a retry could run at the same time as its first attempt.
const _: () = assert!(
    LONGEST.as_secs() < LONGEST_FILE.as_secs() && LONGEST_FILE.as_secs() < UNDER_WAY.as_secs()
);

/// Returns the router of everything that the server serves. The prebuilt responses share `origins`.
pub(super) fn routes(services: &Arc<Services>, origins: &Arc<cors::Origins>) -> Router {
    let documents = Arc::new(CompressedDocuments::default());
    let own = Router::new()
        .route("/", page_routes::get(applications::show))
        .route("/sign-out", page_routes::post(home::sign_out))
        .route("/session/ended", get(session_end::show_end))
        .route("/consents/withdraw", page_routes::post(consent::withdraw))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/connection", get(connection::show))
        .route("/assets/{*path}", layers::document(&documents, get(asset)))
        .route("/logos/{application}", get(logos::show))
        .merge(portal::routes())
        .merge(sign_in_routes(services, &documents))
        .merge(sign_out_routes(services))
        .merge(saml_logout_routes(services))
        .merge(layers::called_by_applications(
            services,
            origins,
            Router::new()
                .route("/oidc/token/introspection", post(client_calls::introspect))
                .route("/oidc/backchannel", post(client_calls::ask))
                .route(
                    "/oidc/device_authorization",
                    post(client_calls::authorize_device),
                )
                .route(
                    "/oidc/receipts/{id}",
                    get(client_calls::receipt).post(client_calls::receipt),
                ),
        ))
        .merge(layers::called_by_registrations(
            services,
            origins,
            Router::new()
                .route("/oidc/register", post(registration::register))
                .route(
                    "/oidc/register/{client_id}",
                    get(registration::read)
                        .put(registration::update)
                        .delete(registration::delete),
                ),
        ))
        .nest("/authenticator", authenticator_routes(services, &documents))
        .merge(recovery_routes(services))
        .merge(layers::limited_sign_in(
            services,
            Router::new().route("/device", page_routes::get(device_authorization::show)),
        ))
        .route("/approvals/callbacks/{id}", post(callbacks::take))
        .merge(layers::without_embedding(layers::head_without_effect(
            Router::new().route("/admin", page_routes::get(console::front)),
        )))
        .route("/admin/{*page}", page_routes::get(console::inside))
        .merge(layers::head_without_effect(
            Router::new().route(
                "/admin/test-sign-ins/{id}",
                page_routes::get(test_sign_in::receive_oidc_response)
                    .merge(page_routes::post(test_sign_in::receive_saml_response)),
            ),
        ))
        .nest(
            "/admin/api/v1",
            layers::administration(
                services,
                admin_api::routes(services),
                admin_api::public_routes(),
            ),
        )
        .fallback(not_found);
    let shared = Router::new()
        .merge(shared_routes(services, origins, &documents))
        .route(
            "/.well-known/oauth-authorization-server/oidc",
            layers::document(&documents, get(endpoints::configuration)),
        );
    let shared = layers::readable_across_origins(
        origins,
        layers::within_bounds(services, shared, LARGEST_BODY, LONGEST),
    );
    let files = admin_api::file_routes(services);
    let files = layers::within_bounds(
        services,
        layers::with_files(layers::administration(services, files, Router::new())),
        admin_api::LARGEST_FILE,
        LONGEST_FILE,
    );
    let all = layers::within_bounds(services, own, LARGEST_BODY, LONGEST)
        .merge(shared)
        .merge(files);
    layers::within_response_form(services, all).with_state(Arc::clone(services))
}

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
            layers::document(documents, get(endpoints::configuration)),
        )
        .route(
            "/oidc/jwks",
            layers::document(documents, get(endpoints::jwks)),
        )
        .route(
            "/oidc/receipts/keys",
            layers::document(documents, get(endpoints::receipt_keys)),
        )
        .merge(layers::called_by_applications(
            services,
            origins,
            Router::new().route("/oidc/token", post(client_calls::token)),
        ))
        .merge(layers::called_by_applications(
            services,
            origins,
            Router::new().route("/oidc/token/revocation", post(client_calls::revoke)),
        ))
        .merge(layers::called_by_applications(
            services,
            origins,
            Router::new().route("/oidc/par", post(client_calls::push)),
        ))
}

fn saml_logout_routes(services: &Arc<Services>) -> Router<Arc<Services>> {
    let routes = Router::new()
        .route(
            "/sso/SingleLogoutService/{application}",
            page_routes::get(logout::service).merge(page_routes::post(logout::service_by_post)),
        )
        .route("/sso/logout/{id}", page_routes::get(logout::show))
        .route("/sso/logout/{id}/{request}", page_routes::get(logout::ask));
    layers::limited_sign_out(services, layers::head_without_effect(routes))
}

fn sign_out_routes(services: &Arc<Services>) -> Router<Arc<Services>> {
    let routes = Router::new()
        .route(
            "/session/end",
            page_routes::get(session_end::question).merge(page_routes::post(session_end::answer)),
        )
        .route(
            "/oidc/session/end",
            get(session_end::end).merge(page_routes::post(session_end::end_by_post)),
        );
    layers::limited_sign_out(services, layers::head_without_effect(routes))
}

fn sign_in_routes(
    services: &Arc<Services>,
    documents: &Arc<CompressedDocuments>,
) -> Router<Arc<Services>> {
    let pages = Router::new()
        .route(
            "/oidc/auth",
            get(endpoints::auth).merge(page_routes::post(endpoints::auth_by_post)),
        )
        .route(
            "/sso/SingleSignOnService/{application}",
            page_routes::get(sign_on::sign_on).merge(page_routes::post(sign_on::sign_on_by_post)),
        )
        .route("/sso/sign-on/{id}", get(sign_on::proceed))
        .route(
            "/login/{id}",
            page_routes::get(login::show).merge(page_routes::post(login::identify::identify)),
        )
        .route(
            "/login/{id}/return",
            page_routes::get(leave::return_by_itself),
        )
        .route("/sign-in", page_routes::get(portal::sign_in));
    let routes = layers::head_without_effect(pages)
        .route(
            "/sso/metadata/{application}",
            layers::document(documents, page_routes::get(metadata::metadata)),
        )
        .route("/login/{id}/events", get(followed::events))
        .route("/login/{id}/state", get(followed::state))
        .route(
            "/login/{id}/passkey",
            page_routes::post(login::passkey::passkey),
        )
        .route(
            "/login/{id}/passkey/challenge",
            page_routes::post(passkey::passkey_challenge),
        )
        .route("/login/{id}/cancel", page_routes::post(login::cancel))
        .route("/login/{id}/again", page_routes::post(login::again))
        .route("/login/{id}/continue", page_routes::post(identify::proceed))
        .route("/login/{id}/confirm", page_routes::post(confirm::confirm))
        .route("/login/{id}/consent", page_routes::post(consent::decide))
        .route("/login/{id}/leave", page_routes::post(login::leave::leave));
    layers::limited_sign_in(services, routes)
}

fn recovery_routes(services: &Arc<Services>) -> Router<Arc<Services>> {
    let routes = Router::new()
        .route(
            "/recover",
            page_routes::get(recover::show).merge(page_routes::post(recover::redeem)),
        )
        .route("/recover/done", page_routes::get(recover::show_link));
    layers::limited_sign_in(services, routes)
}

fn authenticator_routes(
    services: &Arc<Services>,
    documents: &Arc<CompressedDocuments>,
) -> Router<Arc<Services>> {
    Router::new()
        .route("/", get(devices::app))
        .route(
            "/manifest.webmanifest",
            layers::document(documents, get(asset)),
        )
        .route("/sw.js", layers::document(documents, get(asset)))
        .nest(
            "/api",
            layers::called_by_authenticators(services, devices::routes()),
        )
}
