//! Admission of requests in front of their handlers: bounds of the head, and priorities under overload.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::{Method, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};

use super::devices::{DeviceApiError, ErrorCode};
use super::outage::unavailable;
use super::refusals;
use crate::domain::Services;
use crate::domain::operations::admission::{AdmittedRequest, RequestClass};

/// Rejects what no browser and no well-behaved application sends, and under overload the requests that are the least
/// urgent.
pub(super) async fn admit(
    State(services): State<Arc<Services>>,
    mut request: Request,
    next: Next,
) -> Response {
    if let Some(rejection) = refusals::rejection_of_head(&request) {
        return rejection;
    }
    let Some(class) = class(request.uri()) else {
        return next.run(request).await;
    };
    if !services.admission.admits(class) {
        return overloaded(request.uri());
    }
    // It waits for news nearly all the time, which costs no more than its connection.
    if waits_for_news(&request) {
        return next.run(request).await;
    }
    let admitted = Arc::new(services.admission.enter(class));
    // The handler of a GET reads no body.
    if request.body().is_end_stream() || request.method().is_safe() {
        admitted.begin();
    } else {
        let admitted = Arc::clone(&admitted);
        request = request.map(|body| Body::new(ObservedBody { body, admitted }));
    }
    let response = next.run(request).await;
    drop(admitted);
    response
}

/// The class of the request for an address; `None` for monitoring and for the documents that are served from memory,
/// which are always served.
fn class(uri: &Uri) -> Option<RequestClass> {
    match uri.path() {
        "/healthz"
        | "/readyz"
        | "/metrics"
        | "/oidc/jwks"
        | "/oidc/.well-known/openid-configuration"
        | "/.well-known/oauth-authorization-server/oidc" => None,
        path if path == "/admin" || path.starts_with("/admin/") => {
            Some(RequestClass::Administration)
        }
        "/oidc/auth" | "/oidc/session/end" => Some(RequestClass::User),
        path if path.starts_with("/oidc/") => Some(RequestClass::Application),
        _ => Some(RequestClass::User),
    }
}

/// Whether it is a long poll: a GET of one of the resources that can be waited for.
fn waits_for_news(request: &Request) -> bool {
    let path = request.uri().path();
    let can_wait = path == "/authenticator/api/requests"
        || path.starts_with("/admin/api/v1/action-approvals/")
        || path.starts_with("/admin/api/v1/test-sign-ins/");
    let waits = |part: &str| {
        part.strip_prefix("wait=")
            .is_some_and(|seconds| !matches!(seconds, "" | "0"))
    };
    request.method() == Method::GET
        && can_wait
        && request
            .uri()
            .query()
            .is_some_and(|query| query.split('&').any(waits))
}

/// 503 with `Retry-After`. Layers around this one write it in the form that other endpoints use for errors.
fn overloaded(uri: &Uri) -> Response {
    if uri.path().starts_with("/authenticator/api/") {
        return DeviceApiError::from(ErrorCode::TemporarilyUnavailable).into_response();
    }
    unavailable("The server has too many requests at the moment. Try again.\n".into_response())
}

/// A body that reports its end.
struct ObservedBody {
    body: Body,
    admitted: Arc<AdmittedRequest>,
}

impl HttpBody for ObservedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) || self.body.is_end_stream() {
            self.admitted.begin();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_polls_are_not_counted() {
        let waits = |method: Method, address: &str| {
            let request = Request::builder().method(method).uri(address);
            waits_for_news(&request.body(Body::empty()).expect("a request"))
        };
        assert!(waits(Method::GET, "/authenticator/api/requests?wait=30"));
        assert!(waits(
            Method::GET,
            "/admin/api/v1/action-approvals/x?wait=25"
        ));
        for address in [
            "/authenticator/api/requests?wait=0",
            "/authenticator/api/requests",
            "/oidc/auth?client_id=x&wait=1",
            "/oidc/me?wait=1",
            "/admin/api/v1/users?wait=1",
        ] {
            assert!(!waits(Method::GET, address), "{address}");
        }
        assert!(!waits(Method::POST, "/authenticator/api/requests?wait=30"));
    }

    #[test]
    fn requests_have_the_class_of_their_caller() {
        use RequestClass::{Administration, Application, User};
        let of = |address: &'static str| class(&Uri::from_static(address));
        for path in [
            "/oidc/token",
            "/oidc/token/introspection",
            "/oidc/token/revocation",
            "/oidc/me",
        ] {
            assert_eq!(of(path), Some(Application), "{path}");
        }
        for path in [
            "/",
            "/oidc/auth?client_id=x",
            "/oidc/session/end",
            "/login/x",
            "/sso/SingleSignOnService/x",
            "/login/x/events",
            "/authenticator/api/requests?wait=30",
            "/administration",
        ] {
            assert_eq!(of(path), Some(User), "{path}");
        }
        for path in ["/admin", "/admin/users", "/admin/api/v1/users/export"] {
            assert_eq!(of(path), Some(Administration), "{path}");
        }
        for path in ["/readyz", "/oidc/jwks?x"] {
            assert_eq!(of(path), None, "{path}");
        }
    }
}
