//! The pages that end a sign-in, and their return to the application.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::domain::operations::error_references::ErrorReference;
use crate::domain::sign_in::login;
use crate::domain::sign_in::login::{LoginEnd, LoginView, OpenLogin};
use crate::domain::{InternalError, Services};
use crate::http::context::{Browser, STAY};
use crate::http::devices::recover::recover_address;
use crate::http::pages::{EndedPage, EndedPageKind, ReturnNotice};
use crate::http::reply::{internal_error, layout, page, reference, see_other};
use crate::http::request_id;
use crate::http::sign_in::answer::deliver;
use crate::http::sign_in::login::asking::asking;
use crate::http::sign_in::login::no_login::{answered_before, unknown};
use crate::http::sign_in::login::posted::{LoginPost, find};
use crate::http::texts::Message;
use crate::http::{csrf, saml};
use crate::oidc::authorize;
use crate::oidc::authorize::DenialReason;
use crate::saml::sign_on;
use crate::saml::sign_on::SignOnDenied;
use assent_model::language::Language;
use assent_model::login::{Login, LoginRequest, LoginStage, SignInDenied};

/// The time in seconds after which the page of a failed sign-in returns to the application. The user can stop the
/// return (WCAG 2.2.1).
const RETURN_AFTER: u32 = 10;

/// `POST /login/{id}/leave`: returns to the application, with an error.
pub(crate) async fn leave(posted: LoginPost) -> Response {
    posted.reply(returned(&posted.services, posted.browser.language(), &posted.view).await)
}

/// Sends an error to the application.
async fn returned(
    services: &Services,
    language: Language,
    view: &LoginView,
) -> Result<Response, InternalError> {
    let (login, reason) = match view {
        LoginView::Ended(login, LoginEnd::Denied) => (login, DenialReason::Denied),
        LoginView::Ended(login, LoginEnd::Expired | LoginEnd::NumberMismatch) => {
            (login, DenialReason::Expired)
        }
        LoginView::Ended(login, _)
        | LoginView::Identify(login)
        | LoginView::Approved(login, _)
        | LoginView::SignedIn(login, _) => (login, DenialReason::GivenUp),
        LoginView::Waiting(login, _) => {
            login::cancel(services, login).await?;
            (login, DenialReason::GivenUp)
        }
        LoginView::Answered(_) => return Ok(answered_before(services, language)),
        LoginView::Unknown => return Ok(unknown(services, language)),
    };
    let reply = match &login.request {
        LoginRequest::Oidc(request) => {
            match authorize::deny(services, OpenLogin::Stored(login.id), request, reason).await? {
                Some(answer) => Some(deliver(services, language, &answer).await),
                None => None,
            }
        }
        LoginRequest::Saml(request) => {
            let why = match reason {
                DenialReason::Denied => SignOnDenied::Denied,
                DenialReason::Expired => SignOnDenied::Expired,
                DenialReason::NoConsent | DenialReason::GivenUp => SignOnDenied::GivenUp,
            };
            let answer = sign_on::deny(services, OpenLogin::Stored(login.id), request, why).await?;
            answer.map(|answer| saml::sign_on::deliver(services, language, &answer))
        }
        LoginRequest::Local { .. } => {
            login::end_without_sign_in(services, OpenLogin::Stored(login.id))
                .await?
                .is_done()
                .then(|| see_other("/"))
        }
    };
    Ok(reply.unwrap_or_else(|| answered_before(services, language)))
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
        if matches!(view, LoginView::Answered(_)) {
            return Ok(answered_before(&services, browser.language()));
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
            | LoginView::Answered(_)
            | LoginView::Unknown => None,
        };
        if let Some(login) = failed
            && csrf::is_token(&services, &browser, &return_of(login), &token)?
        {
            return returned(&services, browser.language(), &view).await;
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

/// Returns the purpose of the token of [`return_by_itself`].
fn return_of(login: &Login) -> String {
    match login.stage {
        LoginStage::Asked(approval) => format!("return {} {approval}", login.id),
        LoginStage::SignedIn(session) => format!("return {} {session}", login.id),
        LoginStage::Identify | LoginStage::Answered => format!("return {}", login.id),
    }
}

/// Returns the automatic return of a failed sign-in to the application. A sign-in to this server's own pages has no
/// application, and another user's test sign-in has had its response already. The other ends ask the user for a choice.
fn returning(
    services: &Services,
    browser: &Browser,
    login: &Login,
    ended: &EndedPageKind,
) -> Result<Option<ReturnNotice>, InternalError> {
    let waits = matches!(login.request, LoginRequest::Oidc(_) | LoginRequest::Saml(_));
    let failed = match ended {
        EndedPageKind::Denied | EndedPageKind::Expired | EndedPageKind::NumberMismatch => true,
        EndedPageKind::Rejected(_) => *ended != rejected(SignInDenied::OthersTestSignIn),
        EndedPageKind::Cancelled | EndedPageKind::Conflict | EndedPageKind::Replaced => false,
    };
    if browser.stays() || !waits || !failed {
        return Ok(None);
    }
    let page = format!("/login/{}", login.id);
    let token = csrf::token(services, browser, &return_of(login))?;
    Ok(Some(ReturnNotice {
        address: format!("{page}/return?token={token}"),
        seconds: RETURN_AFTER,
        stay: format!("{page}?{STAY}"),
    }))
}

pub(super) async fn ended_page(
    services: &Services,
    browser: &Browser,
    login: &Login,
    kind: EndedPageKind,
) -> Result<Response, InternalError> {
    let name = login::typed_name(services, login.id).await?;
    ending(services, browser, login, kind, (name, None)).await
}

/// Returns the page for a user who approved, and may not sign in. `name` is the user's display name; without it the
/// page shows the typed name.
pub(super) async fn rejected_page(
    services: &Services,
    browser: &Browser,
    login: &Login,
    why: SignInDenied,
    name: Option<&str>,
) -> Result<Response, InternalError> {
    let name = match name {
        Some(name) => Some(name.to_owned()),
        None => login::typed_name(services, login.id).await?,
    };
    let reference = reference(services);
    tracing::info!(reference, login = %login.id, reason = ?why, "sign-in rejected");
    services.error_references.record(ErrorReference {
        reference: reference.clone(),
        request: request_id::current(),
        at: services.now(),
        status: StatusCode::OK.as_u16(),
        page: "Sign-in rejected".to_owned(),
        cause: format!("{why:?} in the login {}", login.id),
    });
    let kind = rejected(why);
    // Rejections are rare, and boxing keeps the futures of the other cases small.
    Box::pin(ending(
        services,
        browser,
        login,
        kind,
        (name, Some(reference)),
    ))
    .await
}

async fn ending(
    services: &Services,
    browser: &Browser,
    login: &Login,
    ended: EndedPageKind,
    (name, reference): (Option<String>, Option<String>),
) -> Result<Response, InternalError> {
    let id = login.id.to_string();
    let asking = asking(services, login).await?;
    let returns = match asking.enabled {
        true => returning(services, browser, login, &ended)?,
        false => None,
    };
    let ended = EndedPage {
        layout: layout(services, browser.language()),
        application: asking.name,
        returns,
        ended,
        name,
        reference,
        recover: recover_address(login.id),
        again: format!("/login/{id}/again"),
        leave: asking.enabled.then(|| format!("/login/{id}/leave")),
        csrf: csrf::token(services, browser, &id)?,
    };
    Ok(page(&ended, asking.form_target.as_deref()))
}

fn rejected(why: SignInDenied) -> EndedPageKind {
    EndedPageKind::Rejected(match why {
        SignInDenied::ApplicationGone => Message::new("rejected-application-deleted"),
        SignInDenied::ApplicationDisabled(name) => {
            Message::new("rejected-application-disabled").text("application", name)
        }
        SignInDenied::AddressGone => Message::new("rejected-redirect-uri-removed"),
        SignInDenied::NoAccount(name) => {
            Message::new("rejected-no-account").text("application", name)
        }
        SignInDenied::AccountClosed(name) => {
            Message::new("rejected-account-inactive").text("application", name)
        }
        SignInDenied::UserInactive => Message::new("rejected-user-inactive"),
        SignInDenied::OthersTestSignIn => Message::new("rejected-other-test-sign-in"),
        SignInDenied::Plugin(reason) => Message::new("rejected-by-plugin").text("reason", reason),
    })
}
