//! The sign-out: the end session endpoint, its confirmation page, and the page at the end.

use std::fmt::Display;
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
use crate::http::operator_details;
use crate::http::page_error::PageError;
use crate::http::page_routes::Visitor;
use crate::http::pages::sign_out::{SignOutPage, SignedOutPage};
use crate::http::reply::{layout, page, see_other, with_browser};
use crate::http::saml::logout;
use crate::http::sign_in::sign_out::{QUESTION, sign_out_error, without_session};
use crate::messages::Message;
use crate::oidc::end_session;
use crate::oidc::end_session::{EndSessionError, EndSessionRequest};
use crate::oidc::parameters::Parameters;
use assent_model::saml::SessionEnd;

/// The maximum length of the address of a sealed request, in bytes. Only an application's `state` could make it longer.
const LONGEST: usize = 15 * 1024;

/// `GET /oidc/session/end`. Error pages are in the language that the application requested, too.
pub(crate) async fn end(
    Visitor { services, browser }: Visitor,
    RawQuery(query): RawQuery,
) -> Response {
    let parameters = Parameters::parse(query.unwrap_or_default().as_bytes());
    let browser = browser.speaking(parameters.as_ref().ok().and_then(Parameters::language));
    let reply = async {
        let parameters = parameters.map_err(EndSessionError::from)?;
        let request = end_session::check(&services, &parameters).await?;
        serve(&services, &browser, &request).await
    };
    reply
        .await
        .unwrap_or_else(|error: PageError| error.render(&services, browser.language()))
}

/// `POST /oidc/session/end`: the same request with its parameters in the body. The browser repeats it with GET, because
/// it sends no `SameSite=Lax` cookie when another site posts. The address of the GET contains the validated request,
/// sealed.
pub(crate) async fn end_by_post(
    Visitor { services, .. }: Visitor,
    body: Bytes,
) -> Result<Response, PageError> {
    let parameters = Parameters::parse(&body).map_err(EndSessionError::from)?;
    let request = end_session::check(&services, &parameters).await?;
    let Some(sealed) = request.seal(&services)? else {
        return Ok(see_other(QUESTION));
    };
    let address = question_address(&sealed);
    if address.len() > LONGEST {
        return Err(unreadable_request("state is too long"));
    }
    Ok(see_other(&address))
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
    Visitor { services, browser }: Visitor,
    asked: Result<Query<EndQuery>, QueryRejection>,
) -> Result<Response, PageError> {
    let Query(asked) = asked.map_err(|_| EndSessionError::Sealed)?;
    let request = unseal(&services, &asked.request).await?;
    serve(&services, &browser, &request).await
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

/// `POST /session/end`: the user's answer. If the session that the page showed has ended already, the application's
/// request remains.
pub(crate) async fn answer(
    Visitor { services, browser }: Visitor,
    Form(form): Form<EndForm>,
) -> Result<Response, PageError> {
    let signed_in = browser.signed_in(&services).await?;
    let user = signed_in.as_ref().map(|signed_in| signed_in.user.id);
    csrf::require_user(&services, &browser, QUESTION, user, &form.csrf, || {
        question_address(&form.request)
    })?;
    if form.answer != "yes" {
        return Ok(see_other("/"));
    }
    let request = unseal(&services, &form.request).await?;
    end_and_notify(&services, &browser, signed_in.as_ref(), &request).await
}

/// `GET /session/ended`: the page after the sign-out.
pub(crate) async fn show_end(
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
            confirmed: Vec::new(),
            loaded: Vec::new(),
            unconfirmed: Vec::new(),
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

async fn unseal(services: &Services, text: &str) -> Result<EndSessionRequest, EndSessionError> {
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
) -> Result<Response, PageError> {
    match browser.signed_in(services).await? {
        Some(signed_in) if !request.is_for(services, &signed_in)? => {
            question_page(services, browser, &signed_in, request)
        }
        signed_in => end_and_notify(services, browser, signed_in.as_ref(), request).await,
    }
}

/// Ends the session, if there is one, and redirects the browser. The server notifies OpenID Connect clients in the
/// background. On its way the browser notifies SAML applications, and loads the sign-out pages of clients.
async fn end_and_notify(
    services: &Services,
    browser: &Browser,
    signed_in: Option<&BrowserSession>,
    request: &EndSessionRequest,
) -> Result<Response, PageError> {
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
    if repeats && !ended.needs_browser() {
        let waits = browser.session_id().is_some();
        let continuation = request.continuation();
        let repeated = logout::repeat(services, browser.digest(), &continuation, waits).await?;
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
) -> Result<Response, PageError> {
    let question = SignOutPage {
        layout: layout(services, browser.language()),
        name: signed_in.user.display_name().to_owned(),
        application: request.application().map(str::to_owned),
        returns_to: request.returns_to().map(str::to_owned),
        action: QUESTION.to_owned(),
        request: request.seal(services)?.unwrap_or_default(),
        csrf: csrf::user_token(services, browser, QUESTION, signed_in.user.id)?,
    };
    Ok(with_browser(
        page(&question, request.form_target().as_deref()),
        services,
        browser,
    ))
}

impl From<EndSessionError> for PageError {
    fn from(rejected: EndSessionError) -> Self {
        let cause = rejected.to_string();
        let (what_happened, details) = match rejected {
            EndSessionError::Internal(error) => return error.into(),
            EndSessionError::Parameters(_) => return unreadable_request(cause),
            EndSessionError::Sealed => (Message::new("error-sign-out-expired"), Vec::new()),
            EndSessionError::BadHint(_) | EndSessionError::InvalidHint(_) => (
                Message::new("error-sign-out-unproven"),
                vec![operator_details::parameter("id_token_hint")],
            ),
            EndSessionError::OtherClient | EndSessionError::UnknownClient => (
                Message::new("error-sign-out-unproven"),
                vec![operator_details::parameter("client_id")],
            ),
            EndSessionError::RedirectUri(received) => (
                Message::new("error-sign-out-address"),
                vec![
                    operator_details::address(&received),
                    operator_details::parameter("post_logout_redirect_uri"),
                ],
            ),
        };
        sign_out_error(StatusCode::BAD_REQUEST, what_happened, cause).with_details(details)
    }
}

fn unreadable_request(cause: impl Display) -> PageError {
    let what_happened = Message::new("error-sign-out-unreadable");
    sign_out_error(StatusCode::BAD_REQUEST, what_happened, cause)
}
