//! Replies: pages, redirects, and the texts of errors for applications.

use std::collections::BTreeSet;

use axum::http::header::{
    CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, RETRY_AFTER,
    SET_COOKIE, VARY, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use super::context::Browser;
use super::cookies::Cookie;
use super::request_id;
use crate::domain::operations::telemetry::error_references::ErrorReference;
use crate::domain::{InternalError, Services};
use crate::http::layout::{Layout, Page, Support};
use crate::http::operations::branding;
use assent_model::id::UserId;
use assent_model::language::Language;
use assent_model::secret::Token;

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
    page_with_form_action(template, &format!("'self'{target}"))
}

/// Renders a page with a form that leads to an application.
pub(super) fn page_that_posts(template: &impl Page, form_target: Option<&str>) -> Response {
    page_with_form_action(template, form_target.unwrap_or("'none'"))
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

/// Renders a page with a frame that notifies a SAML application. The application controls further redirects in the
/// frame.
pub(super) fn page_with_saml_frame(services: &Services, template: &impl Page) -> Response {
    let plain = if services.settings.is_https() {
        ""
    } else {
        " http:"
    };
    with_frame_sources(template, &format!("'self' https:{plain}"))
}

/// Renders a page with frames of these origins only.
pub(super) fn page_with_frames(template: &impl Page, origins: &BTreeSet<&str>) -> Response {
    let sources: Vec<&str> = origins.iter().copied().collect();
    with_frame_sources(template, &sources.join(" "))
}

fn with_frame_sources(template: &impl Page, sources: &str) -> Response {
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; frame-src {sources}; \
         form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
    );
    with_policy(template, &policy)
}

/// Returns a nonce for a page's script.
pub(super) fn nonce(services: &Services) -> String {
    hex::encode(services.entropy.bytes::<16>())
}

fn page_with_form_action(template: &impl Page, form_action: &str) -> Response {
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

/// The time after which the caller may repeat the request, in seconds. A failover of the database usually takes longer,
/// but a lost connection does not.
pub(super) const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("2");

/// Turns an error of any form into one that the caller may retry: 503 with `Retry-After`.
pub(super) fn unavailable(mut response: Response) -> Response {
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response
        .headers_mut()
        .insert(RETRY_AFTER, RETRY_AFTER_SECONDS);
    response
}
