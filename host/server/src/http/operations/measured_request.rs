//! The measurement of response times.

use std::time::Instant;

use axum::http::Uri;
use axum::response::Response;

use crate::domain::Services;
use crate::domain::operations::traffic::request_metrics::EndpointGroup;
use crate::http::oidc::paths;

/// A request with a response that the metrics count.
pub(crate) struct MeasuredRequest {
    endpoint: EndpointGroup,
    /// The start of the measurement. `None` if the response waits for an event, or takes time in proportion to the size
    /// of a file.
    begun: Option<Instant>,
}

/// Marks the response to a request that waited for an event, so that its time is not measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waited;

impl MeasuredRequest {
    pub(crate) fn begin(uri: &Uri) -> Self {
        Self {
            endpoint: endpoint(uri.path()),
            begun: is_measured(uri).then(Instant::now),
        }
    }

    pub(crate) fn end(self, services: &Services, response: &Response) {
        let waited = response.extensions().get::<Waited>().is_some();
        let took = self.begun.filter(|_| !waited).map(|begun| begun.elapsed());
        let status = response.status().as_u16();
        services.metrics.requests.count(self.endpoint, status, took);
    }
}

fn endpoint(path: &str) -> EndpointGroup {
    match path {
        "/oidc/auth" => EndpointGroup::Authorization,
        "/oidc/par" => EndpointGroup::PushedRequest,
        "/oidc/backchannel" => EndpointGroup::Backchannel,
        "/oidc/device_authorization" => EndpointGroup::DeviceAuthorization,
        // Only applications with back-channel requests have receipts.
        path if paths::is_receipt(path) => EndpointGroup::Backchannel,
        "/oidc/token" => EndpointGroup::Token,
        "/oidc/token/introspection" => EndpointGroup::Introspection,
        "/oidc/token/revocation" => EndpointGroup::Revocation,
        path if paths::is_registration(path) => EndpointGroup::Registration,
        "/oidc/me" => EndpointGroup::UserInfo,
        "/oidc/jwks"
        | "/oidc/receipts/keys"
        | "/oidc/.well-known/openid-configuration"
        | "/.well-known/oauth-authorization-server/oidc" => EndpointGroup::Discovery,
        "/" => EndpointGroup::Portal,
        "/sign-in" | "/sign-out" | "/oidc/session/end" => EndpointGroup::SignIn,
        path => by_first_part(path),
    }
}

/// Returns the group of the paths with the same first segment.
fn by_first_part(path: &str) -> EndpointGroup {
    let first = path.split('/').nth(1);
    match first {
        Some("sso") => EndpointGroup::Saml,
        Some("admin") if path.starts_with("/admin/api/v1/") => EndpointGroup::Administration,
        Some("login" | "session" | "recover" | "device") => EndpointGroup::SignIn,
        Some("authenticator") => EndpointGroup::Authenticator,
        Some(
            "applications" | "devices" | "sessions" | "consents" | "requests" | "activity"
            | "profile",
        ) => EndpointGroup::Portal,
        _ => EndpointGroup::Other,
    }
}

/// Whether the response time depends only on the server.
fn is_measured(uri: &Uri) -> bool {
    let path = uri.path();
    let waits = |query: &str| query.split('&').any(|part| part.starts_with("wait="));
    let is_large = path.ends_with("/import") || path.ends_with("/claims-preview");
    let awaits_news = path.ends_with("/events") || path.ends_with("/decided");
    !uri.query().is_some_and(waits) && !awaits_news && !is_large
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_belong_to_endpoint_groups() {
        for (path, group) in [
            ("/oidc/token", EndpointGroup::Token),
            ("/oidc/auth", EndpointGroup::Authorization),
            ("/oidc/receipts/x", EndpointGroup::Backchannel),
            ("/oidc/receipts/keys", EndpointGroup::Discovery),
            ("/oidc/receipts/", EndpointGroup::Other),
            ("/oidc/register", EndpointGroup::Registration),
            ("/oidc/register/did:key:x", EndpointGroup::Registration),
            ("/oidc/registered", EndpointGroup::Other),
            ("/sso/SingleSignOnService/did:key:x", EndpointGroup::Saml),
            ("/admin/api/v1/users", EndpointGroup::Administration),
            ("/admin/users", EndpointGroup::Other),
            ("/login/x/events", EndpointGroup::SignIn),
            ("/recover", EndpointGroup::SignIn),
            ("/device", EndpointGroup::SignIn),
            (
                "/oidc/device_authorization",
                EndpointGroup::DeviceAuthorization,
            ),
            ("/authenticator/api/inbox", EndpointGroup::Authenticator),
            ("/", EndpointGroup::Portal),
            ("/devices/recovery-codes/x/decided", EndpointGroup::Portal),
            ("/unknown", EndpointGroup::Other),
            ("", EndpointGroup::Other),
        ] {
            assert_eq!(endpoint(path), group, "{path}");
        }
    }

    #[test]
    fn long_running_requests_are_not_measured() {
        let measured = |address: &'static str| is_measured(&Uri::from_static(address));
        assert!(measured("/oidc/auth?client_id=x"));
        assert!(measured("/admin/api/v1/users?q=a"));
        for waiting in [
            "/admin/api/v1/action-approvals/x?wait=25",
            "/admin/api/v1/users/import?dry_run=true",
            "/login/x/events",
        ] {
            assert!(!measured(waiting), "{waiting}");
        }
    }
}
