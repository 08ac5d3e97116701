//! The console at `/admin`: one page for every address below it, with a script that is a client of the admin API. The
//! admin API checks all permissions; the page itself contains no secrets.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::assets;
use super::context::Browser;
use super::home::signed_in_header;
use super::pages::ConsolePage;
use super::reply::{ErrorReply, internal_error, layout, page, see_other, with_browser};
use crate::domain::approvals::channel;
use crate::domain::operations::traffic::rate_limits::keys::Network;
use crate::domain::sessions::session::BrowserSession;
use crate::domain::sign_in::login;
use crate::domain::{InternalError, Services};
use crate::http::operations::rate_limits;
use crate::messages::Message;
use assent_model::language::Language;
use assent_model::login::{LocalPage, LoginRequest};

/// `GET /admin`: redirects a browser without a sufficient sign-in to the sign-in. That writes into the database, so it
/// counts as a login page for the rate limit; the console itself does not.
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
                    Some(browser.source(&services)),
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

/// `GET /admin/{page}`: a page below the front page. A browser without a sufficient sign-in gets only the frame. The
/// script stores the address and goes to the front page, so that the user returns to it after the sign-in.
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

/// The user of a browser that opens the console.
enum ConsoleVisitor {
    /// A user with a role in the console.
    Administrator(Box<BrowserSession>),
    /// A user without a role in the console.
    Other,
    /// The browser is not signed in, or its authentication is not sufficient for the console.
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
        channel::is_enough_here(services, LocalPage::Console, authentication)
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
        // The frame is only in English.
        layout: layout(services, Language::English),
        issuer: services.issuer.clone(),
        address: services.settings.origin(),
        user: signed_in
            .map(|signed_in| signed_in_header(services, browser, signed_in))
            .transpose()?,
        modules: assets::console_modules(),
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
