//! The return of a failed or cancelled sign-in to the application.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use serde::Deserialize;

use crate::domain::sign_in::access::{AccessDenied, access_denial};
use crate::domain::sign_in::login;
use crate::domain::sign_in::login::view::{GivenApproval, LoginEnd, LoginView};
use crate::domain::sign_in::login::{AuthenticatedUser, OpenLogin};
use crate::domain::{InternalError, Services};
use crate::http::context::Browser;
use crate::http::reply::{internal_error, see_other};
use crate::http::sign_in::answer::deliver;
use crate::http::sign_in::confirm;
use crate::http::sign_in::login::ended::return_of;
use crate::http::sign_in::login::finish::resumed;
use crate::http::sign_in::login::no_login::unknown;
use crate::http::sign_in::login::posted::{LoginPost, find};
use crate::http::sign_in::login::repeat::{answered_meanwhile, repeated};
use crate::http::{csrf, saml};
use crate::oidc::authorize::answer;
use crate::oidc::authorize::answer::DenialReason;
use crate::saml::sign_on;
use crate::saml::sign_on::SignOnDenied;
use assent_model::login::{Login, LoginAnswer, LoginRequest};
use assent_model::user::User;

/// `POST /login/{id}/leave`: returns to the application, with an error.
pub(crate) async fn leave(posted: LoginPost) -> Response {
    posted.reply(returned(&posted.services, &posted.browser, &posted.view).await)
}

/// Sends an error to the application.
async fn returned(
    services: &Services,
    browser: &Browser,
    view: &LoginView,
) -> Result<Response, InternalError> {
    let language = browser.language();
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
            let resumed = resumed(services, browser, login, *session).await?;
            let user = resumed.map(|authenticated| authenticated.signed_in.user);
            (login, without_answer(services, login, user).await?)
        }
        LoginView::Ended(login, _) | LoginView::Identify(login) => (login, DenialReason::GivenUp),
        LoginView::Waiting(login, _) => {
            login::cancel(services, login).await?;
            (login, DenialReason::GivenUp)
        }
        LoginView::Answered(login, given) => {
            return Box::pin(repeated(services, browser, login, given)).await;
        }
        LoginView::Unknown => return Ok(unknown(services, language)),
    };
    let reply = match &login.request {
        LoginRequest::Oidc(request) => {
            match answer::deny(services, OpenLogin::Stored(login.id), request, reason).await? {
                Some(answer) => Some(deliver(services, language, &answer, login.id).await),
                None => None,
            }
        }
        LoginRequest::Saml(request) => {
            let why = match reason {
                DenialReason::Denied => SignOnDenied::Denied,
                DenialReason::Expired => SignOnDenied::Expired,
                DenialReason::NoConsent | DenialReason::NoAccount | DenialReason::GivenUp => {
                    SignOnDenied::GivenUp
                }
            };
            let answer = sign_on::deny(services, OpenLogin::Stored(login.id), request, why).await?;
            answer.map(|answer| saml::sign_on::deliver(services, language, &answer))
        }
        LoginRequest::Local { .. } => {
            let (stored, now) = (OpenLogin::Stored(login.id), services.now());
            login::end_without_sign_in(services, stored, LoginAnswer::Left, now)
                .await?
                .is_done()
                .then(|| see_other("/"))
        }
    };
    match reply {
        Some(reply) => Ok(reply),
        None => answered_meanwhile(services, browser, login.id).await,
    }
}

/// Returns the authenticated user of an approval. `None` if the browser must show the name of the account first.
async fn approving_user(
    services: &Services,
    browser: &Browser,
    approved: &GivenApproval,
) -> Result<Option<User>, InternalError> {
    let by = (browser.secret(), browser.origin());
    let found = login::authenticated_user(services, approved, None, by).await?;
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
    user: Option<User>,
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
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
    query: Result<Query<Return>, QueryRejection>,
    browser: Browser,
) -> Response {
    let (browser, found) = find(&services, &id, browser).await;
    let reply = async {
        let view = found?;
        let token = query.map(|Query(query)| query.token).unwrap_or_default();
        if matches!(view, LoginView::Answered(..)) {
            return returned(&services, &browser, &view).await;
        }
        let failed = match &view {
            LoginView::Ended(
                login,
                LoginEnd::Denied | LoginEnd::Expired | LoginEnd::NumberMismatch,
            ) => Some(login),
            LoginView::Approved(login, _) | LoginView::SignedIn(login, _) => Some(login),
            LoginView::Ended(..)
            | LoginView::Identify(_)
            | LoginView::Waiting(..)
            | LoginView::Answered(..)
            | LoginView::Unknown => None,
        };
        if let Some(login) = failed
            && csrf::is_token(&services, &browser, &return_of(login), &token)?
        {
            return returned(&services, &browser, &view).await;
        }
        // The browser goes to the page for the current state of the login.
        Ok(match view.login() {
            Some(login) => see_other(&format!("/login/{}", login.id)),
            None => unknown(&services, browser.language()),
        })
    };
    reply
        .await
        .unwrap_or_else(|error| internal_error(&services, browser.language(), &error))
}
