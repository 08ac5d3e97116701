//! Fetch metadata (<https://www.w3.org/TR/fetch-metadata/>): a browser's headers about the page that caused a request.
//!
//! CORS prevents pages of other sites from reading responses, but not from sending requests. Such a page would use up
//! the rate limits of its visitor's network, so the server rejects its requests before it counts them. A request
//! without these headers comes from another program or an old browser, and passes.

use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::header_text;

const SITE: &str = "sec-fetch-site";
const DESTINATION: &str = "sec-fetch-dest";
const PURPOSE: &str = "sec-purpose";

/// Whether a page of another origin caused this request. The value `none` means the user, with a bookmark or a typed
/// address.
pub(super) fn is_cross_site(headers: &HeaderMap) -> bool {
    headers
        .get_all(SITE)
        .iter()
        .any(|site| site != "same-origin" && site != "none")
}

/// The cause of a request to a page of a sign-in or sign-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// This server's own pages, the user, a link or form of another site, or a client that is no browser.
    Navigation,
    /// A frame of another site's page, at an endpoint that responds in frames.
    Frame,
    /// Another site's page that cannot show the response, such as an image, a script, `fetch`, or a prefetch.
    Embedded,
}

impl Cause {
    /// The cause of this request.
    ///
    /// Two kinds of requests of frames are legitimate. A single-page application renews its tokens in a hidden frame
    /// with `prompt=none`: an application of the same site finds the session there, any other gets `login_required`.
    /// Service providers send requests with `IsPassive`, and respond to a logout, in frames. All other pages forbid
    /// framing.
    pub(super) fn from_request(request: &Request) -> Self {
        let headers = request.headers();
        let path = request.uri().path();
        if !is_cross_site(headers) {
            return Self::Navigation;
        }
        let saml = path.starts_with("/sso/");
        // Only an application posts to this server from its own pages.
        if *request.method() == Method::POST && !(saml || path.starts_with("/oidc/")) {
            return Self::Embedded;
        }
        if headers
            .get(PURPOSE)
            .is_some_and(|purpose| header_text::text(purpose).contains("prefetch"))
        {
            return Self::Embedded;
        }
        match headers.get(DESTINATION).map(header_text::text).as_deref() {
            None | Some("document") => Self::Navigation,
            Some("iframe" | "frame")
                if saml || is_silent(request) || path == "/oidc/session/end" =>
            {
                Self::Frame
            }
            Some(_) => Self::Embedded,
        }
    }
}

/// Whether a request is an authorization request with `prompt=none`.
fn is_silent(request: &Request) -> bool {
    let query = request.uri().query().unwrap_or_default();
    request.uri().path() == "/oidc/auth"
        && form_urlencoded::parse(query.as_bytes())
            .any(|(name, value)| name == "prompt" && value == "none")
}

/// Rejects requests of other sites' pages that cannot show the response.
pub(super) async fn reject_embedded(request: Request, next: Next) -> Response {
    match Cause::from_request(&request) {
        Cause::Embedded => rejection(),
        Cause::Navigation | Cause::Frame => next.run(request).await,
    }
}

/// The response to a request that another site's page must not cause. No page shows it.
pub(super) fn rejection() -> Response {
    let text = "A page of another site cannot load this. Open it in a window of its own.\n";
    (
        StatusCode::FORBIDDEN,
        [(header::CACHE_CONTROL, "no-store")],
        text,
    )
        .into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn cause(method: &str, address: &str, headers: &[(&str, &str)]) -> Cause {
        let mut request = Request::builder().method(method).uri(address);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Cause::from_request(&request.body(Body::empty()).unwrap())
    }

    fn from(site: &'static str, destination: &'static str) -> [(&'static str, &'static str); 2] {
        [(SITE, site), (DESTINATION, destination)]
    }

    const AUTH: &str = "/oidc/auth?client_id=x";
    const SILENT: &str = "/oidc/auth?client_id=x&prompt=none";

    #[test]
    fn links_forms_and_own_pages_may_navigate() {
        let document = &from("cross-site", "document")[..];
        for (method, address, headers) in [
            ("GET", AUTH, &[][..]),
            ("GET", AUTH, &from("none", "document")),
            ("GET", AUTH, document),
            ("POST", AUTH, document),
            ("GET", "/login/x", document),
            ("GET", "/login/x/events", &from("same-origin", "empty")),
            ("POST", "/login/x", &from("same-origin", "document")),
            ("POST", "/sso/SingleSignOnService/x", document),
        ] {
            let found = cause(method, address, headers);
            assert_eq!(found, Cause::Navigation, "{method} {address} {headers:?}");
        }
    }

    #[test]
    fn only_silent_requests_and_saml_are_answered_in_frames() {
        let frame = &from("cross-site", "iframe")[..];
        for (method, address, headers) in [
            ("GET", SILENT, frame),
            ("GET", SILENT, &from("same-site", "iframe")),
            ("GET", "/sso/logout/x/y", frame),
            ("POST", "/sso/SingleLogoutService/x", frame),
        ] {
            let found = cause(method, address, headers);
            assert_eq!(found, Cause::Frame, "{method} {address} {headers:?}");
        }
    }

    #[test]
    fn requests_that_cannot_show_a_page_are_recognised() {
        let frame = &from("cross-site", "iframe")[..];
        let prefetch = [
            (SITE, "cross-site"),
            (DESTINATION, "document"),
            (PURPOSE, "prefetch;prerender"),
        ];
        for (method, address, headers) in [
            ("GET", AUTH, frame),
            ("GET", AUTH, &from("cross-site", "image")),
            ("GET", SILENT, &from("cross-site", "empty")),
            ("GET", "/login/x", &from("same-site", "script")),
            ("GET", "/login/x", frame),
            ("GET", "/sso/metadata/x", &from("cross-site", "object")),
            ("POST", "/recover", &from("cross-site", "document")),
            ("POST", "/login/x", &from("same-site", "document")),
            ("GET", AUTH, &prefetch),
        ] {
            let found = cause(method, address, headers);
            assert_eq!(found, Cause::Embedded, "{method} {address} {headers:?}");
        }
    }
}
