//! Pages for a login that is unknown, that was completed before, or that cannot begin.

use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::Services;
use crate::http::pages::link::Link;
use crate::http::reply::ErrorReply;
use crate::messages::Message;
use assent_model::language::Language;

pub(super) fn unknown(services: &Services, language: Language) -> Response {
    ErrorReply {
        status: StatusCode::NOT_FOUND,
        title: Message::new("error-login-unknown"),
        what_happened: Message::new("error-login-unknown-happened"),
        what_to_do: Message::new("error-login-unknown-advice"),
    }
    .render(services, language, &"no such login in this browser")
}

pub(super) fn answered_before(services: &Services, language: Language) -> Response {
    ErrorReply {
        status: StatusCode::CONFLICT,
        title: Message::new("error-login-answered"),
        what_happened: Message::new("error-login-answered-happened"),
        what_to_do: Message::new("error-login-answered-advice"),
    }
    .render(services, language, &"the login was answered before")
}

/// The page for a request of an application that an administrator disabled. Its link leads to the start page.
pub(crate) fn disabled_application(
    services: &Services,
    language: Language,
    cause: &dyn std::fmt::Display,
) -> Response {
    ErrorReply {
        status: StatusCode::FORBIDDEN,
        title: Message::new("error-application-disabled"),
        what_happened: Message::new("error-application-disabled-happened"),
        what_to_do: Message::new("error-application-disabled-advice"),
    }
    .render_with(services, language, cause, Link::to_start())
}
