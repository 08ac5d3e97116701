//! The beginning of a login for an application's request, in either protocol.

use axum::response::Response;

use crate::domain::sessions::session::BrowserSession;
use crate::domain::sign_in::login;
use crate::domain::sign_in::login::{AuthenticatedUser, OpenLogin, SignInSource};
use crate::domain::sign_in::test_sign_in;
use crate::domain::{InternalError, Services};
use crate::http::context::Browser;
use crate::http::page_error::PageError;
use crate::http::reply::{see_other, with_browser};
use crate::http::sign_in::test_sign_in::unknown_test_sign_in;
use assent_model::id::LoginId;
use assent_model::login::{LocalPage, Login, LoginRequest};

/// A login that has begun.
pub(crate) struct BegunLogin {
    login: Login,
    is_stored: bool,
    source: SignInSource,
    /// The user of the browser's session, if that session is sufficient for the request.
    pub(crate) authenticated_user: Option<AuthenticatedUser>,
}

impl BegunLogin {
    pub(crate) const fn open(&self) -> OpenLogin {
        match self.is_stored {
            true => OpenLogin::Stored(self.login.id),
            false => OpenLogin::Unstored(self.login.id),
        }
    }

    /// Redirects the browser to the login's own page, for which the login must be in the database.
    pub(crate) async fn page(&self, services: &Services) -> Result<Response, InternalError> {
        if !self.is_stored {
            login::store(services, &self.login, Some(self.source)).await?;
        }
        Ok(see_other(&format!("/login/{}", self.login.id)))
    }
}

/// Begins a login that continues the browser's session, if there is one that is sufficient for the request. Such a
/// login is stored only when a page needs it, because most get a response at once. `id` is that of the login, if a
/// repeated request must lead to the same one.
pub(crate) async fn begin(
    services: &Services,
    browser: &Browser,
    request: LoginRequest,
    id: Option<LoginId>,
    session: Option<BrowserSession>,
) -> Result<BegunLogin, PageError> {
    let login = login::new(
        services,
        request,
        id,
        browser.digest(),
        browser.context(services),
        session.as_ref().map(|signed_in| signed_in.session.id),
    );
    // A test sign-in refers to its login, so it must be stored.
    let is_stored = session.is_none() || !login.request.purpose().is_application();
    if is_stored {
        login::store(services, &login, Some(browser.source(services))).await?;
        if !test_sign_in::record_login(services, &login)
            .await?
            .is_done()
        {
            return Err(unknown_test_sign_in());
        }
    }
    let authenticated_user = session.map(|signed_in| {
        AuthenticatedUser::of_session(signed_in, browser.secret(), browser.origin())
    });
    Ok(BegunLogin {
        login,
        is_stored,
        source: browser.source(services),
        authenticated_user,
    })
}

/// Begins a sign-in to a page of this server, and redirects the browser to its login page.
pub(crate) async fn begin_local(
    services: &Services,
    browser: &Browser,
    page: LocalPage,
) -> Result<Response, PageError> {
    let login = login::begin(
        services,
        LoginRequest::Local { page },
        browser.digest(),
        browser.context(services),
        None,
        Some(browser.source(services)),
    )
    .await?;
    let login_page = see_other(&format!("/login/{}", login.id));
    Ok(with_browser(login_page, services, browser))
}
