//! The pages that end a sign-in, and how they return to the application.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use serde::Deserialize;

use crate::domain::sign_in::login;
use crate::domain::sign_in::login::{Ended, OpenLogin, View};
use crate::domain::{InternalError, Services};
use crate::http::context::{Browser, STAY};
use crate::http::pages::{Ended as EndedKind, EndedPage, ReturnNotice};
use crate::http::reply::{internal_error, layout, page, see_other};
use crate::http::sign_in::answer::deliver;
use crate::http::sign_in::login::asking::asking;
use crate::http::sign_in::login::no_login::{answered_before, unknown};
use crate::http::sign_in::login::posted::{Posted, find};
use crate::http::texts::Message;
use crate::http::{csrf, saml};
use crate::oidc::authorize;
use crate::oidc::authorize::DenialReason;
use crate::saml::sign_on;
use crate::saml::sign_on::Failure;
use assent_model::language::Language;
use assent_model::login::{Login, LoginRequest, LoginStage, SignInDenied};

/// After how many seconds the page of a failed sign-in goes back to the application. The user can have it stay (WCAG
/// 2.2.1).
const RETURN_AFTER: u32 = 10;

/// `POST /login/{id}/leave`: back to the application, with an error.
pub(crate) async fn leave(posted: Posted) -> Response {
    posted.reply(returned(&posted.services, posted.browser.language(), &posted.view).await)
}

/// Answers the application with an error.
async fn returned(
    services: &Services,
    language: Language,
    view: &View,
) -> Result<Response, InternalError> {
    let (login, reason) = match view {
        View::Ended(login, Ended::Denied) => (login, DenialReason::Denied),
        View::Ended(login, Ended::Expired | Ended::NumberMismatch) => {
            (login, DenialReason::Expired)
        }
        View::Ended(login, _)
        | View::Identify(login)
        | View::Approved(login, _)
        | View::SignedIn(login, _) => (login, DenialReason::GivenUp),
        View::Waiting(login, _) => {
            login::cancel(services, login).await?;
            (login, DenialReason::GivenUp)
        }
        View::Answered(_) => return Ok(answered_before(services, language)),
        View::Unknown => return Ok(unknown(services, language)),
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
                DenialReason::Denied => Failure::Denied,
                DenialReason::Expired => Failure::Expired,
                DenialReason::NoConsent | DenialReason::GivenUp => Failure::GivenUp,
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
    /// The token that shows that the page of this browser asks.
    #[serde(default)]
    token: String,
}

/// `GET /login/{id}/return`: back to the application, with an error, once the page of a failed sign-in has been shown
/// long enough.
///
/// A GET, since a page can do no more by itself without a script. Another site can't ask for it: the token is of this
/// browser and attempt. A page in another tab can't either, once the user tries again.
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
        if matches!(view, View::Answered(_)) {
            return Ok(answered_before(&services, browser.language()));
        }
        let failed = match &view {
            View::Ended(login, Ended::Denied | Ended::Expired | Ended::NumberMismatch) => {
                Some(login)
            }
            View::Approved(login, _) | View::SignedIn(login, _) => Some(login),
            View::Ended(..)
            | View::Identify(_)
            | View::Waiting(..)
            | View::Answered(_)
            | View::Unknown => None,
        };
        if let Some(login) = failed
            && csrf::is_token(&services, &browser, &return_of(login), &token)?
        {
            return returned(&services, browser.language(), &view).await;
        }
        // The page for how far it has come, whatever that is.
        Ok(match view.login() {
            Some(login) => see_other(&format!("/login/{}", login.id)),
            None => unknown(&services, browser.language()),
        })
    };
    reply
        .await
        .unwrap_or_else(|error| internal_error(&services, browser.language(), &error))
}

/// What the token of [`return_by_itself`] is for.
fn return_of(login: &Login) -> String {
    match login.stage {
        LoginStage::Asked(approval) => format!("return {} {approval}", login.id),
        LoginStage::SignedIn(session) => format!("return {} {session}", login.id),
        LoginStage::Identify | LoginStage::Answered => format!("return {}", login.id),
    }
}

/// How the page of a failed sign-in returns to the application. A sign-in to our own pages has no application, and
/// somebody else's test sign-in was answered already. The other ends ask the user for a choice.
fn returning(
    services: &Services,
    browser: &Browser,
    login: &Login,
    ended: &EndedKind,
) -> Result<Option<ReturnNotice>, InternalError> {
    let waits = matches!(login.request, LoginRequest::Oidc(_) | LoginRequest::Saml(_));
    let failed = match ended {
        EndedKind::Denied | EndedKind::Expired => true,
        EndedKind::Refused(_) => *ended != refused(SignInDenied::OthersTestSignIn),
        EndedKind::Cancelled | EndedKind::Conflict | EndedKind::Replaced => false,
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
    ended: EndedKind,
) -> Result<Response, InternalError> {
    let id = login.id.to_string();
    let asking = asking(services, login).await?;
    let ended = EndedPage {
        layout: layout(services, browser.language()),
        application: asking.name,
        returns: returning(services, browser, login, &ended)?,
        ended,
        again: Some(format!("/login/{id}/again")),
        leave: Some(format!("/login/{id}/leave")),
        csrf: csrf::token(services, browser, &id)?,
    };
    Ok(page(&ended, asking.form_target.as_deref()))
}

pub(super) fn refused(why: SignInDenied) -> EndedKind {
    EndedKind::Refused(match why {
        SignInDenied::ApplicationGone => Message::of("rejected-application-deleted"),
        SignInDenied::AddressGone => Message::of("rejected-redirect-uri-removed"),
        SignInDenied::NoAccount(name) => {
            Message::of("rejected-no-account").text("application", name)
        }
        SignInDenied::AccountClosed(name) => {
            Message::of("rejected-account-inactive").text("application", name)
        }
        SignInDenied::PersonClosed => Message::of("rejected-user-inactive"),
        SignInDenied::OthersTestSignIn => Message::of("rejected-other-test-sign-in"),
        SignInDenied::Plugin(reason) => Message::of("rejected-by-plugin").text("reason", reason),
    })
}
