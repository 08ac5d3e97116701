//! Pages for a login that is unknown, or was answered before.

use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::Services;
use crate::http::reply::ErrorReply;
use crate::http::texts::Message;
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

pub(crate) fn answered_before(services: &Services, language: Language) -> Response {
    ErrorReply {
        status: StatusCode::CONFLICT,
        title: Message::new("error-login-answered"),
        what_happened: Message::new("error-login-answered-happened"),
        what_to_do: Message::new("error-login-answered-advice"),
    }
    .render(services, language, &"the login was answered before")
}
