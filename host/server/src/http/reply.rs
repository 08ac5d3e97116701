//! Replies: pages, redirects, and error pages.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, RETRY_AFTER,
    SET_COOKIE, VARY, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use super::context::Browser;
use super::cookies::Cookie;
use super::pages::{ErrorPage, OperatorDetail};
use super::request_id;
use crate::domain::operations::telemetry::error_references::ErrorReference;
use crate::domain::{InternalError, Services};
use crate::http::layout::{Layout, Page, Support};
use crate::http::operations::branding;
use crate::http::pages::link::Link;
use crate::messages::Message;
use assent_model::id::UserId;
use assent_model::language::Language;
use assent_model::secret::Token;

/// Returns the layout of a page in a language.
pub(super) fn layout(services: &Services, language: Language) -> Layout {
    let pages = &services.settings.branding;
    let support = pages.support_address().zip(pages.support.clone());
    Layout {
        operator: services.settings.operator.clone(),
        language,
        logo: branding::logo_address(services),
        colours: branding::colours_address(services),
        support: support.map(|(address, text)| Support { address, text }),
    }
}

/// Renders a page. Its forms may lead to this server and to `form_target`, the scheme of an application.
pub(super) fn page(template: &impl Page, form_target: Option<&str>) -> Response {
    let target = form_target
        .map(|target| format!(" {target}"))
        .unwrap_or_default();
    rendered(template, &format!("'self'{target}"))
}

/// Renders a page with a form that leads to an application.
pub(super) fn page_that_posts(template: &impl Page, form_target: Option<&str>) -> Response {
    rendered(template, form_target.unwrap_or("'none'"))
}

/// The permitted framing of a page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// The page must not be shown in a frame.
    Denied,
    /// Pages of this server may frame the page.
    Framed,
}

impl Framing {
    const fn ancestors(self) -> &'static str {
        match self {
            Self::Denied => "'none'",
            Self::Framed => "'self'",
        }
    }
}

/// Renders a page with one script, which has this nonce. Its form leads only to `form_target`.
pub(super) fn page_with_script(
    template: &impl Page,
    form_target: Option<&str>,
    nonce: &str,
    shown: Framing,
) -> Response {
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self'; img-src 'self'; form-action {}; \
         frame-ancestors {}; base-uri 'none'",
        form_target.unwrap_or("'none'"),
        shown.ancestors(),
    );
    let mut response = with_policy(template, &policy);
    if shown == Framing::Framed {
        response
            .headers_mut()
            .insert(X_FRAME_OPTIONS, HeaderValue::from_static("SAMEORIGIN"));
    }
    response
}

/// Renders a page with frames that notify applications. The applications control further redirects in these frames.
pub(super) fn page_with_frames(services: &Services, template: &impl Page) -> Response {
    let plain = if services.settings.is_https() {
        ""
    } else {
        " http:"
    };
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; frame-src 'self' https:{plain}; \
         form-action 'none'; \
         frame-ancestors 'none'; base-uri 'none'",
    );
    with_policy(template, &policy)
}

/// Returns a nonce for a page's script.
pub(super) fn nonce(services: &Services) -> String {
    hex::encode(services.entropy.bytes::<16>())
}

fn rendered(template: &impl Page, form_action: &str) -> Response {
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
         manifest-src 'self'; worker-src 'self'; form-action {form_action}; frame-ancestors 'none'; base-uri 'none'",
    );
    with_policy(template, &policy)
}

/// Renders a page with this Content-Security-Policy.
fn with_policy(template: &impl Page, policy: &str) -> Response {
    match template.render() {
        Ok(html) => (html_headers(policy, template.layout().language), html).into_response(),
        Err(error) => {
            tracing::error!(%error, "page not rendered");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

fn html_headers(policy: &str, language: Language) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_LANGUAGE, HeaderValue::from_static(language.tag()));
    headers.insert(VARY, HeaderValue::from_static("accept-language"));
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/html; charset=utf-8"),
    );
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // A target that is not a valid header value comes from no registered URI. Without it the policy is only stricter.
    let strict =
        HeaderValue::from_static("default-src 'none'; style-src 'self'; frame-ancestors 'none'");
    headers.insert(
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_str(policy).unwrap_or(strict),
    );
    headers
}

/// `303 See Other`: the browser requests the location with GET, regardless of its own method.
pub(super) fn see_other(location: &str) -> Response {
    match HeaderValue::from_str(location) {
        Ok(location) => {
            let headers = [
                (LOCATION, location),
                (CACHE_CONTROL, HeaderValue::from_static("no-store")),
            ];
            (StatusCode::SEE_OTHER, headers).into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Sets the cookie of a browser that has none yet.
pub(super) fn with_browser(
    mut response: Response,
    services: &Services,
    browser: &Browser,
) -> Response {
    if let Some(Ok(cookie)) = browser
        .cookie(services)
        .map(|cookie| HeaderValue::from_str(&cookie))
    {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// Sets the cookie of a new session of this user, and adds the browser to the user's known browsers.
pub(super) fn with_session(
    mut response: Response,
    services: &Services,
    browser: &Browser,
    session: Option<(UserId, &Token)>,
) -> Result<Response, InternalError> {
    let Some((user, token)) = session else {
        return Ok(response);
    };
    let known = browser
        .known_users(services)
        .seal_with(services, browser.digest(), user)?;
    let cookies = [
        Cookie::Session.set(services, token.expose()),
        // Extends the browser's cookie, because the cookie of the known browsers is bound to it.
        Cookie::Browser.set(services, browser.secret().expose()),
        Cookie::Known.set(services, &known),
    ];
    for cookie in cookies
        .iter()
        .filter_map(|cookie| HeaderValue::from_str(cookie).ok())
    {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Returns a reference that connects a response to its log line.
pub(super) fn reference(services: &Services) -> String {
    hex::encode(services.entropy.bytes::<4>()).to_uppercase()
}

/// Returns the error text for an application after a fault of this server: `what` failed. A reference leads to the log
/// line.
pub(super) fn fault_in_words(
    services: &Services,
    what: &'static str,
    cause: &InternalError,
) -> String {
    let reference = reference(services);
    tracing::error!(reference, operation = what, %cause, "request failed");
    services.error_references.record(ErrorReference {
        reference: reference.clone(),
        request: request_id::current(),
        at: services.now(),
        status: StatusCode::INTERNAL_SERVER_ERROR.as_u16(),
        page: what.to_owned(),
        cause: cause.to_string(),
    });
    match cause {
        _ if cause.is_outage() => {
            format!(
                "the database cannot be reached at the moment; try again after the time in Retry-After (reference \
                 {reference})"
            )
        }
        // A retry would fail, too.
        InternalError::Plugin(_) => {
            format!(
                "a plugin of the identity provider failed; its operator finds the cause in the log by the reference \
                 {reference}"
            )
        }
        _ => format!(
            "the server could not answer; try again, or give its operator the reference {reference}"
        ),
    }
}

/// An error page, with a reference that leads to the log line.
pub(super) struct ErrorReply {
    /// The HTTP status.
    pub(super) status: StatusCode,
    /// A short title.
    pub(super) title: Message,
    /// The description of the error.
    pub(super) what_happened: Message,
    /// Instructions for the user.
    pub(super) what_to_do: Message,
}

impl ErrorReply {
    /// Renders the page, with a link to the start page. The server writes `cause` to the log, not to the page.
    pub(super) fn render(
        self,
        services: &Services,
        language: Language,
        cause: &dyn std::fmt::Display,
    ) -> Response {
        self.render_with(services, language, cause, Link::to_start())
    }

    /// Renders the page, with a link with which the user can continue.
    pub(super) fn render_with(
        self,
        services: &Services,
        language: Language,
        cause: &dyn std::fmt::Display,
        next: Link,
    ) -> Response {
        self.render_detailed(services, language, cause, (next, Vec::new()))
    }

    /// Renders the page, with a link and with the details for the application's operator.
    pub(super) fn render_detailed(
        self,
        services: &Services,
        language: Language,
        cause: &dyn std::fmt::Display,
        (next, details): (Link, Vec<OperatorDetail>),
    ) -> Response {
        let (reference, request) = (reference(services), request_id::current());
        // The log is in English, independent of the language of the page.
        let title = self.title.plain(Language::English);
        if self.status.is_server_error() {
            tracing::error!(reference, page = title, %cause, "request failed");
        } else {
            tracing::info!(reference, page = title, %cause, "request rejected");
        }
        services.error_references.record(ErrorReference {
            reference: reference.clone(),
            request: request.clone(),
            at: services.now(),
            status: self.status.as_u16(),
            page: title,
            cause: cause.to_string(),
        });
        let page_of_error = ErrorPage {
            layout: layout(services, language),
            title: self.title,
            what_happened: self.what_happened,
            what_to_do: self.what_to_do,
            reference,
            request,
            next,
            details,
        };
        let mut response = page(&page_of_error, None);
        *response.status_mut() = self.status;
        response
    }
}

/// Returns the page of an internal failure. After a database outage it asks the user to retry in a few seconds.
pub(super) fn internal_error(
    services: &Services,
    language: Language,
    error: &InternalError,
) -> Response {
    if error.is_outage() {
        let page = ErrorReply {
            status: StatusCode::SERVICE_UNAVAILABLE,
            title: Message::new("error-outage"),
            what_happened: Message::new("error-outage-happened"),
            what_to_do: Message::new("error-outage-advice"),
        };
        return unavailable(page.render(services, language, error));
    }
    ErrorReply {
        status: StatusCode::INTERNAL_SERVER_ERROR,
        title: Message::new("error-internal"),
        what_happened: Message::new("error-internal-happened"),
        what_to_do: Message::new("error-internal-advice"),
    }
    .render(services, language, error)
}

/// Returns the rejection of a form without a valid CSRF token: from another site, another browser, or a page that was
/// open for a very long time.
pub(super) fn forged(services: &Services, language: Language) -> Response {
    ErrorReply {
        status: StatusCode::FORBIDDEN,
        title: Message::new("error-form"),
        what_happened: Message::new("error-form-happened"),
        what_to_do: Message::new("error-form-advice"),
    }
    .render(services, language, &"the CSRF token is missing or wrong")
}

/// Returns the rejection of a form of a page that was rendered for another user, who was signed in in this browser
/// before. Nothing was changed. `next` is the page that the user can load again.
pub(super) fn other_user(services: &Services, language: Language, next: String) -> Response {
    let again = Link {
        address: next,
        text: Message::new("error-other-user-again"),
    };
    ErrorReply {
        status: StatusCode::CONFLICT,
        title: Message::new("error-other-user"),
        what_happened: Message::new("error-other-user-happened"),
        what_to_do: Message::new("error-other-user-advice"),
    }
    .render_with(
        services,
        language,
        &"the page was rendered for another user than the signed-in one",
        again,
    )
}

/// The time after which the caller may repeat the request, in seconds. A failover of the database usually takes longer,
/// but a lost connection does not.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("2");

/// Turns an error of any form into one that the caller may retry: 503 with `Retry-After`.
pub(super) fn unavailable(mut response: Response) -> Response {
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response
        .headers_mut()
        .insert(RETRY_AFTER, RETRY_AFTER_SECONDS);
    response
}
