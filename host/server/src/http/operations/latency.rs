//! Measures how long the server takes to answer.

use std::time::Instant;

use axum::http::Uri;
use axum::response::Response;

use crate::domain::Services;
use crate::domain::operations::latency::EndpointGroup;

/// A request whose response is counted, if it is of an endpoint whose time is the server's own.
pub(crate) struct MeasuredRequest(Option<(EndpointGroup, Instant)>);

impl MeasuredRequest {
    pub(crate) fn begin(uri: &Uri) -> Self {
        Self(endpoint(uri).map(|endpoint| (endpoint, Instant::now())))
    }

    pub(crate) fn end(self, services: &Services, response: &Response) {
        if let Self(Some((endpoint, begun))) = self {
            let failed = response.status().is_server_error();
            services.latency.count(endpoint, begun.elapsed(), failed);
        }
    }
}

/// The endpoint at an address. None where an answer waits for something to happen: that time says nothing of the
/// server.
fn endpoint(uri: &Uri) -> Option<EndpointGroup> {
    let waits = || {
        uri.query()
            .is_some_and(|query| query.split('&').any(|part| part.starts_with("wait=")))
    };
    match uri.path() {
        "/oidc/auth" => Some(EndpointGroup::Authorization),
        "/oidc/token" => Some(EndpointGroup::Token),
        "/oidc/me" => Some(EndpointGroup::UserInfo),
        "/oidc/jwks"
        | "/oidc/.well-known/openid-configuration"
        | "/.well-known/oauth-authorization-server/oidc" => Some(EndpointGroup::Discovery),
        path if path.starts_with("/sso/") => Some(EndpointGroup::Saml),
        // A table or a component takes as long as it is large.
        path if path.ends_with("/import") || path.ends_with("/claims-preview") => None,
        path if path.starts_with("/admin/api/v1/") && !waits() => {
            Some(EndpointGroup::Administration)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_not_measured() {
        let of = |address: &'static str| endpoint(&Uri::from_static(address));
        assert_eq!(of("/oidc/token"), Some(EndpointGroup::Token));
        assert_eq!(
            of("/oidc/auth?client_id=x"),
            Some(EndpointGroup::Authorization)
        );
        assert_eq!(
            of("/sso/SingleSignOnService/did:key:x?SAMLRequest=x"),
            Some(EndpointGroup::Saml)
        );
        assert_eq!(
            of("/admin/api/v1/users?q=a"),
            Some(EndpointGroup::Administration)
        );
        for waiting in [
            "/admin/api/v1/action-approvals/x?wait=25",
            "/admin/api/v1/users/import?dry_run=true",
            "/login/x",
            "/",
        ] {
            assert_eq!(of(waiting), None, "{waiting}");
        }
    }
}
