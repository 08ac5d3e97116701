//! The header of pages for signed-in users, and the sign-out.

use axum::Form;
use axum::response::Response;
use serde::Deserialize;

use super::context::Browser;
use super::csrf;
use super::page_error::PageError;
use super::page_routes::Visitor;
use super::pages::SignedInUser as Header;
use super::reply::see_other;
use crate::domain::sessions::session;
use crate::domain::sessions::session::BrowserSession;
use crate::domain::{InternalError, Services};
use crate::http::saml::logout;
use crate::http::sign_in::sign_out::without_session;
use assent_model::saml::LogoutContinuation;

const SIGN_OUT: &str = "/sign-out";
/// The page that confirms the sign-out.
const SIGNED_OUT: &str = "/session/ended";

/// The header that pages show to the signed-in user.
pub(super) fn signed_in_header(
    services: &Services,
    browser: &Browser,
    signed_in: &BrowserSession,
) -> Result<Header, InternalError> {
    Ok(Header {
        name: signed_in.user.display_name().to_owned(),
        sign_out: SIGN_OUT.to_owned(),
        csrf: csrf::user_token(services, browser, SIGN_OUT, signed_in.user.id)?,
    })
}

#[derive(Debug, Deserialize)]
pub(super) struct SignOut {
    #[serde(default)]
    csrf: String,
}

/// Returns the response to a sign-out that the browser sent before: it notifies the same service providers.
async fn repeated_sign_out(
    services: &Services,
    browser: &Browser,
) -> Result<Response, InternalError> {
    let waits = browser.session_id().is_some();
    let begun =
        logout::repeat(services, browser.digest(), &LogoutContinuation::Page, waits).await?;
    Ok(begun.unwrap_or_else(|| see_other(SIGNED_OUT)))
}

/// `POST /sign-out`: ends the session in this browser, and redirects to a page that confirms it.
pub(super) async fn sign_out(
    Visitor { services, browser }: Visitor,
    Form(form): Form<SignOut>,
) -> Result<Response, PageError> {
    let signed_in = browser.signed_in(&services).await?;
    let user = signed_in.as_ref().map(|signed_in| signed_in.user.id);
    // If the session that the page showed has ended already, the sign-out is a repeated one.
    csrf::require_user(&services, &browser, SIGN_OUT, user, &form.csrf, || {
        "/".to_owned()
    })?;
    let response = match signed_in {
        Some(signed_in) => {
            let ended = session::end(&services, &signed_in, browser.origin())
                .await?
                .held_by(browser.digest());
            if ended.needs_browser() {
                logout::notify(
                    &services,
                    browser.language(),
                    ended,
                    LogoutContinuation::Page,
                    browser.digest(),
                )
                .await?
            } else if ended.ended_before {
                repeated_sign_out(&services, &browser).await?
            } else {
                see_other(SIGNED_OUT)
            }
        }
        None => repeated_sign_out(&services, &browser).await?,
    };
    Ok(without_session(response, &services))
}
