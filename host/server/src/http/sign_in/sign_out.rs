//! The parts of every sign-out: the removal of the session's cookie, and the error page.

use std::fmt::Display;

use axum::http::header::SET_COOKIE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

use crate::domain::Services;
use crate::http::cookies::Cookie;
use crate::http::page_error::{ErrorTexts, PageError};
use crate::http::pages::link::Link;
use crate::messages::Message;

/// The path of the confirmation page, and the purpose of its CSRF token.
pub(super) const QUESTION: &str = "/session/end";

/// Removes the session's cookie from the browser.
pub(crate) fn without_session(mut response: Response, services: &Services) -> Response {
    if let Ok(cookie) = HeaderValue::from_str(&Cookie::Session.remove(services)) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// Returns the error about a request to sign out, with a link to the confirmation page of the sign-out.
pub(crate) fn sign_out_error(
    status: StatusCode,
    what_happened: Message,
    cause: impl Display,
) -> PageError {
    ErrorTexts {
        status,
        title: Message::new("error-sign-out-request"),
        what_happened,
        what_to_do: Message::new("error-sign-out-advice"),
    }
    .caused_by(cause)
    .with_link(Link {
        address: QUESTION.to_owned(),
        text: Message::new("error-sign-out"),
    })
}
