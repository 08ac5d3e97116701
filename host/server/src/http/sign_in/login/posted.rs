//! The forms of a login's pages, and the state of the login in the browser.

use std::sync::Arc;

use axum::extract::{FromRequest, Path, Request};
use axum::response::{IntoResponse, Response};
use axum::{Form, RequestExt};
use serde::Deserialize;

use crate::domain::sign_in::login;
use crate::domain::sign_in::login::view::LoginView;
use crate::domain::{InternalError, Services};
use crate::http::context::{Browser, RETRY};
use crate::http::csrf;
use crate::http::reply::{forged, internal_error, see_other};
use crate::http::sign_in::login::no_login::unknown;
use assent_model::id::{IdError, LoginId};

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

/// Returns the state of the login for this browser, and the browser with the language of the login.
pub(super) async fn find(
    services: &Services,
    id: &str,
    browser: Browser,
) -> (Browser, Result<LoginView, InternalError>) {
    let id: Result<LoginId, IdError> = id.parse();
    let found = match id {
        Ok(id) => login::view::view(services, id, browser.digest()).await,
        Err(IdError) => Ok(LoginView::Unknown),
    };
    let login = found.as_ref().ok().and_then(LoginView::login);
    let asked = login.and_then(|login| login.request.language());
    (browser.speaking(asked), found)
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
        match csrf::is_token(services, &browser, &id, &form.csrf) {
            Ok(true) => {}
            Ok(false) => return Err(forged(services, browser.language())),
            Err(error) => return Err(internal_error(services, browser.language(), &error)),
        }
        let (browser, found) = find(services, &id, browser).await;
        match found {
            Ok(LoginView::Unknown) => Err(unknown(services, browser.language())),
            Ok(view) => Ok(Self {
                services: Arc::clone(services),
                browser,
                form,
                view,
                id,
            }),
            Err(error) => Err(internal_error(services, browser.language(), &error)),
        }
    }
}

impl LoginPost {
    /// Returns the present state of the login, which another request may have changed.
    pub(super) async fn current_view(&self) -> Result<LoginView, InternalError> {
        let (_, view) = find(&self.services, &self.id, self.browser.clone()).await;
        view
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

    pub(crate) fn reply(&self, reply: Result<Response, InternalError>) -> Response {
        reply
            .unwrap_or_else(|error| internal_error(&self.services, self.browser.language(), &error))
    }
}
