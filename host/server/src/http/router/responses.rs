//! Responses that belong to no use case: assets, unknown paths, and the headers of all responses.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{
    ETAG, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::domain::Services;
use crate::http::assets;
use crate::http::operations::branding;
use crate::http::operations::measured_request::MeasuredRequest;
use crate::http::page_error::ErrorTexts;
use crate::http::refusals::RefusalForm;
use crate::http::texts::PageLanguage;
use crate::http::traced_request::record_route;
use crate::messages::Message;

/// Returns a stylesheet, script or icon. The layer of its route compresses it, and compares its `ETag`.
pub(super) async fn asset(
    State(services): State<Arc<Services>>,
    axum::extract::OriginalUri(uri): axum::extract::OriginalUri,
    PageLanguage(language): PageLanguage,
) -> Response {
    if let Some(own) = branding::find(&services, uri.path()) {
        return own;
    }
    let Some(asset) = assets::find(uri.path(), language) else {
        return not_found(State(services), PageLanguage(language), uri).await;
    };
    let Ok(etag) = HeaderValue::from_str(&asset.etag) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let mut response = asset.bytes.into_response();
    let set = response.headers_mut();
    set.insert(ETAG, etag);
    set.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(asset.content_type),
    );
    set.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static(asset.cache_control),
    );
    if asset.speaks {
        set.insert(header::VARY, HeaderValue::from_static("accept-language"));
        set.insert(
            header::CONTENT_LANGUAGE,
            HeaderValue::from_static(language.tag()),
        );
    }
    if let Some(scope) = asset.service_worker_allowed {
        set.insert("service-worker-allowed", HeaderValue::from_static(scope));
    }
    response
}

pub(super) async fn not_found(
    State(services): State<Arc<Services>>,
    PageLanguage(language): PageLanguage,
    uri: Uri,
) -> Response {
    let what_to_do = match intended_path(uri.path()) {
        Some(path) => Message::new("error-not-found-slash")
            .text("address", format!("{}{path}", services.settings.origin())),
        None => Message::new("error-not-found-advice"),
    };
    ErrorTexts {
        status: StatusCode::NOT_FOUND,
        title: Message::new("error-not-found"),
        what_happened: Message::new("error-not-found-happened"),
        what_to_do,
    }
    .caused_by(uri.path())
    .render(&services, language)
}

/// Returns the path of the public document that a path with a doubled or final slash means.
fn intended_path(path: &str) -> Option<String> {
    const DOCUMENTS: [&str; 3] = [
        "/oidc/.well-known/openid-configuration",
        "/.well-known/oauth-authorization-server/oidc",
        "/oidc/jwks",
    ];
    const METADATA: &str = "/sso/metadata/";
    let parts = path.split('/').filter(|part| !part.is_empty());
    let intended: String = parts.flat_map(|part| ["/", part]).collect();
    let is_document = DOCUMENTS.contains(&intended.as_str()) || intended.starts_with(METADATA);
    (is_document && intended != path).then_some(intended)
}

/// Surrounds the handling of every request: measures its time, converts a rejection into the form of the called
/// interface, and sets the common headers. It is one layer because each layer costs every request several allocations.
pub(in crate::http) async fn surround(
    State(services): State<Arc<Services>>,
    request: Request,
    next: Next,
) -> Response {
    let measured = MeasuredRequest::begin(request.uri());
    if services.span_sampler.is_on() {
        record_route(&request);
    }
    let form = RefusalForm::of(&services, &request);
    let is_console = request
        .uri()
        .path()
        .strip_prefix("/admin")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let response = next.run(request).await;
    let response = form.render(&services, response);
    let response = with_common_headers(&services, is_console, response);
    measured.end(&services, &response);
    response
}

/// Sets the headers of every response: browsers do not guess types, no address leaks to other sites, and no page is
/// framed.
pub(in crate::http) fn with_common_headers(
    services: &Services,
    is_console: bool,
    mut response: Response,
) -> Response {
    let is_unavailable = response.status() == StatusCode::SERVICE_UNAVAILABLE;
    let headers = response.headers_mut();
    if is_unavailable {
        headers
            .entry(header::RETRY_AFTER)
            .or_insert(HeaderValue::from_static("2"));
    }
    // Behind a load balancer, the client's next request then goes to another instance.
    if services.draining.is_begun() {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers
        .entry(header::X_FRAME_OPTIONS)
        .or_insert(HeaderValue::from_static("DENY"));
    // The authenticator's page sets another value itself, because its camera reads codes.
    headers
        .entry("permissions-policy")
        .or_insert(HeaderValue::from_static(
            "camera=(), geolocation=(), microphone=(), payment=()",
        ));
    // A page that opened the console, or that the console opened, gets no reference to its window. Login pages do not
    // have this header: an application that opens them in a popup receives the response through `window.opener`, which
    // the header would remove.
    if is_console {
        headers.insert(
            "cross-origin-opener-policy",
            HeaderValue::from_static("same-origin"),
        );
    }
    if services.settings.is_https() {
        headers.insert(
            STRICT_TRANSPORT_SECURITY,
            HeaderValue::from_static("max-age=31536000"),
        );
    }
    response
}

#[cfg(test)]
mod tests {
    use super::intended_path;

    #[test]
    fn a_doubled_or_final_slash_has_a_hint() {
        let discovery = "/oidc/.well-known/openid-configuration";
        for path in [
            "/oidc/.well-known/openid-configuration/",
            "//oidc/.well-known/openid-configuration",
            "/oidc//.well-known/openid-configuration",
        ] {
            assert_eq!(intended_path(path).as_deref(), Some(discovery), "{path}");
        }
        assert_eq!(intended_path("/oidc/jwks/").as_deref(), Some("/oidc/jwks"));
        for path in [discovery, "/", "//", "/oidc/", "/nowhere/"] {
            assert_eq!(intended_path(path), None, "{path}");
        }
    }
}
