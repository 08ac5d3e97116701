//! Pages for a login that is unknown, that was completed before, or that cannot begin.

use std::fmt::Display;

use axum::http::StatusCode;

use crate::http::page_error::{ErrorTexts, PageError};
use crate::messages::Message;

pub(super) fn unknown_login() -> PageError {
    ErrorTexts {
        status: StatusCode::NOT_FOUND,
        title: Message::new("error-login-unknown"),
        what_happened: Message::new("error-login-unknown-happened"),
        what_to_do: Message::new("error-login-unknown-advice"),
    }
    .caused_by("no such login in this browser")
}

pub(super) fn answered_login() -> PageError {
    ErrorTexts {
        status: StatusCode::CONFLICT,
        title: Message::new("error-login-answered"),
        what_happened: Message::new("error-login-answered-happened"),
        what_to_do: Message::new("error-login-answered-advice"),
    }
    .caused_by("the login was answered before")
}

/// The page for a request of an application that an administrator disabled. Its link leads to the start page.
pub(crate) fn disabled_application(cause: impl Display) -> PageError {
    ErrorTexts {
        status: StatusCode::FORBIDDEN,
        title: Message::new("error-application-disabled"),
        what_happened: Message::new("error-application-disabled-happened"),
        what_to_do: Message::new("error-application-disabled-advice"),
    }
    .caused_by(cause)
}
