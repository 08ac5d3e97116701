//! The sign-out: the end session endpoint, its confirmation page, and the page at the end.

use std::sync::Arc;

use axum::Form;
use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::domain::sessions::session;
use crate::domain::sessions::session::BrowserSession;
use crate::domain::{InternalError, Services};
use crate::http::context::Browser;
use crate::http::csrf;
use crate::http::csrf::UserToken;
use crate::http::operator_details;
use crate::http::pages::OperatorDetail;
use crate::http::pages::sign_out::{SignOutPage, SignedOutPage};
use crate::http::reply::{
    ErrorReply, forged, internal_error, layout, other_user, page, see_other, with_browser,
};
use crate::http::saml::logout;
use crate::http::sign_in::sign_out::{QUESTION, sign_out_here, without_session};
use crate::http::texts::PageLanguage;
use crate::messages::Message;
use crate::oidc::end_session;
use crate::oidc::end_session::{EndSessionError, EndSessionRequest};
use crate::oidc::parameters::Parameters;
use assent_model::language::Language;
use assent_model::saml::SessionEnd;

/// The maximum length of the address of a sealed request, in bytes. Only an application's `state` could make it longer.
const LONGEST: usize = 15 * 1024;

/// `GET /oidc/session/end`
pub(crate) async fn end(
    State(services): State<Arc<Services>>,
    RawQuery(query): RawQuery,
    browser: Browser,
) -> Response {
    let parameters = Parameters::parse(query.unwrap_or_default().as_bytes());
    let browser = browser.speaking(parameters.as_ref().ok().and_then(Parameters::language));
    let reply = async {
        let request = end_session::check(&services, &parameters?).await?;
        Ok(serve(&services, &browser, &request).await?)
    };
    reply
        .await
        .unwrap_or_else(|rejected| refused(&services, browser.language(), &rejected))
}

/// `POST /oidc/session/end`: the same request with its parameters in the body. The browser repeats it with GET, because
/// it sends no `SameSite=Lax` cookie when another site posts. The address of the GET contains the validated request,
/// sealed.
pub(crate) async fn end_by_post(
    State(services): State<Arc<Services>>,
    PageLanguage(language): PageLanguage,
    body: Bytes,
) -> Response {
    let reply = async {
        let request = end_session::check(&services, &Parameters::parse(&body)?).await?;
        let Some(sealed) = request.sealed(&services)? else {
            return Ok(see_other(QUESTION));
        };
        let address = question_address(&sealed);
        Ok(if address.len() > LONGEST {
            unreadable(&services, language, &"state is too long")
        } else {
            see_other(&address)
        })
    };
    reply
        .await
        .unwrap_or_else(|rejected| refused(&services, language, &rejected))
}

/// Returns the address of the confirmation page for an application's request, if it is not empty.
fn question_address(sealed: &str) -> String {
    if sealed.is_empty() {
        return QUESTION.to_owned();
    }
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("request", sealed)
        .finish();
    format!("{QUESTION}?{query}")
}

#[derive(Debug, Deserialize)]
pub(crate) struct EndQuery {
    /// The application's request, sealed; empty without one.
    #[serde(default)]
    request: String,
}

/// `GET /session/end`: the confirmation page, or the posted request.
pub(crate) async fn question(
    State(services): State<Arc<Services>>,
    browser: Browser,
    asked: Result<Query<EndQuery>, QueryRejection>,
) -> Response {
    let reply = async {
        let Query(asked) = asked.map_err(|_| EndSessionError::Sealed)?;
        let request = unsealed(&services, &asked.request).await?;
        Ok(serve(&services, &browser, &request).await?)
    };
    reply
        .await
        .unwrap_or_else(|rejected| refused(&services, browser.language(), &rejected))
}

#[derive(Debug, Deserialize)]
pub(crate) struct EndForm {
    #[serde(default)]
    csrf: String,
    /// The application's request, sealed.
    #[serde(default)]
    request: String,
    #[serde(default)]
    answer: String,
}

/// `POST /session/end`: the user's answer.
pub(crate) async fn answer(
    State(services): State<Arc<Services>>,
    browser: Browser,
    Form(form): Form<EndForm>,
) -> Response {
    let reply = async {
        let signed_in = browser.signed_in(&services).await?;
        let user = signed_in.as_ref().map(|signed_in| signed_in.user.id);
        match csrf::check_user_token(&services, &browser, QUESTION, user, &form.csrf)? {
            UserToken::Valid => {}
            // The session that the page showed has ended already; the application's request remains.
            UserToken::OtherUser if user.is_none() => {}
            UserToken::OtherUser => {
                let page = question_address(&form.request);
                return Ok(other_user(&services, browser.language(), page));
            }
            UserToken::Forged => return Ok(forged(&services, browser.language())),
        }
        if form.answer != "yes" {
            return Ok(see_other("/"));
        }
        let request = unsealed(&services, &form.request).await?;
        Ok(signed_out(&services, &browser, signed_in.as_ref(), &request).await?)
    };
    reply
        .await
        .unwrap_or_else(|rejected| refused(&services, browser.language(), &rejected))
}

/// `GET /session/ended`: the page after the sign-out.
pub(crate) async fn ended(
    State(services): State<Arc<Services>>,
    browser: Browser,
    query: Result<Query<EndedQuery>, QueryRejection>,
) -> Response {
    // Any site can create an address with this query, so it needs a token.
    let Query(EndedQuery { device }) = query.unwrap_or_default();
    let by_device = csrf::is_token(&services, &browser, DEVICE_REMOVED, &device).unwrap_or(false);
    page(
        &SignedOutPage {
            layout: layout(&services, browser.language()),
            by_device,
            not_notified: Vec::new(),
            others: false,
        },
        None,
    )
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct EndedQuery {
    /// The token that proves that a device was removed in this browser.
    #[serde(default)]
    device: String,
}

const DEVICE_REMOVED: &str = "signed out with a device";

/// Returns the address of that page after the removal of the device that had signed this browser in.
pub(crate) fn ended_with_device(
    services: &Services,
    browser: &Browser,
) -> Result<String, InternalError> {
    let token = csrf::token(services, browser, DEVICE_REMOVED)?;
    Ok(format!("/session/ended?device={token}"))
}

async fn unsealed(services: &Services, text: &str) -> Result<EndSessionRequest, EndSessionError> {
    if text.is_empty() {
        Ok(EndSessionRequest::default())
    } else {
        end_session::unseal(services, text).await
    }
}

/// Signs out, or asks for a confirmation if the application cannot prove that its request is for this user.
async fn serve(
    services: &Services,
    browser: &Browser,
    request: &EndSessionRequest,
) -> Result<Response, InternalError> {
    match browser.signed_in(services).await? {
        Some(signed_in) if !request.is_for(services, &signed_in)? => {
            question_page(services, browser, &signed_in, request)
        }
        signed_in => signed_out(services, browser, signed_in.as_ref(), request).await,
    }
}

/// Ends the session, if there is one, and redirects the browser. The server notifies OpenID Connect clients in the
/// background. The browser notifies SAML applications on its way.
async fn signed_out(
    services: &Services,
    browser: &Browser,
    signed_in: Option<&BrowserSession>,
    request: &EndSessionRequest,
) -> Result<Response, InternalError> {
    let ended = match (signed_in, request.sid()) {
        // The response removes the cookie of the session, so the browser's own cookie identifies it.
        (Some(signed_in), _) => session::end(services, signed_in, browser.origin())
            .await?
            .held_by(browser.digest()),
        // The session has expired, and its applications have not been notified.
        (None, Some(sid)) => session::end_if_expired(services, sid).await?,
        (None, None) => SessionEnd::default(),
    };
    let repeats = signed_in.is_none() || ended.ended_before;
    if repeats && ended.participants.is_empty() {
        let waits = browser.session_id().is_some();
        let continuation = request.continuation();
        let repeated = logout::notifying(services, browser.digest(), &continuation, waits).await?;
        if let Some(response) = repeated {
            return Ok(without_session(response, services));
        }
    }
    let response = logout::notify(
        services,
        browser.language(),
        ended,
        request.continuation(),
        browser.digest(),
    )
    .await?;
    Ok(without_session(response, services))
}

fn question_page(
    services: &Services,
    browser: &Browser,
    signed_in: &BrowserSession,
    request: &EndSessionRequest,
) -> Result<Response, InternalError> {
    let question = SignOutPage {
        layout: layout(services, browser.language()),
        name: signed_in.user.display_name().to_owned(),
        application: request.application().map(str::to_owned),
        returns_to: request.returns_to().map(str::to_owned),
        action: QUESTION.to_owned(),
        request: request.sealed(services)?.unwrap_or_default(),
        csrf: csrf::user_token(services, browser, QUESTION, signed_in.user.id)?,
    };
    Ok(with_browser(
        page(&question, request.form_target().as_deref()),
        services,
        browser,
    ))
}

fn refused(services: &Services, language: Language, rejected: &EndSessionError) -> Response {
    let (what_happened, parameter) = match rejected {
        EndSessionError::Internal(error) => return internal_error(services, language, error),
        EndSessionError::Parameters(_) => return unreadable(services, language, rejected),
        EndSessionError::Sealed => (Message::new("error-sign-out-expired"), None),
        EndSessionError::BadHint(_) | EndSessionError::InvalidHint(_) => (
            Message::new("error-sign-out-unproven"),
            Some("id_token_hint"),
        ),
        EndSessionError::OtherClient | EndSessionError::UnknownClient => {
            (Message::new("error-sign-out-unproven"), Some("client_id"))
        }
        EndSessionError::RedirectUri(_) => (
            Message::new("error-sign-out-address"),
            Some("post_logout_redirect_uri"),
        ),
    };
    let mut details = Vec::new();
    if let EndSessionError::RedirectUri(received) = rejected {
        details.push(operator_details::address(received));
    }
    details.extend(parameter.map(operator_details::parameter));
    unserved(services, language, (what_happened, details), rejected)
}

fn unreadable(services: &Services, language: Language, cause: &dyn std::fmt::Display) -> Response {
    let what_happened = Message::new("error-sign-out-unreadable");
    unserved(services, language, (what_happened, Vec::new()), cause)
}

fn unserved(
    services: &Services,
    language: Language,
    (what_happened, details): (Message, Vec<OperatorDetail>),
    cause: &dyn std::fmt::Display,
) -> Response {
    ErrorReply {
        status: StatusCode::BAD_REQUEST,
        title: Message::new("error-sign-out-request"),
        what_happened,
        what_to_do: Message::new("error-sign-out-advice"),
    }
    .render_detailed(services, language, cause, (sign_out_here(), details))
}
