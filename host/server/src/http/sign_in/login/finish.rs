//! The response to a login of an authenticated user.

use axum::response::Response;

use crate::domain::sessions::session::BrowserSession;
use crate::domain::sign_in::context::{Agreement, SignInContext};
use crate::domain::sign_in::login::{AuthenticatedUser, LoginCompletion, OpenLogin};
use crate::domain::sign_in::{login, test_sign_in};
use crate::domain::{InternalError, Services};
use crate::http::context::Browser;
use crate::http::page_error::PageError;
use crate::http::reply::{see_other, with_session};
use crate::http::request_id;
use crate::http::saml;
use crate::http::sign_in::answer::deliver;
use crate::http::sign_in::consent::question;
use crate::http::sign_in::login::ended::rejected_page;
use crate::http::sign_in::login::repeat::answered_meanwhile;
use crate::oidc::authorize::answer;
use crate::oidc::authorize::answer::{AuthenticatedAuthorization, AuthorizeOutcome};
use crate::oidc::authorize::interaction;
use crate::saml::sign_on;
use assent_model::id::SessionId;
use assent_model::login::{Login, LoginRequest};
use assent_model::saml::SignOnRequest;
use assent_store::Transition;

/// Returns the browser's session, which ends when a sign-in begins another one. A test sign-in does not change it.
pub(crate) async fn session_before(
    services: &Services,
    browser: &Browser,
    login: &Login,
) -> Result<Option<BrowserSession>, InternalError> {
    if !login.request.purpose().is_application() {
        Ok(None)
    } else {
        browser.signed_in(services).await
    }
}

/// Returns the user of the session with which a login continues, if it is still the session of this browser, and still
/// sufficient.
pub(crate) async fn resumed(
    services: &Services,
    browser: &Browser,
    login: &Login,
    session: SessionId,
) -> Result<Option<AuthenticatedUser>, InternalError> {
    let found = browser
        .signed_in(services)
        .await?
        .filter(|signed_in| signed_in.session.id == session);
    let Some(signed_in) = found else {
        return Ok(None);
    };
    let enough = match &login.request {
        LoginRequest::Oidc(request) => {
            interaction::may_continue(services, request, &signed_in).await?
        }
        LoginRequest::Saml(request) => sign_on::may_continue(services, request, &signed_in).await?,
        LoginRequest::Local { .. } => false,
    };
    Ok(enough.then_some(AuthenticatedUser {
        signed_in,
        cookie: None,
        approval: None,
        browser: browser.secret().clone(),
        origin: browser.origin(),
    }))
}

/// Completes the login of this user, or asks the user for consent.
pub(crate) async fn finish(
    services: &Services,
    browser: &Browser,
    login: &Login,
    authenticated_user: &AuthenticatedUser,
    old: Option<&BrowserSession>,
    agreement: Agreement,
) -> Result<Response, PageError> {
    let request = match &login.request {
        LoginRequest::Oidc(request) => request,
        LoginRequest::Saml(request) => {
            return finish_saml(services, browser, login, request, authenticated_user, old).await;
        }
        LoginRequest::Local { page } => {
            let outcome = LoginCompletion {
                authenticated_user,
                old,
                grant: None,
                consent: None,
                at: services.now(),
            };
            let answered = login::answer(services, OpenLogin::Stored(login.id), outcome).await?;
            return match answered {
                Transition::Done => Ok(with_session(
                    see_other(&page.path()),
                    services,
                    browser,
                    authenticated_user.new_session(),
                )?),
                Transition::NotOpen => answered_meanwhile(services, browser, login.id).await,
            };
        }
    };
    // The browser never receives the cookie of a test sign-in's session.
    let session = authenticated_user
        .new_session()
        .filter(|_| request.purpose.is_application());
    let authenticated = AuthenticatedAuthorization {
        login: OpenLogin::Stored(login.id),
        application: None,
        request,
        authenticated_user,
        old,
        agreement,
    };
    let observer = test_sign_in::observer::observer(services, request.purpose);
    let request_id = request_id::current();
    let context = SignInContext {
        services,
        observer: &*observer,
        request_id: &request_id,
    };
    match answer::respond(context, authenticated).await? {
        AuthorizeOutcome::Granted(answer) => Ok(with_session(
            deliver(services, browser.language(), &answer, login.id).await,
            services,
            browser,
            session,
        )?),
        AuthorizeOutcome::Failed(answer) => {
            Ok(deliver(services, browser.language(), &answer, login.id).await)
        }
        AuthorizeOutcome::AskConsent(asked) => {
            question::ask(services, browser, login, request, authenticated_user, asked).await
        }
        AuthorizeOutcome::Denied(reason) => {
            let user = &authenticated_user.signed_in.user;
            rejected_page(services, browser, login, reason, Some(user)).await
        }
        AuthorizeOutcome::AnsweredBefore => answered_meanwhile(services, browser, login.id).await,
    }
}

/// Completes the login of a service provider for this user.
async fn finish_saml(
    services: &Services,
    browser: &Browser,
    login: &Login,
    request: &SignOnRequest,
    authenticated_user: &AuthenticatedUser,
    old: Option<&BrowserSession>,
) -> Result<Response, PageError> {
    let session = authenticated_user
        .new_session()
        .filter(|_| request.purpose.is_application());
    let authenticated = sign_on::AuthenticatedSignOn {
        login: OpenLogin::Stored(login.id),
        request,
        authenticated_user,
        old,
        at: services.now(),
    };
    let observer = test_sign_in::observer::observer(services, request.purpose);
    let request_id = request_id::current();
    let context = SignInContext {
        services,
        observer: &*observer,
        request_id: &request_id,
    };
    match sign_on::respond(context, authenticated).await? {
        sign_on::SignOnOutcome::Granted(answer) => Ok(with_session(
            saml::sign_on::deliver(services, browser.language(), &answer),
            services,
            browser,
            session,
        )?),
        sign_on::SignOnOutcome::Failed(answer) => Ok(saml::sign_on::deliver(
            services,
            browser.language(),
            &answer,
        )),
        sign_on::SignOnOutcome::Denied(reason) => {
            let user = &authenticated_user.signed_in.user;
            rejected_page(services, browser, login, reason, Some(user)).await
        }
        sign_on::SignOnOutcome::AnsweredBefore => {
            answered_meanwhile(services, browser, login.id).await
        }
    }
}
