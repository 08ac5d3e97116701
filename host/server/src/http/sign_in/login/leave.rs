//! The return of a failed or cancelled sign-in to the application.

use std::sync::Arc;

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::response::Response;
use serde::Deserialize;

use crate::domain::sign_in::access::{AccessDenied, access_denial};
use crate::domain::sign_in::login;
use crate::domain::sign_in::login::view::{GivenApproval, LoginEnd, LoginView};
use crate::domain::sign_in::login::{AuthenticatedUser, OpenLogin};
use crate::domain::{InternalError, Services};
use crate::http::context::Browser;
use crate::http::csrf;
use crate::http::page_error::PageError;
use crate::http::reply::see_other;
use crate::http::sign_in::confirm;
use crate::http::sign_in::login::delivery::ProtocolAnswer;
use crate::http::sign_in::login::ended::return_of;
use crate::http::sign_in::login::finish::resumed_user;
use crate::http::sign_in::login::no_login::unknown_login;
use crate::http::sign_in::login::posted::{LoginPost, LoginVisit};
use crate::http::sign_in::login::repeat::{answered_meanwhile, repeated_response};
use crate::oidc::authorize::answer;
use crate::oidc::authorize::answer::DenialReason;
use crate::saml::sign_on;
use crate::saml::sign_on::SignOnDenied;
use assent_model::login::{LocalPage, Login, LoginAnswer, LoginRequest};
use assent_model::user::User;

/// `POST /login/{id}/leave`: returns to the application, with an error.
pub(crate) async fn leave(posted: LoginPost) -> Result<Response, PageError> {
    return_error(&posted.services, &posted.browser, &posted.view).await
}

/// Sends an error to the application.
async fn return_error(
    services: &Services,
    browser: &Browser,
    view: &LoginView,
) -> Result<Response, PageError> {
    let (login, reason) = match view {
        LoginView::Ended(login, LoginEnd::Denied) => (login, DenialReason::Denied),
        LoginView::Ended(login, LoginEnd::Expired | LoginEnd::NumberMismatch) => {
            (login, DenialReason::Expired)
        }
        LoginView::Approved(login, approved) => {
            let user = Box::pin(approving_user(services, browser, approved)).await?;
            (login, without_answer(services, login, user).await?)
        }
        LoginView::SignedIn(login, session) => {
            let resumed = resumed_user(services, browser, login, *session).await?;
            let user = resumed.map(|authenticated| authenticated.signed_in.user);
            (login, without_answer(services, login, user).await?)
        }
        LoginView::Ended(login, _) | LoginView::Identify(login) => (login, DenialReason::GivenUp),
        LoginView::Waiting(login, _) => {
            login::cancel(services, login).await?;
            (login, DenialReason::GivenUp)
        }
        LoginView::Answered(login, given) => {
            return Box::pin(repeated_response(services, browser, login, given)).await;
        }
        LoginView::Unknown => return Err(unknown_login()),
    };
    deny_login(services, browser, login, reason).await
}

/// Ends a login with an error, which the browser takes to the application.
pub(crate) async fn deny_login(
    services: &Services,
    browser: &Browser,
    login: &Login,
    reason: DenialReason,
) -> Result<Response, PageError> {
    let stored = OpenLogin::Stored(login.id);
    let answer = match &login.request {
        LoginRequest::Oidc(request) => answer::deny(services, stored, request, reason)
            .await?
            .map(ProtocolAnswer::Oidc),
        LoginRequest::Saml(request) => {
            let why = match reason {
                DenialReason::Denied => SignOnDenied::Denied,
                DenialReason::Expired => SignOnDenied::Expired,
                DenialReason::NoConsent | DenialReason::NoAccount | DenialReason::GivenUp => {
                    SignOnDenied::GivenUp
                }
            };
            let answer = sign_on::deny(services, stored, request, why).await?;
            answer.map(ProtocolAnswer::Saml)
        }
        LoginRequest::Local { .. } => {
            login::end_without_sign_in(services, stored, LoginAnswer::Left, None, services.now())
                .await?
                .is_done()
                .then_some(ProtocolAnswer::Local(LocalPage::Home))
        }
    };
    match answer {
        Some(answer) => Ok(answer.deliver(services, browser, login.id).await),
        None => answered_meanwhile(services, browser, login.id).await,
    }
}

/// Returns the authenticated user of an approval. `None` if the browser must show the name of the account first.
async fn approving_user(
    services: &Services,
    browser: &Browser,
    approved: &GivenApproval,
) -> Result<Option<Arc<User>>, InternalError> {
    let (secret, origin) = (browser.secret(), browser.origin());
    let found = login::authenticated_user(services, approved, None, secret, origin).await?;
    let Some(AuthenticatedUser { signed_in, .. }) = found else {
        return Ok(None);
    };
    let is_unconfirmed = confirm::is_needed(services, browser, approved, &signed_in.user).await?;
    Ok((!is_unconfirmed).then_some(signed_in.user))
}

/// Returns the reason why the login of this user has no answer. Only an authenticated user can cause the reason that
/// the user has no account, so the application cannot learn from it whether a name exists. A test sign-in admits one
/// user only, so it has the general reason.
async fn without_answer(
    services: &Services,
    login: &Login,
    user: Option<Arc<User>>,
) -> Result<DenialReason, InternalError> {
    let (Some(user), LoginRequest::Oidc(request)) = (user, &login.request) else {
        return Ok(DenialReason::GivenUp);
    };
    if !request.purpose.is_application() {
        return Ok(DenialReason::GivenUp);
    }
    let denied = access_denial(services, &user, &request.application).await?;
    Ok(match denied {
        Some(AccessDenied::NoAccount) => DenialReason::NoAccount,
        _ => DenialReason::GivenUp,
    })
}

#[derive(Debug, Deserialize)]
pub(crate) struct Return {
    /// The token that proves that the page in this browser sent the request.
    #[serde(default)]
    token: String,
}

/// `GET /login/{id}/return`: returns to the application, with an error, after the page of a failed sign-in was shown
/// for its time.
///
/// This is a GET, because without a script a page can only reload an address by itself. Other sites cannot send the
/// request: the token is bound to this browser and attempt. A page in another tab cannot either, after the user has
/// started again.
pub(crate) async fn return_by_itself(
    visit: LoginVisit,
    query: Result<Query<Return>, QueryRejection>,
) -> Result<Response, PageError> {
    let LoginVisit {
        services,
        browser,
        view,
    } = visit;
    let token = query.map(|Query(query)| query.token).unwrap_or_default();
    if matches!(view, LoginView::Answered(..)) {
        return return_error(&services, &browser, &view).await;
    }
    let failed = match &view {
        LoginView::Ended(
            login,
            LoginEnd::Denied | LoginEnd::Expired | LoginEnd::NumberMismatch,
        )
        | LoginView::Approved(login, _)
        | LoginView::SignedIn(login, _) => Some(login),
        LoginView::Ended(..)
        | LoginView::Identify(_)
        | LoginView::Waiting(..)
        | LoginView::Answered(..)
        | LoginView::Unknown => None,
    };
    if let Some(login) = failed
        && csrf::is_token(&services, &browser, &return_of(login), &token)?
    {
        return return_error(&services, &browser, &view).await;
    }
    // The browser goes to the page for the current state of the login.
    match view.login() {
        Some(login) => Ok(see_other(&format!("/login/{}", login.id))),
        None => Err(unknown_login()),
    }
}
