//! The responses of forms that end the session of their own browser.

use axum::response::Response;

use crate::domain::Services;
use crate::http::context::Browser;
use crate::http::page_error::PageError;
use crate::http::portal::owner::Owner;
use crate::http::reply::see_other;
use crate::http::saml::logout;
use crate::http::sign_in::sign_out::without_session;
use assent_model::saml::{LogoutContinuation, SessionEnd};

/// The page that confirms the sign-out of this browser.
pub(super) const ENDED: &str = "/session/ended";

/// Responds after the end of this browser's session. The browser notifies the applications that only it can notify, and
/// then shows the page for the user. Without such applications it redirects to `afterwards` at once.
pub(super) async fn sign_out_response(
    owner: &Owner,
    ended: SessionEnd,
    afterwards: &str,
) -> Result<Response, PageError> {
    let Owner {
        services, browser, ..
    } = owner;
    let ended = ended.held_by(browser.digest());
    if !ended.needs_browser() && ended.ended_before {
        return repeated_sign_out(services, browser, afterwards, true).await;
    }
    let response = if ended.needs_browser() {
        logout::notify(
            services,
            browser.language(),
            ended,
            LogoutContinuation::Page,
            browser.digest(),
        )
        .await?
    } else {
        see_other(afterwards)
    };
    Ok(without_session(response, services))
}

/// Responds after another request of this browser ended its session. The browser discards the response to that one, so
/// this one must lead to the same applications. `waits` is whether the other request may still be in progress.
pub(super) async fn repeated_sign_out(
    services: &Services,
    browser: &Browser,
    afterwards: &str,
    waits: bool,
) -> Result<Response, PageError> {
    let begun =
        logout::repeat(services, browser.digest(), &LogoutContinuation::Page, waits).await?;
    let response = begun.unwrap_or_else(|| see_other(afterwards));
    Ok(without_session(response, services))
}
