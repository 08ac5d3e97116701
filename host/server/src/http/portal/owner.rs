//! The signed-in user of the portal.

use std::str::FromStr;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;

use crate::domain::approvals::channel;
use crate::domain::portal::{self, EndForm};
use crate::domain::sessions::session::BrowserSession;
use crate::domain::{InternalError, Services};
use crate::http::context::Browser;
use crate::http::home::signed_in_header;
use crate::http::layout::Layout;
use crate::http::page_error::{ErrorTexts, PageError};
use crate::http::page_routes::{PageRequest, ReplyForm};
use crate::http::pages::link::Link;
use crate::http::portal::form_outcome::FormNotice;
use crate::http::portal::pages::{Frame, Tab};
use crate::http::reply::{layout, see_other, with_browser};
use crate::messages::Message;
use assent_model::login::LocalPage;

/// Returns the address of a sign-in that leads to this page.
pub(super) fn sign_in_url(page: LocalPage) -> String {
    let to = form_urlencoded::Serializer::new(String::new())
        .append_pair("to", &page.path())
        .finish();
    format!("/sign-in?{to}")
}

/// The signed-in user of the portal. A browser without a sufficient session is redirected to the sign-in, and then to
/// the page.
pub(crate) struct Owner {
    pub(super) services: Arc<Services>,
    pub(super) browser: Browser,
    pub(super) signed_in: BrowserSession,
    /// The result of a form, which the page shows first.
    pub(super) notice: FormNotice,
}

impl FromRequestParts<Arc<Services>> for Owner {
    type Rejection = Response;

    async fn from_request_parts(
        parts: &mut Parts,
        services: &Arc<Services>,
    ) -> Result<Self, Response> {
        let Ok(browser) = Browser::from_request_parts(parts, services).await;
        let notice = FormNotice::of_query(parts.uri.query().unwrap_or_default());
        let page = LocalPage::from_path(parts.uri.path());
        match browser.signed_in(services).await {
            Ok(Some(signed_in)) if is_enough(services, page, &signed_in) => Ok(Self {
                services: Arc::clone(services),
                browser,
                signed_in,
                notice,
            }),
            // The server ignores the form and shows its page after the login.
            Ok(_) => Err(with_browser(
                see_other(&sign_in_url(page)),
                services,
                &browser,
            )),
            Err(error) => Err(PageError::from(error).render(services, browser.language())),
        }
    }
}

/// Whether the authentication of the session is sufficient for the portal.
pub(crate) fn is_enough(services: &Services, page: LocalPage, signed_in: &BrowserSession) -> bool {
    channel::is_enough_here(services, page, &signed_in.session.authentication)
}

impl Owner {
    pub(super) fn layout(&self) -> Layout {
        layout(&self.services, self.browser.language())
    }

    /// The frame of every page of the portal.
    pub(super) fn frame(&self, tab: Tab) -> Result<Frame, InternalError> {
        Ok(Frame {
            user: Some(signed_in_header(
                &self.services,
                &self.browser,
                &self.signed_in,
            )?),
            tab,
            notice: self
                .notice
                .message(&self.services, &self.browser, &self.signed_in.user)?,
        })
    }

    /// Whether the user sent this form a moment ago, and its response may be lost.
    pub(super) async fn sent_before(&self, form: EndForm) -> Result<bool, InternalError> {
        portal::was_sent(&self.services, self.signed_in.user.id, form).await
    }
}

impl PageRequest for Owner {
    fn reply_form(&self) -> ReplyForm {
        ReplyForm::new(&self.services, &self.browser).with_browser(&self.browser)
    }
}

impl Tab {
    /// The response for an object that does not exist or belongs to another user, which it does not reveal. Its link
    /// leads to this tab.
    pub(super) fn nothing_here(self) -> PageError {
        ErrorTexts {
            status: StatusCode::NOT_FOUND,
            title: Message::new("error-not-found"),
            what_happened: Message::new("portal-not-found"),
            what_to_do: Message::new("portal-not-found-advice"),
        }
        .caused_by("the user has no such object")
        .with_link(Link {
            address: self.path().to_owned(),
            text: self.label(),
        })
    }

    /// Parses the id of an object on this tab.
    pub(super) fn parse_id<Id: FromStr>(self, id: &str) -> Result<Id, PageError> {
        id.parse().map_err(|_| self.nothing_here())
    }
}
