//! The portal, for whoever is signed in: the start page with their applications, and beside it their devices, sessions,
//! consents, activity and profile. Each page is plain HTML; what is done is done by forms, and told on the page that
//! follows.

mod activity;
mod activity_kind;
mod activity_rows;
mod applications;
mod consents;
mod devices;
mod form_outcome;
mod forms;
pub(super) mod owner;
pub(super) mod pages;
mod profile;
mod recovery_codes;
mod sessions;
mod tone;
mod words;

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use axum::routing::{get, post};
use serde::Deserialize;

use super::context::Browser;
use super::reply::{internal_error, see_other, with_browser};
use crate::domain::Services;
use crate::domain::sign_in::login;
use assent_model::login::{LocalPage, LoginRequest};

pub(super) use applications::show as start_page;

/// The pages for whoever is signed in, but for the start page.
pub(super) fn routes() -> Router<Arc<Services>> {
    Router::new()
        .route("/applications/{id}/start", get(applications::start))
        .route("/devices", get(devices::list))
        .route("/devices/{id}/name", post(devices::rename))
        .route("/devices/{id}/passkey-sign-in", post(devices::stop_passkey))
        .route(
            "/devices/{id}/revoke",
            get(devices::question).post(devices::revoke),
        )
        .route(
            "/devices/recovery-codes",
            get(recovery_codes::show).post(recovery_codes::ask),
        )
        .route(
            "/devices/recovery-codes/{id}",
            get(recovery_codes::request).post(recovery_codes::create),
        )
        .route(
            "/devices/recovery-codes/{id}/decided",
            get(recovery_codes::decided),
        )
        .route(
            "/devices/recovery-codes/{id}/confirm",
            post(recovery_codes::confirm),
        )
        .route("/sessions", get(sessions::list))
        .route("/sessions/{id}/end", post(sessions::end))
        .route("/sessions/end-others", post(sessions::end_others))
        .route("/sessions/end-all", post(sessions::end_all))
        .route("/consents", get(consents::list))
        .route("/activity", get(activity::list))
        .route("/profile", get(profile::show))
        .route("/profile/{application}", get(profile::seen))
}

/// The way in, which begins a login.
#[derive(Debug, Default, Deserialize)]
pub(super) struct SignInTarget {
    /// The path of the portal's page that the person wants; what is none leads to the start page.
    #[serde(default)]
    to: String,
}

/// `GET /sign-in`: signs a person in and leads them to a page of the portal, whether they are signed in or not.
pub(super) async fn sign_in(
    State(services): State<Arc<Services>>,
    browser: Browser,
    to: Result<Query<SignInTarget>, QueryRejection>,
) -> Response {
    let SignInTarget { to } = to.map(|Query(to)| to).unwrap_or_default();
    let request = LoginRequest::Local {
        page: LocalPage::at(&to),
    };
    let from = Some(browser.network());
    match login::begin(
        &services,
        request,
        browser.digest(),
        browser.context(&services),
        None,
        from,
    )
    .await
    {
        Ok(login) => with_browser(
            see_other(&format!("/login/{}", login.id)),
            &services,
            &browser,
        ),
        Err(error) => internal_error(&services, browser.language(), &error),
    }
}
