//! The answer of a sign-in again, for the browser that may have lost it.

use axum::response::Response;

use crate::domain::sign_in::context::{NoObserver, SignInContext};
use crate::domain::sign_in::login;
use crate::domain::sign_in::login::view::LoginView;
use crate::domain::sign_in::login::{AuthenticatedUser, OpenLogin};
use crate::domain::sign_in::repeat::{self, AnsweredSession, RepeatingBrowser};
use crate::domain::{InternalError, Services};
use crate::http::context::Browser;
use crate::http::page_error::PageError;
use crate::http::pages::link::Link;
use crate::http::pages::protocol::AlreadySignedInPage;
use crate::http::reply::{layout, page, see_other, with_session};
use crate::http::saml;
use crate::http::sign_in::answer::{deliver, link_to_client};
use crate::http::sign_in::login::no_login::answered_login;
use crate::oidc::authorize::answer;
use crate::saml::sign_on;
use assent_model::clock::Timestamp;
use assent_model::id::{FamilyId, LoginId};
use assent_model::login::{AuthorizationRequest, GivenAnswer, Login, LoginAnswer, LoginRequest};
use assent_model::saml::SignOnRequest;

/// Returns the response to a browser whose request found the sign-in answered: by another request of the same browser,
/// which got the same answer, or because the sign-in can't be answered any more.
pub(crate) async fn answered_meanwhile(
    services: &Services,
    browser: &Browser,
    login: LoginId,
) -> Result<Response, PageError> {
    match login::view::view(services, login, browser.digest()).await? {
        LoginView::Answered(login, given) => {
            Box::pin(repeated_response(services, browser, &login, &given)).await
        }
        _ => Err(answered_login()),
    }
}

/// Returns the answer of a sign-in again. Too late, or if anything has changed since, the browser gets a page without
/// it.
pub(crate) async fn repeated_response(
    services: &Services,
    browser: &Browser,
    login: &Login,
    given: &GivenAnswer,
) -> Result<Response, PageError> {
    let response = match given.is_repeatable(services.now()) {
        true => answer_again(services, browser, login, given).await?,
        false => None,
    };
    let response = response.ok_or_else(answered_login)?;
    tracing::info!(login = %login.id, "answer repeated");
    Ok(response)
}

async fn answer_again(
    services: &Services,
    browser: &Browser,
    login: &Login,
    given: &GivenAnswer,
) -> Result<Option<Response>, InternalError> {
    match (&given.answer, &login.request) {
        (
            LoginAnswer::SignedIn {
                session,
                is_new,
                code,
            },
            request,
        ) => {
            let answered = AnsweredSession {
                id: *session,
                is_new: *is_new,
            };
            let repeating = RepeatingBrowser {
                secret: browser.secret(),
                session: browser.signed_in(services).await?,
                origin: browser.origin(),
            };
            let found = repeat::signed_in_user(services, login, answered, repeating).await?;
            let Some(user) = found else { return Ok(None) };
            let response = match (request, code) {
                (LoginRequest::Oidc(request), Some(code)) => {
                    code_again(services, browser, login.id, request, *code).await?
                }
                (LoginRequest::Saml(request), _) => {
                    let login = OpenLogin::Answered(login.id);
                    let again = assertion_again(services, browser, login, given.at, request, &user);
                    Box::pin(again).await?
                }
                (LoginRequest::Local { page }, _) => Some(see_other(&page.path())),
                (LoginRequest::Oidc(_), None) => None,
            };
            let session = user
                .new_session()
                .filter(|_| login.request.purpose().is_application());
            response
                .map(|response| with_session(response, services, browser, session))
                .transpose()
        }
        (LoginAnswer::Error { code, description }, LoginRequest::Oidc(request)) => {
            if !is_enabled(services, request).await? {
                return Ok(None);
            }
            let answer = answer::repeated_error(services, request, code, description);
            Ok(Some(
                deliver(services, browser.language(), &answer, login.id).await,
            ))
        }
        (LoginAnswer::Failed { reason }, LoginRequest::Saml(request)) => {
            let answer =
                sign_on::repeated_failure(services, login.id, given.at, request, reason).await?;
            let language = browser.language();
            Ok(answer.map(|answer| saml::sign_on::deliver(services, language, &answer)))
        }
        (LoginAnswer::Left, LoginRequest::Local { .. }) => Ok(Some(see_other("/"))),
        (
            LoginAnswer::Error { .. }
            | LoginAnswer::Failed { .. }
            | LoginAnswer::Left
            | LoginAnswer::Nothing,
            _,
        ) => Ok(None),
    }
}

/// Whether the application of a request is still enabled. No browser is sent to a disabled one.
async fn is_enabled(
    services: &Services,
    request: &AuthorizationRequest,
) -> Result<bool, InternalError> {
    let application = services.store.application(&request.application).await?;
    Ok(application.is_some_and(|application| application.settings.enabled))
}

/// Returns the redirect with the code, or a page if the application has exchanged the code.
async fn code_again(
    services: &Services,
    browser: &Browser,
    login: LoginId,
    request: &AuthorizationRequest,
    code: FamilyId,
) -> Result<Option<Response>, InternalError> {
    if !is_enabled(services, request).await? {
        return Ok(None);
    }
    let since = services.now() - GivenAnswer::REPEATABLE;
    if let Some(code) = repeat::open_code(services, code, since, browser.secret()).await? {
        let answer = answer::repeated_code(services, request, &code);
        return Ok(Some(
            deliver(services, browser.language(), &answer, login).await,
        ));
    }
    let application = services.store.application(&request.application).await?;
    let name = application
        .as_ref()
        .map(|application| application.name.clone());
    let link = link_to_client(application.as_deref(), &request.redirect_uri);
    Ok(Some(already_signed_in(services, browser, name, link)))
}

/// Returns the page for a user whose application has the answer already.
fn already_signed_in(
    services: &Services,
    browser: &Browser,
    application: Option<String>,
    link: Link,
) -> Response {
    let already = AlreadySignedInPage {
        layout: layout(services, browser.language()),
        application: application.unwrap_or_default(),
        link,
    };
    page(&already, None)
}

/// Returns the same assertion again. The page does not post it a second time by itself.
async fn assertion_again(
    services: &Services,
    browser: &Browser,
    login: OpenLogin,
    at: Timestamp,
    request: &SignOnRequest,
    authenticated_user: &AuthenticatedUser,
) -> Result<Option<Response>, InternalError> {
    let authenticated = sign_on::AuthenticatedSignOn {
        login,
        request,
        authenticated_user,
        at,
        claim: None,
        provider: None,
    };
    // The first answer has passed the observer.
    let context = SignInContext {
        services,
        observer: &NoObserver,
        request_id: "",
    };
    Ok(match sign_on::respond(context, authenticated).await? {
        sign_on::SignOnOutcome::Granted(answer) => Some(saml::sign_on::deliver(
            services,
            browser.language(),
            &answer,
        )),
        _ => None,
    })
}
