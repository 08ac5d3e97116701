//! The portal for signed-in users: the start page with their applications, and their devices, sessions, consents,
//! requests, activity and profile. Each page is plain HTML. Forms perform all changes, and the page that follows shows
//! the result.

mod activity;
mod activity_kind;
mod activity_rows;
pub mod applications;
mod consents;
mod devices;
mod form_outcome;
mod forms;
pub(super) mod owner;
pub(super) mod pages;
mod profile;
mod recovery_codes;
mod requests;
mod sessions;
mod sign_out;
mod tone;
mod words;

use std::sync::Arc;

use axum::Router;
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::response::Response;
use serde::Deserialize;

use super::page_error::PageError;
use super::page_routes::{Visitor, get, post};
use crate::domain::Services;
use crate::http::sign_in::login::begin::begin_local;
use assent_model::login::LocalPage;

/// The pages for signed-in users, except the start page.
pub(super) fn routes() -> Router<Arc<Services>> {
    Router::new()
        .route("/applications/{id}/start", get(applications::start))
        .route("/devices", get(devices::list))
        .route("/devices/add", get(devices::add))
        .route("/devices/protection", get(devices::protection))
        .route("/devices/{id}/name", post(devices::rename))
        .route("/devices/{id}/passkey-sign-in", post(devices::stop_passkey))
        .route(
            "/devices/{id}/revoke",
            get(devices::question).merge(post(devices::revoke)),
        )
        .route(
            "/devices/recovery-codes",
            get(recovery_codes::show).merge(post(recovery_codes::ask)),
        )
        .route(
            "/devices/recovery-codes/{id}",
            get(recovery_codes::request).merge(post(recovery_codes::create)),
        )
        .route(
            "/devices/recovery-codes/{id}/decided",
            get(recovery_codes::await_decision),
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
        .route("/requests", get(requests::list))
        .route("/requests/resume", post(requests::resume))
        .route("/requests/{id}/stop", post(requests::stop))
        .route("/requests/{id}/permit", post(requests::permit))
        .route("/activity", get(activity::list))
        .route("/profile", get(profile::show))
        .route("/profile/{application}", get(profile::show_claims))
}

/// The query of the address that begins a login.
#[derive(Debug, Default, Deserialize)]
pub(super) struct SignInTarget {
    /// The path of the requested page of the portal; any other value leads to the start page.
    #[serde(default)]
    to: String,
}

/// `GET /sign-in`: signs the user in, and redirects to a page of the portal. It begins a new login even if the user is
/// signed in.
pub(super) async fn sign_in(
    Visitor { services, browser }: Visitor,
    to: Result<Query<SignInTarget>, QueryRejection>,
) -> Result<Response, PageError> {
    let SignInTarget { to } = to.map(|Query(to)| to).unwrap_or_default();
    begin_local(&services, &browser, LocalPage::from_path(&to)).await
}
