//! The link to the sign-out, and the removal of the session's cookie.

use axum::http::HeaderValue;
use axum::http::header::SET_COOKIE;
use axum::response::Response;

use crate::domain::Services;
use crate::http::cookies::Cookie;
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

/// The link to the confirmation page of the sign-out.
pub(crate) fn sign_out_here() -> Link {
    Link {
        address: QUESTION.to_owned(),
        text: Message::new("error-sign-out"),
    }
}
