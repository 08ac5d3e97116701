//! The console at `/admin`: what there is, for administrators who signed in with the phone.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::context::Browser;
use super::home::signed_in_header;
use super::pages::{AdminOverview, ApplicationRow, UserRow};
use super::reply::{ErrorReply, broken, layout, page, see_other, with_browser};
use super::texts::Message;
use crate::domain::admin::{self, Refused};
use crate::domain::session::SignedIn;
use crate::domain::{Broken, Host, channels, login};
use crate::model::application::{ApplicationType, Registered};
use crate::model::language::Language;
use crate::model::login::{LocalPage, LoginRequest};
use crate::store::UserSummary;

/// How many rows of each kind the page shows.
const ROWS: u32 = 200;

/// `GET /admin`
pub(super) async fn overview(State(host): State<Arc<Host>>, browser: Browser) -> Response {
    let reply = async {
        let request = LoginRequest::Local { page: LocalPage::Console };
        let enough = |signed_in: &SignedIn| channels::is_enough_for(&host, &request, &signed_in.session.authentication);
        let Some(signed_in) = browser.signed_in(&host).await?.filter(enough) else {
            let login = login::begin(&host, request, browser.digest(), browser.context(&host), None).await?;
            return Ok(with_browser(see_other(&format!("/login/{}", login.id)), &host, &browser));
        };
        if signed_in.user.console_role.is_none() {
            return Ok(not_allowed(&host, browser.language()));
        }
        render(&host, &browser, &signed_in).await
    };
    reply.await.unwrap_or_else(|error: Broken| broken(&host, browser.language(), &error))
}

async fn render(host: &Host, browser: &Browser, signed_in: &SignedIn) -> Result<Response, Broken> {
    let unbroken = |refused| match refused {
        Refused::Broken(broken) => broken,
        other => Broken::Plugin(other.to_string()),
    };
    let applications = admin::applications(host, None, ROWS).await.map_err(unbroken)?;
    let users = admin::users(host, None, ROWS).await.map_err(unbroken)?;
    let overview = AdminOverview {
        // It speaks English alone.
        layout: layout(host, Language::English),
        issuer: host.issuer.clone(),
        applications: applications.into_iter().map(application_row).collect(),
        users: users.into_iter().map(user_row).collect(),
        user: Some(signed_in_header(host, browser, signed_in)?),
    };
    Ok(page(&overview, None))
}

fn application_row(application: Registered) -> ApplicationRow {
    let application = match application {
        Registered::Client(client) => client,
        Registered::ServiceProvider(provider) => {
            return ApplicationRow {
                name: provider.name.clone(),
                kind: "SAML service provider".to_owned(),
                client_id: provider.id.to_string(),
                redirect_uris: provider.settings.acs.iter().map(|acs| acs.url.as_str().to_owned()).collect(),
            };
        }
    };
    let kind = match application.settings.application_type {
        ApplicationType::Web => "Web application",
        ApplicationType::Spa => "Single-page app",
        ApplicationType::Native => "Native app",
    };
    ApplicationRow {
        name: application.name.clone(),
        kind: kind.to_owned(),
        client_id: application.id.to_string(),
        redirect_uris: application.settings.redirect_uris.iter().map(|uri| uri.as_str().to_owned()).collect(),
    }
}

fn user_row(summary: UserSummary) -> UserRow {
    UserRow {
        name: summary.user.name.to_string(),
        email: summary.user.email.map(Into::into),
        state: summary.user.state.as_str().to_owned(),
        devices: summary.devices,
        accounts: summary.accounts,
    }
}

fn not_allowed(host: &Host, language: Language) -> Response {
    ErrorReply {
        status: StatusCode::FORBIDDEN,
        title: Message::of("error-not-administrator"),
        what_happened: Message::of("error-not-administrator-happened"),
        what_to_do: Message::of("error-not-administrator-advice"),
    }
    .render(host, language, &"the user has no console role")
}
