//! The errors of pages. A handler returns them with `?`, and [`super::page_routes`] renders them for its browser.

use std::fmt::Display;

use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

use super::pages::{ErrorPage, OperatorDetail};
use super::reply::{RETRY_AFTER_SECONDS, layout, page, reference, see_other};
use super::request_id;
use crate::domain::operations::telemetry::error_references::ErrorReference;
use crate::domain::operations::traffic::rate_limits::limit::RateLimitError;
use crate::domain::{InternalError, Services};
use crate::http::pages::link::Link;
use crate::messages::Message;
use assent_model::language::Language;
use assent_store::StoreError;

/// The texts of an error page.
pub(crate) struct ErrorTexts {
    /// The HTTP status.
    pub(crate) status: StatusCode,
    /// A short title.
    pub(crate) title: Message,
    /// The description of the error.
    pub(crate) what_happened: Message,
    /// Instructions for the user.
    pub(crate) what_to_do: Message,
}

impl ErrorTexts {
    /// Returns the error with these texts and a link to the start page. The server writes `cause` to the log, not to
    /// the page.
    pub(crate) fn caused_by(self, cause: impl Display) -> PageError {
        PageError::Rejected(Box::new(Rejection {
            texts: self,
            cause: cause.to_string(),
            next: Link::to_start(),
            details: Vec::new(),
            retry_after: None,
        }))
    }
}

/// The reason why a browser does not get the page that it requested.
pub(crate) enum PageError {
    /// It gets an error page.
    Rejected(Box<Rejection>),
    /// It gets another page of this server, which has this address.
    Elsewhere(String),
}

/// The content of an error page.
pub(crate) struct Rejection {
    texts: ErrorTexts,
    cause: String,
    next: Link,
    details: Vec<OperatorDetail>,
    retry_after: Option<HeaderValue>,
}

impl From<InternalError> for PageError {
    /// Returns the page of an internal failure. After a database outage it asks the user to retry in a few seconds.
    fn from(error: InternalError) -> Self {
        if error.is_outage() {
            let outage = ErrorTexts {
                status: StatusCode::SERVICE_UNAVAILABLE,
                title: Message::new("error-outage"),
                what_happened: Message::new("error-outage-happened"),
                what_to_do: Message::new("error-outage-advice"),
            };
            return outage.caused_by(error).retry_after(RETRY_AFTER_SECONDS);
        }
        ErrorTexts {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            title: Message::new("error-internal"),
            what_happened: Message::new("error-internal-happened"),
            what_to_do: Message::new("error-internal-advice"),
        }
        .caused_by(error)
    }
}

impl From<StoreError> for PageError {
    fn from(error: StoreError) -> Self {
        InternalError::from(error).into()
    }
}

impl PageError {
    /// The rejection of a form without a valid CSRF token: from another site, another browser, or a page that was open
    /// for a very long time.
    pub(crate) fn forged() -> Self {
        ErrorTexts {
            status: StatusCode::FORBIDDEN,
            title: Message::new("error-form"),
            what_happened: Message::new("error-form-happened"),
            what_to_do: Message::new("error-form-advice"),
        }
        .caused_by("the CSRF token is missing or wrong")
    }

    /// The rejection of a form of a page that was rendered for another user, who was signed in in this browser before.
    /// Nothing was changed. `next` is the page that the user can load again.
    pub(crate) fn other_user(next: String) -> Self {
        ErrorTexts {
            status: StatusCode::CONFLICT,
            title: Message::new("error-other-user"),
            what_happened: Message::new("error-other-user-happened"),
            what_to_do: Message::new("error-other-user-advice"),
        }
        .caused_by("the page was rendered for another user than the signed-in one")
        .with_link(Link {
            address: next,
            text: Message::new("error-other-user-again"),
        })
    }

    /// The rejection by a rate limit, with the exceeded limit, and with the link to use after the wait.
    pub(crate) fn too_many(exhausted: RateLimitError, what_happened: Message, next: Link) -> Self {
        ErrorTexts {
            status: StatusCode::TOO_MANY_REQUESTS,
            title: Message::new("error-too-many"),
            what_happened,
            what_to_do: Message::new("error-wait").number(
                "seconds",
                i64::try_from(exhausted.seconds()).unwrap_or(i64::MAX),
            ),
        }
        .caused_by("a rate limit is reached")
        .with_link(next)
        .retry_after(exhausted.seconds().into())
    }

    /// Replaces the link with which the user can continue.
    pub(crate) fn with_link(self, next: Link) -> Self {
        self.with(|rejection| rejection.next = next)
    }

    /// Adds the details for the application's operator.
    pub(crate) fn with_details(self, details: Vec<OperatorDetail>) -> Self {
        self.with(|rejection| rejection.details = details)
    }

    fn retry_after(self, seconds: HeaderValue) -> Self {
        self.with(|rejection| rejection.retry_after = Some(seconds))
    }

    fn with(mut self, change: impl FnOnce(&mut Rejection)) -> Self {
        if let Self::Rejected(rejection) = &mut self {
            change(rejection);
        }
        self
    }

    pub(crate) fn render(self, services: &Services, language: Language) -> Response {
        match self {
            Self::Rejected(rejection) => rejection.render(services, language),
            Self::Elsewhere(address) => see_other(&address),
        }
    }
}

impl Rejection {
    /// Renders the page, with a reference that leads to the log line.
    fn render(self, services: &Services, language: Language) -> Response {
        let ErrorTexts {
            status,
            title,
            what_happened,
            what_to_do,
        } = self.texts;
        let (reference, request) = (reference(services), request_id::current());
        // The log is in English, independent of the language of the page.
        let english_title = title.plain(Language::English);
        let cause = self.cause;
        if status.is_server_error() {
            tracing::error!(reference, page = english_title, %cause, "request failed");
        } else {
            tracing::info!(reference, page = english_title, %cause, "request rejected");
        }
        services.error_references.record(ErrorReference {
            reference: reference.clone(),
            request: request.clone(),
            at: services.now(),
            status: status.as_u16(),
            page: english_title,
            cause,
        });
        let page_of_error = ErrorPage {
            layout: layout(services, language),
            title,
            what_happened,
            what_to_do,
            reference,
            request,
            next: self.next,
            details: self.details,
        };
        let mut response = page(&page_of_error, None);
        *response.status_mut() = status;
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, seconds);
        }
        response
    }
}
