//! Beginning a login for an application's request, in either protocol.

use axum::response::Response;

use crate::domain::sessions::session::BrowserSession;
use crate::domain::sign_in::login;
use crate::domain::sign_in::login::AuthenticatedUser;
use crate::domain::sign_in::test_sign_in;
use crate::domain::{InternalError, Services};
use crate::http::context::Browser;
use crate::http::reply::see_other;
use assent_model::id::LoginId;
use assent_model::login::LoginRequest;

/// A login that has begun.
pub(crate) struct BegunLogin {
    pub(crate) id: LoginId,
    /// Sends the browser to the login's own page.
    pub(crate) page: Response,
    /// The user of the browser's session, if that session may answer the request.
    pub(crate) person: Option<AuthenticatedUser>,
}

/// Begins a login that continues the browser's session, if there is one that is enough for the request. `Err` is the
/// page to show instead.
pub(crate) async fn begin(
    services: &Services,
    browser: &Browser,
    request: LoginRequest,
    session: Option<BrowserSession>,
) -> Result<Result<BegunLogin, Response>, InternalError> {
    let login = login::begin(
        services,
        request,
        browser.digest(),
        browser.context(services),
        session.as_ref().map(|signed_in| signed_in.session.id),
        Some(browser.network()),
    )
    .await?;
    if !test_sign_in::record_login(services, &login)
        .await?
        .is_done()
    {
        return Ok(Err(crate::http::sign_in::test_sign_in::unknown(
            services,
            browser.language(),
        )));
    }
    let person = session.map(|signed_in| AuthenticatedUser {
        signed_in,
        cookie: None,
        origin: browser.origin(),
    });
    Ok(Ok(BegunLogin {
        id: login.id,
        page: see_other(&format!("/login/{}", login.id)),
        person,
    }))
}
