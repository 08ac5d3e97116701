//! The forms of a login's pages, and the state of the login in the browser.

use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::{Form, RequestExt};
use serde::Deserialize;

use crate::domain::sign_in::login;
use crate::domain::sign_in::login::view::LoginView;
use crate::domain::{InternalError, Services};
use crate::http::context::{Browser, RETRY};
use crate::http::csrf;
use crate::http::page_error::PageError;
use crate::http::page_routes::{PageRequest, ReplyForm};
use crate::http::reply::see_other;
use crate::http::sign_in::login::no_login::unknown_login;
use assent_model::id::IdError;
use assent_model::login::Login;

/// A form of these pages.
#[derive(Debug, Deserialize)]
pub(crate) struct LoginForm {
    #[serde(default)]
    pub(super) csrf: String,
    /// The name that the user typed.
    #[serde(default)]
    pub(super) name: String,
    /// Whether the browser stores the name; empty for no.
    #[serde(default)]
    pub(super) remember: String,
    /// The token that binds the page to its user.
    #[serde(default)]
    pub(crate) user: String,
    /// The assertion of a passkey, in JSON.
    #[serde(default)]
    pub(super) assertion: String,
    /// The button that was pressed.
    #[serde(default)]
    pub(crate) decision: String,
}

/// The login that an address names, as its browser sees it. Replies are in the language of the login's request.
pub(crate) struct LoginVisit {
    pub(super) services: Arc<Services>,
    pub(super) browser: Browser,
    pub(super) view: LoginView,
}

impl LoginVisit {
    async fn find(services: &Arc<Services>, id: &str, browser: Browser) -> Result<Self, Response> {
        let view = match view_of(services, id, &browser).await {
            Ok(view) => view,
            Err(error) => return Err(PageError::from(error).render(services, browser.language())),
        };
        let asked = view.login().and_then(|login| login.request.language());
        Ok(Self {
            services: Arc::clone(services),
            browser: browser.speaking(asked),
            view,
        })
    }
}

impl FromRequestParts<Arc<Services>> for LoginVisit {
    type Rejection = Response;

    async fn from_request_parts(
        parts: &mut Parts,
        services: &Arc<Services>,
    ) -> Result<Self, Response> {
        let Path(id) = Path::<String>::from_request_parts(parts, services)
            .await
            .map_err(IntoResponse::into_response)?;
        let Ok(browser) = Browser::from_request_parts(parts, services).await;
        Self::find(services, &id, browser).await
    }
}

impl PageRequest for LoginVisit {
    fn reply_form(&self) -> ReplyForm {
        ReplyForm::new(&self.services, &self.browser)
    }
}

async fn view_of(
    services: &Services,
    id: &str,
    browser: &Browser,
) -> Result<LoginView, InternalError> {
    match id.parse() {
        Ok(id) => login::view::view(services, id, browser.digest()).await,
        Err(IdError) => Ok(LoginView::Unknown),
    }
}

/// A form of a login's page with a valid CSRF token, and the state of the login for this browser.
pub(crate) struct LoginPost {
    pub(crate) services: Arc<Services>,
    pub(crate) browser: Browser,
    pub(crate) form: LoginForm,
    pub(crate) view: LoginView,
    id: String,
}

impl FromRequest<Arc<Services>> for LoginPost {
    type Rejection = Response;

    async fn from_request(
        mut request: Request,
        services: &Arc<Services>,
    ) -> Result<Self, Response> {
        let Path(id) = request
            .extract_parts::<Path<String>>()
            .await
            .map_err(IntoResponse::into_response)?;
        let Ok(browser) = request
            .extract_parts_with_state::<Browser, _>(services)
            .await;
        let Form(form) = Form::<LoginForm>::from_request(request, services)
            .await
            .map_err(IntoResponse::into_response)?;
        csrf::require(services, &browser, &id, &form.csrf)
            .map_err(|error| error.render(services, browser.language()))?;
        let LoginVisit {
            services,
            browser,
            view,
        } = LoginVisit::find(services, &id, browser).await?;
        if matches!(view, LoginView::Unknown) {
            return Err(unknown_login().render(&services, browser.language()));
        }
        Ok(Self {
            services,
            browser,
            form,
            view,
            id,
        })
    }
}

impl PageRequest for LoginPost {
    fn reply_form(&self) -> ReplyForm {
        ReplyForm::new(&self.services, &self.browser)
    }
}

impl LoginPost {
    /// Returns the present state of the login, which another request may have changed.
    pub(super) async fn current_view(&self) -> Result<LoginView, InternalError> {
        view_of(&self.services, &self.id, &self.browser).await
    }

    /// Returns the login whose user is not identified yet. After a second click, or on a stale page, the browser goes
    /// to the page for the current state.
    pub(super) fn unidentified_login(&self) -> Result<&Login, PageError> {
        match &self.view {
            LoginView::Identify(login) => Ok(login),
            _ => Err(PageError::Elsewhere(self.address())),
        }
    }

    /// Sends the browser to the page for the current state, unless the form is of the page with this purpose, which
    /// names the user.
    pub(in crate::http::sign_in) fn require_page_of_user(
        &self,
        purpose: &str,
    ) -> Result<(), PageError> {
        match csrf::is_token(&self.services, &self.browser, purpose, &self.form.user)? {
            true => Ok(()),
            false => Err(PageError::Elsewhere(self.address())),
        }
    }

    /// Redirects to the page for the state of the login.
    pub(crate) fn redirect_to_current_page(&self) -> Response {
        see_other(&self.address())
    }

    /// Redirects to the login page, with the previously typed name.
    pub(super) fn redirect_to_retry(&self) -> Response {
        see_other(&format!("{}?{RETRY}", self.address()))
    }

    /// The address of the page for the state of the login.
    pub(super) fn address(&self) -> String {
        format!("/login/{}", self.id)
    }
}
