//! Rejections without a handler: a body or a head that is too large, NUL in a parameter, an unsupported method, a
//! response that took too long. A user sees a page. A program gets plain text, or JSON from an API that returns JSON
//! itself.

use axum::body::HttpBody;
use axum::extract::Request;
use axum::http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};

use super::admin_api;
use super::header_text;
use super::oidc::client_certificate::CHAIN_HEADER;
use super::oidc::paths::{REGISTER, is_registration};
use super::oidc::{client_calls, registration};
use super::page_error::ErrorTexts;
use super::texts::preferred_language;
use crate::domain::Services;
use crate::messages::Message;
use assent_model::language::Language;

/// The longest path with its query, in bytes.
const LONGEST_ADDRESS: usize = 16 * 1024;
/// The maximum size of all headers of a request together, in bytes. The connection accepts twice that, so that this
/// server's own response is sent, and a proxy can send a chain of certificates, which has a bound of its own.
const LONGEST_HEAD: usize = 32 * 1024;
/// Paths that only programs request. Scripts of this server's pages call them too, and do not read pages.
const OF_PROGRAMS: [&str; 13] = [
    "/admin/api/",
    "/authenticator/api/",
    "/approvals/callbacks/",
    "/assets/",
    "/healthz",
    "/readyz",
    "/connection",
    "/oidc/token",
    "/oidc/par",
    "/oidc/backchannel",
    "/oidc/device_authorization",
    "/oidc/receipts/",
    REGISTER,
];

/// Returns the rejection of a request with a head that no browser and no well-behaved application sends.
pub(super) fn rejection_of_head(request: &Request) -> Option<Response> {
    let address = address(request);
    if address.len() > LONGEST_ADDRESS {
        let text = "The address is too long. Applications can send long requests with POST.\n";
        return Some((StatusCode::URI_TOO_LONG, text).into_response());
    }
    if head_length(request) > LONGEST_HEAD {
        let text = "The headers of the request are too large.\n";
        return Some((StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, text).into_response());
    }
    // PostgreSQL cannot search for NUL.
    if address.contains("%00") {
        let text = "No text may contain the character NUL.\n";
        return Some((StatusCode::BAD_REQUEST, text).into_response());
    }
    None
}

/// Whether the response depends on nothing but the path, the content coding and the origin.
pub(super) fn is_plain_request(request: &Request) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD)
        && request.uri().query().is_none()
        && request.body().is_end_stream()
        && !request.headers().contains_key(IF_NONE_MATCH)
        && is_head_within_bounds(request)
}

/// Whether the head of a request with a known path is within the bounds.
fn is_head_within_bounds(request: &Request) -> bool {
    head_length(request) <= LONGEST_HEAD
}

fn address(request: &Request) -> &str {
    request
        .uri()
        .path_and_query()
        .map_or("", |text| text.as_str())
}

fn head_length(request: &Request) -> usize {
    // Each header also has a colon, a space and a line end.
    let headers = request.headers().iter();
    let headers = headers
        .filter(|(name, _)| **name != CHAIN_HEADER)
        .map(|(name, value)| name.as_str().len() + value.len() + 4);
    address(request).len() + headers.sum::<usize>()
}

/// The form of an error of the interface that the caller requested.
pub(super) enum RefusalForm {
    /// JSON (RFC 6749 section 5.2).
    ClientEndpoint,
    /// JSON (RFC 7591 section 3.2.2).
    Registration,
    /// Problem details of the admin API (RFC 9457).
    AdminApi,
    /// A page, for a browser that requests pages.
    Page {
        language: Language,
        method: Method,
        uri: Uri,
    },
    /// Plain text.
    Plain,
}

impl RefusalForm {
    pub(super) fn of(services: &Services, request: &Request) -> Self {
        let path = request.uri().path();
        if client_calls::is_endpoint(path) {
            Self::ClientEndpoint
        } else if is_registration(path) {
            Self::Registration
        } else if admin_api::is_path(path) {
            Self::AdminApi
        } else if reads_pages(request) {
            Self::Page {
                language: preferred_language(services, request.headers()),
                method: request.method().clone(),
                uri: request.uri().clone(),
            }
        } else {
            Self::Plain
        }
    }

    /// Converts a rejection into this form, if it has another one.
    pub(super) fn render(self, services: &Services, response: Response) -> Response {
        let status = response.status();
        if !(status.is_client_error() || status.is_server_error()) {
            return response;
        }
        match self {
            Self::ClientEndpoint => client_calls::in_its_words(response),
            Self::Registration => registration::rejection_in_its_words(response),
            Self::AdminApi => admin_api::in_its_words(response),
            Self::Page {
                language,
                method,
                uri,
            } if is_plain(response.headers()) => {
                let cause = format!(
                    "{method} {} was rejected with the status {status}",
                    uri.path()
                );
                page(services, language, &cause, &response)
            }
            Self::Page { .. } | Self::Plain => response,
        }
    }
}

fn page(services: &Services, language: Language, cause: &str, refusal: &Response) -> Response {
    let status = refusal.status();
    let texts = ErrorTexts {
        status,
        title: Message::new("error-rejected"),
        what_happened: what_happened(status),
        what_to_do: match status {
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => Message::new("error-rejected-cookies"),
            _ => Message::new("error-rejected-advice"),
        },
    };
    let mut page = texts.caused_by(cause).render(services, language);
    // The rejection's other headers stay, such as `Allow`.
    let own = page.headers().clone();
    for (name, value) in refusal.headers() {
        if name != CONTENT_TYPE && name != CONTENT_LENGTH && !own.contains_key(name) {
            page.headers_mut().append(name, value.clone());
        }
    }
    page
}

const fn what_happened(status: StatusCode) -> Message {
    match status {
        StatusCode::PAYLOAD_TOO_LARGE => Message::new("error-rejected-body"),
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => Message::new("error-rejected-head"),
        StatusCode::URI_TOO_LONG => Message::new("error-rejected-address"),
        StatusCode::METHOD_NOT_ALLOWED => Message::new("error-rejected-method"),
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::REQUEST_TIMEOUT => {
            Message::new("error-rejected-timeout")
        }
        status if status.as_u16() < 500 => Message::new("error-rejected-unreadable"),
        _ => Message::new("error-internal-happened"),
    }
}

/// Whether a browser requests a page. The headers of a form post from an application's page show it as well.
fn reads_pages(request: &Request) -> bool {
    let path = request.uri().path();
    if *request.method() == Method::HEAD || OF_PROGRAMS.iter().any(|start| path.starts_with(start))
    {
        return false;
    }
    let accepted = |value: &HeaderValue| header_text::text(value).contains("text/html");
    request.headers().get_all(ACCEPT).iter().any(accepted)
}

/// Whether a response is the plain text of a rejection, or empty.
fn is_plain(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default();
    kind.is_empty() || kind.starts_with("text/plain")
}
