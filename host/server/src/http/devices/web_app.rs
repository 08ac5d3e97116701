//! The page of the authenticator's web app.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CACHE_CONTROL;
use axum::response::Response;

use crate::domain::Services;
use crate::http::pages::AuthenticatorApp;
use crate::http::reply::{layout, page};
use crate::http::texts::PageLanguage;

/// `GET /authenticator`: the web app, the same for all users of one language.
pub(crate) async fn app(
    State(services): State<Arc<Services>>,
    PageLanguage(language): PageLanguage,
) -> Response {
    let mut response = page(
        &AuthenticatorApp {
            layout: layout(&services, language),
            report_cooldown: services.settings.approvals.report_cooldown.get().as_secs() / 60,
        },
        None,
    );
    // The page contains no personal data. Its service worker caches it for use without a network.
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    let camera =
        HeaderValue::from_static("camera=(self), geolocation=(), microphone=(), payment=()");
    response.headers_mut().insert("permissions-policy", camera);
    response
}
