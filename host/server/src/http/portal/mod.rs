//! The portal, for whoever is signed in: the start page with their applications, and beside it their devices, sessions,
//! consents, activity and profile. Each page is plain HTML; what is done is done by forms, and told on the page that follows.

mod activity;
mod applications;
mod consents;
mod devices;
mod forms;
pub(super) mod pages;
mod profile;
mod sessions;
mod words;

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Query, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use axum::routing::{get, post};
use serde::Deserialize;

use self::forms::Told;
use self::pages::{Frame, Tab};
use super::context::Browser;
use super::home::signed_in_header;
use super::pages::{Layout, Link, Page};
use super::reply::{ErrorReply, internal_error, layout, page, see_other, with_browser};
use super::texts::Message;
use crate::domain::approvals::channels;
use crate::domain::sessions::session::SignedIn;
use crate::domain::sign_in::login;
use crate::domain::{Host, InternalError};
use assent_model::login::{LocalPage, LoginRequest};

pub(super) use applications::show as start_page;

/// The pages for whoever is signed in, but for the start page.
pub(super) fn routes() -> Router<Arc<Host>> {
    Router::new()
        .route("/applications/{id}/start", get(applications::start))
        .route("/devices", get(devices::list))
        .route("/devices/{id}/name", post(devices::rename))
        .route(
            "/devices/{id}/revoke",
            get(devices::question).post(devices::revoke),
        )
        .route("/sessions", get(sessions::list))
        .route("/sessions/{id}/end", post(sessions::end))
        .route("/sessions/end-others", post(sessions::end_others))
        .route("/sessions/end-all", post(sessions::end_all))
        .route("/consents", get(consents::list))
        .route("/activity", get(activity::list))
        .route("/profile", get(profile::show))
        .route("/profile/{application}", get(profile::seen))
}

/// The way in, which begins a login.
#[derive(Debug, Default, Deserialize)]
pub(super) struct To {
    /// The path of the portal's page that the person wants; what is none leads to the start page.
    #[serde(default)]
    to: String,
}

/// `GET /sign-in`: signs a person in and leads them to a page of the portal, whether they are signed in or not.
pub(super) async fn sign_in(
    State(host): State<Arc<Host>>,
    browser: Browser,
    to: Result<Query<To>, QueryRejection>,
) -> Response {
    let To { to } = to.map(|Query(to)| to).unwrap_or_default();
    let request = LoginRequest::Local {
        page: LocalPage::at(&to),
    };
    let from = Some(browser.network());
    match login::begin(
        &host,
        request,
        browser.digest(),
        browser.context(&host),
        None,
        from,
    )
    .await
    {
        Ok(login) => with_browser(see_other(&format!("/login/{}", login.id)), &host, &browser),
        Err(error) => internal_error(&host, browser.language(), &error),
    }
}

/// Where whoever is not signed in, or not lately enough, goes to come to this page.
fn way_in(page: LocalPage) -> String {
    let to = form_urlencoded::Serializer::new(String::new())
        .append_pair("to", &page.path())
        .finish();
    format!("/sign-in?{to}")
}

/// Whose portal it is. Who asks for a page without being signed in is sent to sign in, and then to that page.
pub(super) struct Owner {
    host: Arc<Host>,
    browser: Browser,
    signed_in: SignedIn,
    /// What the page tells first.
    told: Told,
}

impl FromRequestParts<Arc<Host>> for Owner {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, host: &Arc<Host>) -> Result<Self, Response> {
        let Ok(browser) = Browser::from_request_parts(parts, host).await;
        let told = Told::of_query(parts.uri.query().unwrap_or_default());
        let page = LocalPage::at(parts.uri.path());
        match browser.signed_in(host).await {
            Ok(Some(signed_in)) if is_enough(host, page, &signed_in) => Ok(Self {
                host: Arc::clone(host),
                browser,
                signed_in,
                told,
            }),
            // What a form would have done is not done: its page is shown after the login.
            Ok(_) => Err(with_browser(see_other(&way_in(page)), host, &browser)),
            Err(error) => Err(internal_error(host, browser.language(), &error)),
        }
    }
}

/// Whether the session is by an authentication that the portal still takes.
pub(super) fn is_enough(host: &Host, page: LocalPage, signed_in: &SignedIn) -> bool {
    channels::is_enough_for(
        host,
        &LoginRequest::Local { page },
        &signed_in.session.authentication,
    )
}

impl Owner {
    fn layout(&self) -> Layout {
        layout(&self.host, self.browser.language())
    }

    /// What every page of the portal has beside that.
    fn frame(&self, tab: Tab) -> Result<Frame, InternalError> {
        Ok(Frame {
            user: Some(signed_in_header(
                &self.host,
                &self.browser,
                &self.signed_in,
            )?),
            tab,
            told: self.told.message(self)?,
        })
    }

    /// The page, or what a person sees where it could not be made.
    fn reply(&self, reply: Result<Response, InternalError>) -> Response {
        let response = reply
            .unwrap_or_else(|error| internal_error(&self.host, self.browser.language(), &error));
        with_browser(response, &self.host, &self.browser)
    }

    /// A page of the portal.
    fn page(&self, template: Result<impl Page, InternalError>) -> Response {
        self.reply(template.map(|template| page(&template, None)))
    }

    /// There is no such thing of this person's; whether it is somebody else's is not told.
    fn nothing_here(&self, back: Tab) -> Response {
        ErrorReply {
            status: StatusCode::NOT_FOUND,
            title: Message::of("error-not-found"),
            what_happened: Message::of("portal-not-yours"),
            what_to_do: Message::of("portal-not-yours-advice"),
        }
        .render_with(
            &self.host,
            self.browser.language(),
            &"the person has no such thing",
            Some(back.link()),
        )
    }
}

impl Tab {
    fn link(self) -> Link {
        Link {
            address: self.path().to_owned(),
            text: self.label(),
        }
    }
}
