//! Admission of requests in front of their handlers: bounds of the head, and priorities under overload.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};

use super::devices::{DeviceApiError, ErrorCode};
use super::refusals;
use crate::domain::Services;
use crate::domain::operations::traffic::admission::{AdmittedRequest, RequestClass};
use crate::http::reply::unavailable;

/// Rejects requests that no browser and no well-behaved application sends, and under overload the least urgent
/// requests.
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
        return overload_response(request.uri());
    }
    // A long poll waits for changes nearly all the time, and costs no more than its connection.
    if is_long_poll(&request) {
        return next.run(request).await;
    }
    let admitted = Arc::new(services.admission.enter(class));
    // A handler may wait for a change.
    request.extensions_mut().insert(Arc::clone(&admitted));
    // The handler of a GET reads no body.
    if request.body().is_end_stream() || request.method().is_safe() {
        admitted.begin();
    } else {
        request = ObservedBody::of(request, &admitted);
    }
    held_until_end(next.run(request).await, admitted)
}

/// Counts a streamed response, such as an export, until its end, because each part of it is read from the database.
/// Event streams cost no more than their connection, and other responses are complete.
fn held_until_end(response: Response, admitted: Arc<AdmittedRequest>) -> Response {
    let is_complete = response.body().size_hint().exact().is_some();
    let has_events = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    if is_complete || has_events {
        return response;
    }
    response.map(|body| {
        Body::new(HeldBody {
            body,
            _admitted: admitted,
        })
    })
}

/// The class of the request for an address. Returns `None` for monitoring and for the documents that are served from
/// memory, which are always served.
fn class(uri: &Uri) -> Option<RequestClass> {
    match uri.path() {
        "/healthz"
        | "/readyz"
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

/// Whether a request is a long poll: a GET of a resource that supports waiting.
fn is_long_poll(request: &Request) -> bool {
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

/// The response 503 with `Retry-After`. Layers around this one write it in the form that other endpoints use for
/// errors.
pub(super) fn overload_response(uri: &Uri) -> Response {
    if uri.path().starts_with("/authenticator/api/") {
        return DeviceApiError::from(ErrorCode::TemporarilyUnavailable).into_response();
    }
    unavailable("The server has too many requests at the moment. Try again.\n".into_response())
}

/// A request body that reports its end.
pub(super) struct ObservedBody {
    body: Body,
    admitted: Arc<AdmittedRequest>,
}

impl ObservedBody {
    /// Returns the request with its body observed.
    pub(super) fn of(request: Request, admitted: &Arc<AdmittedRequest>) -> Request {
        let admitted = Arc::clone(admitted);
        request.map(|body| Body::new(Self { body, admitted }))
    }
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

/// A response body that counts as an admitted request until it ends.
struct HeldBody {
    body: Body,
    _admitted: Arc<AdmittedRequest>,
}

impl HttpBody for HeldBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
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
    use axum::body::to_bytes;
    use futures_util::stream;

    use super::*;
    use crate::domain::operations::traffic::admission::Admission;

    #[tokio::test]
    async fn a_streamed_response_counts_until_its_end() {
        let admission = Arc::new(Admission::of_processors(Arc::default()));
        let admitted = || Arc::new(admission.enter(RequestClass::Administration));
        let streamed = || {
            let parts = stream::iter(["a", "b"].map(Ok::<_, std::io::Error>));
            Body::from_stream(parts).into_response()
        };
        let request = admitted();
        let counted = Arc::downgrade(&request);
        let response = held_until_end(streamed(), request);
        assert!(counted.upgrade().is_some());
        let body = to_bytes(response.into_body(), 10).await.expect("a body");
        assert_eq!(body.as_ref(), b"ab");
        assert!(counted.upgrade().is_none());

        let mut events = streamed();
        let kind = axum::http::HeaderValue::from_static("text/event-stream");
        events.headers_mut().insert(CONTENT_TYPE, kind);
        for other in [events, "complete".into_response()] {
            let request = admitted();
            let counted = Arc::downgrade(&request);
            let _response = held_until_end(other, request);
            assert!(counted.upgrade().is_none());
        }
    }

    #[test]
    fn only_long_polls_are_not_counted() {
        let waits = |method: Method, address: &str| {
            let request = Request::builder().method(method).uri(address);
            is_long_poll(&request.body(Body::empty()).expect("a request"))
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
