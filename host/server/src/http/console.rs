//! The console at `/admin`: one page for every address below it, with a script that is a client of the admin API. The
//! admin API checks all permissions; the page itself contains no secrets.

use axum::http::StatusCode;
use axum::response::Response;

use super::assets;
use super::context::Browser;
use super::home::signed_in_header;
use super::page_error::{ErrorTexts, PageError};
use super::page_routes::Visitor;
use super::pages::ConsolePage;
use super::reply::{layout, page};
use crate::domain::Services;
use crate::domain::approvals::channel;
use crate::domain::operations::traffic::rate_limits::keys::Network;
use crate::domain::sessions::session::BrowserSession;
use crate::http::operations::rate_limits::try_again;
use crate::http::sign_in::login::begin::begin_local;
use crate::messages::Message;
use assent_model::language::Language;
use assent_model::login::LocalPage;

/// `GET /admin`: redirects a browser without a sufficient sign-in to the sign-in. That writes into the database, so it
/// counts as a login page for the rate limit; the console itself does not.
pub(super) async fn front(
    Visitor { services, browser }: Visitor,
    from: Network,
) -> Result<Response, PageError> {
    if let Some(administrator) = administrator(&services, &browser).await? {
        return console_page(&services, &browser, Some(&administrator));
    }
    services
        .rate_limits
        .login_pages_per_ip
        .count_call(&from, services.now())
        .map_err(|exhausted| {
            let limit = Message::new("error-too-many-network");
            PageError::too_many(exhausted, limit, try_again("/admin"))
        })?;
    begin_local(&services, &browser, LocalPage::Console).await
}

/// `GET /admin/{page}`: a page below the front page. A browser without a sufficient sign-in gets only the frame. The
/// script stores the address and goes to the front page, so that the user returns to it after the sign-in.
pub(super) async fn inside(Visitor { services, browser }: Visitor) -> Result<Response, PageError> {
    let administrator = administrator(&services, &browser).await?;
    console_page(&services, &browser, administrator.as_ref())
}

/// Returns the administrator's session. `None` if the browser is not signed in, or its authentication is not sufficient
/// for the console. Users without a role in the console are rejected.
async fn administrator(
    services: &Services,
    browser: &Browser,
) -> Result<Option<BrowserSession>, PageError> {
    let enough = |signed_in: &BrowserSession| {
        let authentication = &signed_in.session.authentication;
        channel::is_enough_here(services, LocalPage::Console, authentication)
    };
    match browser.signed_in(services).await?.filter(enough) {
        Some(signed_in) if signed_in.user.console_role.is_none() => Err(not_allowed()),
        signed_in => Ok(signed_in),
    }
}

fn console_page(
    services: &Services,
    browser: &Browser,
    administrator: Option<&BrowserSession>,
) -> Result<Response, PageError> {
    let console = ConsolePage {
        // The frame is only in English.
        layout: layout(services, Language::English),
        issuer: services.issuer.clone(),
        address: services.settings.origin(),
        user: administrator
            .map(|signed_in| signed_in_header(services, browser, signed_in))
            .transpose()?,
        modules: assets::console_modules(),
    };
    Ok(page(&console, None))
}

fn not_allowed() -> PageError {
    ErrorTexts {
        status: StatusCode::FORBIDDEN,
        title: Message::new("error-not-administrator"),
        what_happened: Message::new("error-not-administrator-happened"),
        what_to_do: Message::new("error-not-administrator-advice"),
    }
    .caused_by("the user has no console role")
}
