//! The page that names the account before a QR sign-in takes effect.
//!
//! Any viewer of a sign-in page can scan its code, and its number is on the same screen. Without this page an attacker
//! could sign another user's browser in as the attacker, unnoticed, and read the user's later input (login CSRF, OWASP
//! ASVS 3.7). A browser in which the same user signed in before continues without this page. So does a browser with the
//! authenticator that opened the code, because its user is that of the authenticator.

use axum::response::Response;

use crate::domain::sign_in::context::Agreement;
use crate::domain::sign_in::known_browsers::BrowserStatus;
use crate::domain::sign_in::login::view::{GivenApproval, LoginView};
use crate::domain::{InternalError, Services};
use crate::http::context::Browser;
use crate::http::csrf;
use crate::http::page_error::PageError;
use crate::http::pages::login::ConfirmPage;
use crate::http::reply::{layout, page};
use crate::http::sign_in::login::asking::requesting_application;
use crate::http::sign_in::login::finish::{approved_user, finish};
use crate::http::sign_in::login::posted::LoginPost;
use crate::http::sign_in::login::repeat::repeated_response;
use assent_model::id::LoginId;
use assent_model::login::Login;
use assent_model::user::User;

/// Whether the browser must show the name of the account before it is signed in.
pub(crate) async fn is_needed(
    services: &Services,
    browser: &Browser,
    approved: &GivenApproval,
    user: &User,
) -> Result<bool, InternalError> {
    if !approved.is_scanned_elsewhere()
        || browser
            .known_users(services)
            .status_for(services, &user.name)
            .await?
            == BrowserStatus::Known
    {
        return Ok(false);
    }
    let signed_in = browser.signed_in(services).await?;
    Ok(signed_in.is_none_or(|signed_in| signed_in.user.id != user.id))
}

/// Returns the page that names the account, with the buttons to continue and to start again.
pub(crate) async fn ask(
    services: &Services,
    browser: &Browser,
    login: &Login,
    user: &User,
) -> Result<Response, PageError> {
    let id = login.id.to_string();
    let asking = requesting_application(services, login).await?;
    let confirming = ConfirmPage {
        layout: layout(services, browser.language()),
        application: asking.name,
        name: user.display_name().to_owned(),
        account: user.name.to_string(),
        action: format!("/login/{id}/confirm"),
        again: format!("/login/{id}/again"),
        csrf: csrf::token(services, browser, &id)?,
        user_token: csrf::token(services, browser, &shown_to(login.id, user))?,
    };
    Ok(page(&confirming, asking.form_target.as_deref()))
}

/// The purpose of the token: this login and this user. Another window may have sent a request to another device since.
fn shown_to(login: LoginId, user: &User) -> String {
    format!("confirm {login} {}", user.id)
}

/// `POST /login/{id}/confirm`: the user continues as the account that the page named.
pub(crate) async fn confirm(posted: LoginPost) -> Result<Response, PageError> {
    let LoginPost {
        services,
        browser,
        view,
        ..
    } = &posted;
    let (login, approved) = match view {
        LoginView::Approved(login, approved) => (login, approved),
        LoginView::Answered(login, given) => {
            return Box::pin(repeated_response(services, browser, login, given)).await;
        }
        _ => return Ok(posted.redirect_to_current_page()),
    };
    let Some(user) = approved_user(services, browser, login, approved).await? else {
        return Ok(posted.redirect_to_current_page());
    };
    posted.require_page_of_user(&shown_to(login.id, &user.signed_in.user))?;
    Box::pin(finish(services, browser, login, &user, Agreement::Open)).await
}
