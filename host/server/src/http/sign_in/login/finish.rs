//! The response to a login of an authenticated user.

use axum::response::Response;

use crate::domain::sign_in::context::{Agreement, SignInAnswer, SignInContext};
use crate::domain::sign_in::login::view::GivenApproval;
use crate::domain::sign_in::login::{AuthenticatedUser, LoginCompletion, OpenLogin};
use crate::domain::sign_in::{login, test_sign_in};
use crate::domain::{InternalError, Services};
use crate::http::context::Browser;
use crate::http::page_error::PageError;
use crate::http::reply::with_session;
use crate::http::request_id;
use crate::http::sign_in::consent::question;
use crate::http::sign_in::login::delivery::ProtocolAnswer;
use crate::http::sign_in::login::ended::rejected_page;
use crate::http::sign_in::login::repeat::answered_meanwhile;
use crate::oidc::authorize::answer;
use crate::oidc::authorize::answer::AuthenticatedAuthorization;
use crate::oidc::authorize::interaction;
use crate::saml::sign_on;
use crate::saml::sign_on::AuthenticatedSignOn;
use assent_model::id::SessionId;
use assent_model::login::{Login, LoginRequest};
use assent_store::Transition;

/// Returns the user who approved a login, with the browser's session, which ends when the sign-in begins another one. A
/// test sign-in does not change that session.
pub(crate) async fn approved_user(
    services: &Services,
    browser: &Browser,
    login: &Login,
    approved: &GivenApproval,
) -> Result<Option<AuthenticatedUser>, InternalError> {
    let old = match login.request.purpose().is_application() {
        true => browser.signed_in(services).await?,
        false => None,
    };
    let (secret, origin) = (browser.secret(), browser.origin());
    login::authenticated_user(services, approved, old, secret, origin).await
}

/// Returns the user of the session with which a login continues, if it is still the session of this browser, and still
/// sufficient.
pub(crate) async fn resumed_user(
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
    let resumed = || AuthenticatedUser::of_session(signed_in, browser.secret(), browser.origin());
    Ok(enough.then(resumed))
}

/// Completes the login of this user, or asks the user for consent.
pub(crate) async fn finish(
    services: &Services,
    browser: &Browser,
    login: &Login,
    authenticated_user: &AuthenticatedUser,
    agreement: Agreement,
) -> Result<Response, PageError> {
    let stored = OpenLogin::Stored(login.id);
    let purpose = login.request.purpose();
    let observer = test_sign_in::observer::observer(services, purpose);
    let request_id = request_id::current();
    let context = SignInContext {
        services,
        observer: &*observer,
        request_id: &request_id,
    };
    let answer = match &login.request {
        LoginRequest::Oidc(request) => {
            let authenticated = AuthenticatedAuthorization {
                login: stored,
                application: None,
                request,
                authenticated_user,
                agreement,
            };
            let answer = answer::respond(context, authenticated).await?;
            answer.map(ProtocolAnswer::Oidc, |question| (request, question))
        }
        LoginRequest::Saml(request) => {
            let authenticated = AuthenticatedSignOn {
                login: stored,
                request,
                authenticated_user,
                at: services.now(),
                claim: None,
                provider: None,
            };
            let answer = sign_on::respond(context, authenticated).await?;
            answer.map(ProtocolAnswer::Saml, |never| match never {})
        }
        LoginRequest::Local { page } => {
            let completion = LoginCompletion {
                authenticated_user,
                grant: None,
                consent: None,
                claim: None,
                at: services.now(),
            };
            match login::answer(services, stored, completion).await? {
                Transition::Done => SignInAnswer::Granted(ProtocolAnswer::Local(*page)),
                Transition::NotOpen => SignInAnswer::AnsweredBefore,
            }
        }
    };
    match answer {
        SignInAnswer::Granted(answer) => {
            // The browser never receives the cookie of a test sign-in's session.
            let session = authenticated_user
                .new_session()
                .filter(|_| purpose.is_application());
            let response = answer.deliver(services, browser, login.id).await;
            Ok(with_session(response, services, browser, session)?)
        }
        SignInAnswer::Failed(answer) => Ok(answer.deliver(services, browser, login.id).await),
        SignInAnswer::AskConsent((request, question)) => {
            question::ask(
                services,
                browser,
                login,
                request,
                authenticated_user,
                question,
            )
            .await
        }
        SignInAnswer::Denied(reason) => {
            let user = &authenticated_user.signed_in.user;
            rejected_page(services, browser, login, reason, Some(user)).await
        }
        SignInAnswer::AnsweredBefore => answered_meanwhile(services, browser, login.id).await,
    }
}
