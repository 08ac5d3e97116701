//! The console at `/admin`: one page for every address below it, whose script is a client of the admin API. What
//! anybody may do there is the API's to say; the page itself holds nothing that is secret.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::context::Browser;
use super::home::signed_in_header;
use super::pages::ConsolePage;
use super::reply::{ErrorReply, internal_error, layout, page, see_other, with_browser};
use super::texts::Message;
use crate::domain::approvals::channels;
use crate::domain::operations::rate_limits::Network;
use crate::domain::sessions::session::BrowserSession;
use crate::domain::sign_in::login;
use crate::domain::{InternalError, Services};
use crate::http::operations::rate_limits;
use assent_model::language::Language;
use assent_model::login::{LocalPage, LoginRequest};

/// `GET /admin`: leads to the sign-in whoever is not signed in well enough. That writes into the database, so it counts
/// as a page of a sign-in; the console itself does not.
pub(super) async fn front(
    State(services): State<Arc<Services>>,
    from: Network,
    browser: Browser,
) -> Response {
    let reply = async {
        match administrator(&services, &browser).await? {
            ConsoleVisitor::Administrator(signed_in) => {
                render(&services, &browser, Some(&signed_in))
            }
            ConsoleVisitor::Other => Ok(not_allowed(&services, browser.language())),
            ConsoleVisitor::Unknown => {
                if let Err(exhausted) = services
                    .rate_limits
                    .login_pages_per_ip
                    .count_call(&from, services.now())
                {
                    let (refused, again) = (
                        Message::new("error-too-many-network"),
                        rate_limits::try_again("/admin"),
                    );
                    return Ok(rate_limits::too_many_pages(
                        &services,
                        browser.language(),
                        exhausted,
                        refused,
                        again,
                    ));
                }
                let login = login::begin(
                    &services,
                    console(),
                    browser.digest(),
                    browser.context(&services),
                    None,
                    Some(from),
                )
                .await?;
                Ok(with_browser(
                    see_other(&format!("/login/{}", login.id)),
                    &services,
                    &browser,
                ))
            }
        }
    };
    reply.await.unwrap_or_else(|error: InternalError| {
        internal_error(&services, browser.language(), &error)
    })
}

/// `GET /admin/{page}`: a page further in. Whoever is not signed in gets the frame alone; its script remembers the
/// address and goes to the front, so that they come back to it.
pub(super) async fn inside(State(services): State<Arc<Services>>, browser: Browser) -> Response {
    let reply = async {
        match administrator(&services, &browser).await? {
            ConsoleVisitor::Administrator(signed_in) => {
                render(&services, &browser, Some(&signed_in))
            }
            ConsoleVisitor::Other => Ok(not_allowed(&services, browser.language())),
            ConsoleVisitor::Unknown => render(&services, &browser, None),
        }
    };
    reply.await.unwrap_or_else(|error: InternalError| {
        internal_error(&services, browser.language(), &error)
    })
}

/// Who looks at the console.
enum ConsoleVisitor {
    /// Somebody with a role in it.
    Administrator(Box<BrowserSession>),
    /// Somebody without one.
    Other,
    /// Nobody who is signed in well enough.
    Unknown,
}

fn console() -> LoginRequest {
    LoginRequest::Local {
        page: LocalPage::Console,
    }
}

async fn administrator(
    services: &Services,
    browser: &Browser,
) -> Result<ConsoleVisitor, InternalError> {
    let enough = |signed_in: &BrowserSession| {
        let authentication = &signed_in.session.authentication;
        channels::is_enough_here(services, LocalPage::Console, authentication)
    };
    Ok(match browser.signed_in(services).await?.filter(enough) {
        Some(signed_in) if signed_in.user.console_role.is_some() => {
            ConsoleVisitor::Administrator(Box::new(signed_in))
        }
        Some(_) => ConsoleVisitor::Other,
        None => ConsoleVisitor::Unknown,
    })
}

fn render(
    services: &Services,
    browser: &Browser,
    signed_in: Option<&BrowserSession>,
) -> Result<Response, InternalError> {
    let console = ConsolePage {
        // It speaks English alone.
        layout: layout(services, Language::English),
        issuer: services.issuer.clone(),
        address: services.settings.origin(),
        user: signed_in
            .map(|signed_in| signed_in_header(services, browser, signed_in))
            .transpose()?,
    };
    Ok(page(&console, None))
}

fn not_allowed(services: &Services, language: Language) -> Response {
    ErrorReply {
        status: StatusCode::FORBIDDEN,
        title: Message::new("error-not-administrator"),
        what_happened: Message::new("error-not-administrator-happened"),
        what_to_do: Message::new("error-not-administrator-advice"),
    }
    .render(services, language, &"the user has no console role")
}
