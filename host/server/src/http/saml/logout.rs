//! Single logout: the messages of service providers, the page that notifies them one after the other, and the page that
//! loads the sign-out pages of clients.

use std::collections::BTreeSet;

use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, RawQuery};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::domain::sessions::signed_out_clients::LogoutFrame;
use crate::domain::{InternalError, Services};
use crate::http::oidc::client_calls::is_form;
use crate::http::operator_details;
use crate::http::page_error::PageError;
use crate::http::page_routes::Visitor;
use crate::http::pages::sign_out::{
    LogoutFramesPage, SamlLogoutAnsweredPage, SamlLogoutPage, SignedOutPage,
};
use crate::http::reply::{
    Framing, layout, nonce, page, page_with_frames, page_with_saml_frame, page_with_script,
    see_other,
};
use crate::http::saml::sign_on::message_page;
use crate::http::sign_in::sign_out::sign_out_error;
use crate::messages::Message;
use crate::saml::logout::{
    self, LogoutEnd, LogoutError, LogoutReport, LogoutStart, LogoutView, Outgoing, Unanswerable,
};
use assent_model::id::LogoutId;
use assent_model::language::Language;
use assent_model::name::QuotedText;
use assent_model::saml::{LogoutContinuation, SessionEnd};
use assent_model::secret::Digest;
use assent_saml_core::binding::{BindingError, Incoming, MessageKind};

/// `GET /sso/SingleLogoutService/{applicationId}`: a message by redirect.
pub(crate) async fn service(
    Visitor { services, browser }: Visitor,
    Path(application): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let incoming = Incoming::read_redirect(query.unwrap_or_default().as_bytes());
    serve(&services, browser.language(), &application, incoming).await
}

/// `POST /sso/SingleLogoutService/{applicationId}`: a message by form.
pub(crate) async fn service_by_post(
    Visitor { services, browser }: Visitor,
    Path(application): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, PageError> {
    let incoming = match is_form(&headers) {
        true => Incoming::read_post(&body),
        false => Err(BindingError::Missing),
    };
    serve(&services, browser.language(), &application, incoming).await
}

async fn serve(
    services: &Services,
    language: Language,
    application: &str,
    incoming: Result<Incoming, BindingError>,
) -> Result<Response, PageError> {
    let served = async { receive(services, language, application, &incoming?).await };
    match served.await {
        Ok(response) => Ok(response),
        Err(rejected) => Err(logout_error(services, application, rejected).await),
    }
}

async fn receive(
    services: &Services,
    language: Language,
    application: &str,
    incoming: &Incoming,
) -> Result<Response, LogoutError> {
    match incoming.kind() {
        MessageKind::Request => Ok(logout_page(
            services,
            language,
            logout::accept_request(services, application, incoming).await?,
        )),
        MessageKind::Response => {
            let id = logout::accept_response(services, application, incoming).await?;
            let next = address(id);
            let nonce = nonce(services);
            let answered = SamlLogoutAnsweredPage {
                layout: layout(services, language),
                next,
                nonce: nonce.clone(),
            };
            Ok(page_with_script(&answered, None, &nonce, Framing::Framed))
        }
    }
}

/// Has the browser notify the applications of an ended session. Afterwards the browser continues at its
/// destination.
pub(crate) async fn notify(
    services: &Services,
    language: Language,
    ended: SessionEnd,
    continuation: LogoutContinuation,
    browser: Digest,
) -> Result<Response, InternalError> {
    let begun = logout::begin(services, ended, continuation, Some(browser), None).await?;
    Ok(logout_page(services, language, begun))
}

/// Returns the response to a repeated sign-out: the browser goes to the page of the logout that its first request
/// began.
pub(crate) async fn repeat(
    services: &Services,
    browser: Digest,
    continuation: &LogoutContinuation,
    waits: bool,
) -> Result<Option<Response>, InternalError> {
    let begun = logout::recent(services, browser, continuation, waits).await?;
    Ok(begun.map(|id| see_other(&address(id))))
}

fn logout_page(services: &Services, language: Language, begun: LogoutStart) -> Response {
    match begun {
        LogoutStart::Notifying(id) => see_other(&address(id)),
        LogoutStart::Finished(finished) => finish(services, language, finished),
    }
}

fn finish(services: &Services, language: Language, finished: LogoutEnd) -> Response {
    match finished {
        LogoutEnd::Page(report) if report.is_complete() => see_other("/session/ended"),
        LogoutEnd::Page(report) => page(
            &SignedOutPage {
                layout: layout(services, language),
                by_device: false,
                confirmed: report.confirmed,
                loaded: report.loaded,
                unconfirmed: report.unconfirmed,
                others: report.others,
            },
            None,
        ),
        LogoutEnd::Redirect(location) => see_other(&location),
        LogoutEnd::Message(message) => send(services, language, message, Framing::Denied),
    }
}

fn send(services: &Services, language: Language, message: Outgoing, shown: Framing) -> Response {
    match message {
        Outgoing::Redirect(location) => see_other(&location),
        Outgoing::Form {
            name,
            action,
            fields,
        } => message_page(services, language, name, &action, fields, shown),
    }
}

/// Returns the path of a logout's page.
fn address(id: LogoutId) -> String {
    format!("/sso/logout/{id}")
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct ProgressQuery {
    /// The keys of the loaded frames with spaces between them, when the browser reports the end of the frames.
    loaded: Option<String>,
}

/// `GET /sso/logout/{id}`: the page of the service provider that is notified now, or the page with the frames of the
/// clients. It reloads itself when the time has expired, after the response of the service provider, and after all
/// frames are loaded.
pub(crate) async fn show(
    Visitor { services, browser }: Visitor,
    Path(id): Path<String>,
    progress: Result<Query<ProgressQuery>, QueryRejection>,
) -> Result<Response, PageError> {
    let Ok(id) = id.parse::<LogoutId>() else {
        return Ok(see_other("/session/ended"));
    };
    let Query(ProgressQuery { loaded }) = progress.unwrap_or_default();
    let loaded: Option<BTreeSet<String>> =
        loaded.map(|keys| keys.split(' ').map(str::to_owned).collect());
    let digests = browser.digests();
    Ok(
        match logout::view(&services, id, &digests, loaded.as_ref()).await? {
            LogoutView::Notifying {
                name,
                request,
                turn,
                of,
            } => {
                let logout_page = SamlLogoutPage {
                    layout: layout(&services, browser.language()),
                    application: name,
                    frame: format!("{}/{request}", address(id)),
                    turn: u32::try_from(turn).unwrap_or(u32::MAX),
                    of: u32::try_from(of).unwrap_or(u32::MAX),
                    seconds: services.settings.saml.logout_timeout.whole_seconds(),
                };
                page_with_saml_frame(&services, &logout_page)
            }
            LogoutView::Frames { frames, report } => {
                frames_page(&services, browser.language(), frames, report)
            }
            LogoutView::Finished(finished) => finish(&services, browser.language(), finished),
            LogoutView::Unknown => see_other("/session/ended"),
        },
    )
}

fn frames_page(
    services: &Services,
    language: Language,
    frames: Vec<LogoutFrame>,
    report: LogoutReport,
) -> Response {
    let frames_page = LogoutFramesPage {
        layout: layout(services, language),
        frames,
        confirmed: report.confirmed,
        unconfirmed: report.unconfirmed,
        seconds: services.settings.saml.logout_timeout.whole_seconds(),
    };
    let frames = frames_page.frames.iter();
    let origins = frames.map(|frame| frame.origin.as_str()).collect();
    page_with_frames(&frames_page, &origins)
}

/// `GET /sso/logout/{id}/{request}`: the content of the frame, which is the request to the current service provider.
pub(crate) async fn ask(
    Visitor { services, browser }: Visitor,
    Path((id, request)): Path<(String, String)>,
) -> Result<Response, PageError> {
    let message = match id.parse::<LogoutId>() {
        Ok(id) => logout::ask(&services, id, &request, &browser.digests()).await?,
        Err(_) => None,
    };
    Ok(match message {
        Some(message) => send(&services, browser.language(), message, Framing::Framed),
        // With this status, a frame keeps its content.
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

/// The part of the message at fault, by its name in SAML; `None` for the whole message.
const fn parameter_at_fault(why: &Unanswerable) -> Option<&'static str> {
    Some(match why {
        Unanswerable::Application | Unanswerable::Binding(_) | Unanswerable::Message(_) => {
            return None;
        }
        Unanswerable::Untrusted(_) => "Signature",
        Unanswerable::Header(error) => error.attribute(),
        Unanswerable::Late => "NotOnOrAfter",
        Unanswerable::Replay => "ID",
        Unanswerable::Unnamed => "SessionIndex",
        Unanswerable::Principal => "NameID",
        Unanswerable::Unsolicited => "InResponseTo",
    })
}

async fn logout_error(services: &Services, application: &str, rejected: LogoutError) -> PageError {
    let why = match rejected {
        LogoutError::Internal(error) => return error.into(),
        LogoutError::Page(why) => why,
    };
    let what_happened = match &why {
        Unanswerable::Application => Message::new("error-request-application"),
        Unanswerable::Binding(_) | Unanswerable::Message(_) => {
            Message::new("error-logout-unreadable")
        }
        Unanswerable::Untrusted(_) => Message::new("error-logout-unsigned"),
        Unanswerable::Header(_) | Unanswerable::Late => {
            Message::new("error-logout-wrong-recipient")
        }
        Unanswerable::Replay => Message::new("error-request-replay"),
        Unanswerable::Unnamed => Message::new("error-logout-no-session"),
        Unanswerable::Unsolicited => Message::new("error-logout-unexpected"),
        Unanswerable::Principal => Message::new("error-logout-principal"),
    };
    let status = match why {
        Unanswerable::Application => StatusCode::NOT_FOUND,
        _ => StatusCode::BAD_REQUEST,
    };
    let cause = format!(
        "{why}; the application in the address is {}",
        QuotedText::new(application)
    );
    let mut details = operator_details::service_provider(services, application).await;
    details.extend(parameter_at_fault(&why).map(operator_details::parameter));
    sign_out_error(status, what_happened, cause).with_details(details)
}
