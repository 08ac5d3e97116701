//! Signing out: the end session endpoint, the question that it may ask, and the page at the end.

use std::sync::Arc;

use axum::Form;
use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::domain::sessions::session;
use crate::domain::sessions::session::SignedIn;
use crate::domain::{Host, InternalError};
use crate::http::context::Browser;
use crate::http::csrf;
use crate::http::pages::{SignOutPage, SignedOutPage};
use crate::http::reply::{
    ErrorReply, forged, internal_error, layout, page, see_other, with_browser,
};
use crate::http::saml::logout;
use crate::http::sign_in::sign_out::{QUESTION, sign_out_here, without_session};
use crate::http::texts::{Message, PageLanguage};
use crate::oidc::end_session;
use crate::oidc::end_session::{EndSession, Rejected};
use crate::oidc::parameters::Parameters;
use assent_model::language::Language;
use assent_model::saml::SessionEnd;

/// How long the address of a sealed request may be, in bytes. Only an application's `state` could make it longer.
const LONGEST: usize = 15 * 1024;

/// `GET /oidc/session/end`
pub(crate) async fn end(
    State(host): State<Arc<Host>>,
    RawQuery(query): RawQuery,
    browser: Browser,
) -> Response {
    let parameters = Parameters::parse(query.unwrap_or_default().as_bytes());
    let browser = browser.speaking(parameters.as_ref().ok().and_then(Parameters::language));
    let reply = async {
        let request = end_session::check(&host, &parameters?).await?;
        Ok(serve(&host, &browser, &request).await?)
    };
    reply
        .await
        .unwrap_or_else(|rejected| refused(&host, browser.language(), &rejected))
}

/// `POST /oidc/session/end`: the same with the parameters in the body. The browser comes again with GET, since it sends
/// us no `SameSite=Lax` cookie when another site posts. What it brings is what was read of the request, sealed.
pub(crate) async fn end_by_post(
    State(host): State<Arc<Host>>,
    PageLanguage(language): PageLanguage,
    body: Bytes,
) -> Response {
    let reply = async {
        let request = end_session::check(&host, &Parameters::parse(&body)?).await?;
        let Some(sealed) = request.sealed(&host)? else {
            return Ok(see_other(QUESTION));
        };
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("request", &sealed)
            .finish();
        Ok(if query.len() > LONGEST {
            unreadable(&host, language, &"state is too long")
        } else {
            see_other(&format!("{QUESTION}?{query}"))
        })
    };
    reply
        .await
        .unwrap_or_else(|rejected| refused(&host, language, &rejected))
}

#[derive(Debug, Deserialize)]
pub(crate) struct EndQuery {
    /// An application's request, sealed; nothing for whoever comes without one.
    #[serde(default)]
    request: String,
}

/// `GET /session/end`: the question, or the request that was posted.
pub(crate) async fn question(
    State(host): State<Arc<Host>>,
    browser: Browser,
    asked: Result<Query<EndQuery>, QueryRejection>,
) -> Response {
    let reply = async {
        let Query(asked) = asked.map_err(|_| Rejected::Sealed)?;
        let request = unsealed(&host, &asked.request).await?;
        Ok(serve(&host, &browser, &request).await?)
    };
    reply
        .await
        .unwrap_or_else(|rejected| refused(&host, browser.language(), &rejected))
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

/// `POST /session/end`: the person's answer.
pub(crate) async fn answer(
    State(host): State<Arc<Host>>,
    browser: Browser,
    Form(form): Form<EndForm>,
) -> Response {
    let reply = async {
        if !csrf::is_token(&host, &browser, QUESTION, &form.csrf)? {
            return Ok(forged(&host, browser.language()));
        }
        if form.answer != "yes" {
            return Ok(see_other("/"));
        }
        let request = unsealed(&host, &form.request).await?;
        let signed_in = browser.signed_in(&host).await?;
        Ok(signed_out(&host, &browser, signed_in.as_ref(), &request).await?)
    };
    reply
        .await
        .unwrap_or_else(|rejected| refused(&host, browser.language(), &rejected))
}

/// `GET /session/ended`: you are signed out.
pub(crate) async fn ended(
    State(host): State<Arc<Host>>,
    browser: Browser,
    query: Result<Query<EndedQuery>, QueryRejection>,
) -> Response {
    // Anybody can make up an address that says so.
    let Query(EndedQuery { device }) = query.unwrap_or_default();
    let by_device = csrf::is_token(&host, &browser, DEVICE_REMOVED, &device).unwrap_or(false);
    page(
        &SignedOutPage {
            layout: layout(&host, browser.language()),
            by_device,
            untold: Vec::new(),
            others: false,
        },
        None,
    )
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct EndedQuery {
    /// The token that shows that a device was removed here.
    #[serde(default)]
    device: String,
}

const DEVICE_REMOVED: &str = "signed out with a device";

/// The address of that page, for whoever has just removed the device that had signed this browser in.
pub(crate) fn ended_with_device(host: &Host, browser: &Browser) -> Result<String, InternalError> {
    let token = csrf::token(host, browser, DEVICE_REMOVED)?;
    Ok(format!("/session/ended?device={token}"))
}

async fn unsealed(host: &Host, text: &str) -> Result<EndSession, Rejected> {
    if text.is_empty() {
        Ok(EndSession::default())
    } else {
        end_session::unseal(host, text).await
    }
}

/// Signs out, or asks first where the application can't show that it asks for this person.
async fn serve(
    host: &Host,
    browser: &Browser,
    request: &EndSession,
) -> Result<Response, InternalError> {
    match browser.signed_in(host).await? {
        Some(signed_in) if !request.is_for(host, &signed_in)? => {
            question_page(host, browser, &signed_in, request)
        }
        signed_in => signed_out(host, browser, signed_in.as_ref(), request).await,
    }
}

/// Ends the session, if there is one, and sends the browser on. Clients are told behind the person's back, and nobody
/// waits for them; SAML applications by the browser, on its way.
async fn signed_out(
    host: &Host,
    browser: &Browser,
    signed_in: Option<&SignedIn>,
    request: &EndSession,
) -> Result<Response, InternalError> {
    let ended = match (signed_in, request.sid()) {
        // The cookie of the session is taken away, so the browser is known by its own.
        (Some(signed_in), _) => session::end(host, signed_in, browser.origin())
            .await?
            .held_by(browser.digest()),
        // The session is over here, and its applications don't know.
        (None, Some(sid)) => session::end_if_over(host, sid).await?,
        (None, None) => SessionEnd::default(),
    };
    let response = logout::tell(host, browser.language(), ended, request.continuation()).await?;
    Ok(without_session(response, host))
}

fn question_page(
    host: &Host,
    browser: &Browser,
    signed_in: &SignedIn,
    request: &EndSession,
) -> Result<Response, InternalError> {
    let question = SignOutPage {
        layout: layout(host, browser.language()),
        name: signed_in.user.display_name().to_owned(),
        application: request.application().map(str::to_owned),
        returns_to: request.returns_to().map(str::to_owned),
        action: QUESTION.to_owned(),
        request: request.sealed(host)?.unwrap_or_default(),
        csrf: csrf::token(host, browser, QUESTION)?,
    };
    Ok(with_browser(
        page(&question, request.form_target().as_deref()),
        host,
        browser,
    ))
}

fn refused(host: &Host, language: Language, rejected: &Rejected) -> Response {
    let what_happened = match rejected {
        Rejected::Internal(error) => return internal_error(host, language, error),
        Rejected::Parameters(_) => return unreadable(host, language, rejected),
        Rejected::Sealed => Message::of("error-sign-out-expired"),
        Rejected::BadHint(_)
        | Rejected::InvalidHint(_)
        | Rejected::OtherClient
        | Rejected::UnknownClient => Message::of("error-sign-out-unproven"),
        Rejected::RedirectUri => Message::of("error-sign-out-address"),
    };
    unserved(host, language, what_happened, rejected)
}

fn unreadable(host: &Host, language: Language, cause: &dyn std::fmt::Display) -> Response {
    unserved(
        host,
        language,
        Message::of("error-sign-out-unreadable"),
        cause,
    )
}

fn unserved(
    host: &Host,
    language: Language,
    what_happened: Message,
    cause: &dyn std::fmt::Display,
) -> Response {
    ErrorReply {
        status: StatusCode::BAD_REQUEST,
        title: Message::of("error-sign-out-request"),
        what_happened,
        what_to_do: Message::of("error-sign-out-advice"),
    }
    .render_with(host, language, cause, Some(sign_out_here()))
}
