//! Single logout: what service providers send, and the page that tells them one after the other.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};

use super::client_calls::is_form;
use super::context::Browser;
use super::pages::{SamlLogoutAnsweredPage, SamlLogoutPage, SignedOutPage};
use super::reply::{ErrorReply, Shown, broken, layout, nonce, page, page_with_frames, page_with_script, see_other};
use super::saml::posted;
use super::session_end::sign_out_here;
use super::texts::Message;
use crate::domain::{Broken, Host};
use crate::id::LogoutId;
use crate::model::language::Language;
use crate::model::name::Quoted;
use crate::model::saml::{Afterwards, SessionEnd};
use crate::saml::binding::{BindingError, Incoming, Kind};
use crate::saml::logout::{self, Begun, Finished, Outgoing, Rejected, Unanswerable, View};

/// `GET /sso/SingleLogoutService/{applicationId}`: a message by redirect.
pub(super) async fn service(
    State(host): State<Arc<Host>>,
    Path(application): Path<String>,
    RawQuery(query): RawQuery,
    language: Language,
) -> Response {
    let reply = async {
        let incoming = Incoming::read_redirect(query.unwrap_or_default().as_bytes())?;
        serve(&host, language, &application, &incoming).await
    };
    reply.await.unwrap_or_else(|rejected| refused(&host, language, &application, &rejected))
}

/// `POST /sso/SingleLogoutService/{applicationId}`: a message by form.
pub(super) async fn service_by_post(
    State(host): State<Arc<Host>>,
    Path(application): Path<String>,
    language: Language,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let reply = async {
        if !is_form(&headers) {
            return Err(BindingError::Missing.into());
        }
        serve(&host, language, &application, &Incoming::read_post(&body)?).await
    };
    reply.await.unwrap_or_else(|rejected| refused(&host, language, &application, &rejected))
}

async fn serve(host: &Host, language: Language, application: &str, incoming: &Incoming) -> Result<Response, Rejected> {
    match incoming.kind() {
        Kind::Request => Ok(go_on(host, language, logout::requested(host, application, incoming).await?)),
        Kind::Response => {
            let id = logout::answered(host, application, incoming).await?;
            let next = address(id);
            let nonce = nonce(host);
            let answered = SamlLogoutAnsweredPage { layout: layout(host, language), next, nonce: nonce.clone() };
            Ok(page_with_script(&answered, None, &nonce, Shown::Framed))
        }
    }
}

/// Has the browser tell the service providers of a session that has ended; then it goes where it was to go.
pub(super) async fn tell(
    host: &Host,
    language: Language,
    ended: SessionEnd,
    afterwards: Afterwards,
) -> Result<Response, Broken> {
    Ok(go_on(host, language, logout::begin(host, ended, afterwards).await?))
}

fn go_on(host: &Host, language: Language, begun: Begun) -> Response {
    match begun {
        Begun::Telling(id) => see_other(&address(id)),
        Begun::Finished(finished) => finish(host, language, finished),
    }
}

fn finish(host: &Host, language: Language, finished: Finished) -> Response {
    match finished {
        Finished::Page { untold, others: false } if untold.is_empty() => see_other("/session/ended"),
        Finished::Page { untold, others } => {
            page(&SignedOutPage { layout: layout(host, language), by_device: false, untold, others }, None)
        }
        Finished::Redirect(location) => see_other(&location),
        Finished::Message(message) => send(host, language, message, Shown::Alone),
    }
}

fn send(host: &Host, language: Language, message: Outgoing, shown: Shown) -> Response {
    match message {
        Outgoing::Redirect(location) => see_other(&location),
        Outgoing::Form { name, action, fields } => posted(host, language, name, &action, fields, shown),
    }
}

/// Where a logout's page is.
fn address(id: LogoutId) -> String {
    format!("/sso/logout/{id}")
}

/// `GET /sso/logout/{id}`: who is told now. It loads itself again when the time of that one is over, or when its answer
/// came.
pub(super) async fn show(State(host): State<Arc<Host>>, Path(id): Path<String>, browser: Browser) -> Response {
    let reply = async {
        let Ok(id) = id.parse::<LogoutId>() else { return Ok(see_other("/session/ended")) };
        Ok(match logout::view(&host, id, &browser.digests()).await? {
            View::Telling { name, request, turn, of } => {
                let telling = SamlLogoutPage {
                    layout: layout(&host, browser.language()),
                    application: name,
                    frame: format!("{}/{request}", address(id)),
                    turn: u32::try_from(turn).unwrap_or(u32::MAX),
                    of: u32::try_from(of).unwrap_or(u32::MAX),
                    seconds: host.settings.saml.logout_seconds,
                };
                page_with_frames(&host, &telling)
            }
            View::Finished(finished) => finish(&host, browser.language(), finished),
            View::Unknown => see_other("/session/ended"),
        })
    };
    reply.await.unwrap_or_else(|error: Broken| broken(&host, browser.language(), &error))
}

/// `GET /sso/logout/{id}/{request}`: what the frame holds: the request to the service provider whose turn it is.
pub(super) async fn ask(
    State(host): State<Arc<Host>>,
    Path((id, request)): Path<(String, String)>,
    browser: Browser,
) -> Response {
    let reply = async {
        let message = match id.parse::<LogoutId>() {
            Ok(id) => logout::ask(&host, id, &request, &browser.digests()).await?,
            Err(_) => None,
        };
        Ok(match message {
            Some(message) => send(&host, browser.language(), message, Shown::Framed),
            // A frame stays as it is then.
            None => StatusCode::NO_CONTENT.into_response(),
        })
    };
    reply.await.unwrap_or_else(|error: Broken| broken(&host, browser.language(), &error))
}

fn refused(host: &Host, language: Language, application: &str, rejected: &Rejected) -> Response {
    let why = match rejected {
        Rejected::Broken(error) => return broken(host, language, error),
        Rejected::Page(why) => why,
    };
    let what_happened = match why {
        Unanswerable::Application => Message::of("error-request-application"),
        Unanswerable::Binding(_) | Unanswerable::Message(_) => Message::of("error-logout-unreadable"),
        Unanswerable::Untrusted(_) => Message::of("error-logout-unsigned"),
        Unanswerable::Header(_) | Unanswerable::Late => Message::of("error-logout-elsewhere"),
        Unanswerable::Replay => Message::of("error-request-replay"),
        Unanswerable::Unnamed => Message::of("error-logout-unnamed"),
        Unanswerable::Unasked => Message::of("error-logout-unasked"),
        Unanswerable::Principal => Message::of("error-logout-principal"),
    };
    let status = match why {
        Unanswerable::Application => StatusCode::NOT_FOUND,
        _ => StatusCode::BAD_REQUEST,
    };
    let cause = format!("{why}; the application in the address is {}", Quoted::new(application));
    ErrorReply {
        status,
        title: Message::of("error-sign-out-request"),
        what_happened,
        what_to_do: Message::of("error-sign-out-advice"),
    }
    .render_with(host, language, &cause, Some(sign_out_here()))
}
