//! The short way of the calls that applications make most often: their requests for tokens, introspections and UserInfo
//! pass the same checks as in the [layers](super::layers), in the same order, but as one function in front of the
//! router. Each layer costs an allocated future and a copy of the request.
//!
//! A call that is unusual in any way goes to the router, which gives the same response.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{FromRequest, OptionalFromRequestParts, Request, State};
use axum::http::StatusCode;
use axum::http::header::ORIGIN;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use tower_http::catch_panic::{DefaultResponseForPanic, ResponseForPanic};

use super::admission::{self, ObservedBody};
use super::fetch_metadata;
use super::layers::LARGEST_CALL;
use super::oidc::client_calls::{self, AuthenticatedForm};
use super::oidc::client_certificate::ClientCertificate;
use super::oidc::{cors, endpoints};
use super::operations::measured_request::MeasuredRequest;
use super::operations::rate_limits;
use super::refusals::{self, RefusalForm};
use super::router::LONGEST;
use super::router::responses::with_common_headers;
use crate::domain::Services;
use crate::domain::operations::traffic::admission::RequestClass;

/// A call that takes the short way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Token,
    Introspection,
    UserInfo,
}

impl Call {
    /// Returns `None` if the router must respond.
    pub(super) fn of(services: &Services, request: &Request) -> Option<Self> {
        let call = match (request.method().as_str(), request.uri().path()) {
            ("POST", "/oidc/token") => Self::Token,
            ("POST", "/oidc/token/introspection") => Self::Introspection,
            ("GET", "/oidc/me") => Self::UserInfo,
            _ => return None,
        };
        call.is_usual(request)
            // A span names the route, which only the router knows.
            .then_some(call)
            .filter(|_| !services.span_sampler.is_on())
    }

    /// Whether no page of a browser sent the request, and its body is small.
    fn is_usual(self, request: &Request) -> bool {
        let headers = request.headers();
        let largest = match self {
            Self::UserInfo => 0,
            Self::Token | Self::Introspection => LARGEST_CALL as u64,
        };
        let size = request.body().size_hint().exact();
        size.is_some_and(|size| size <= largest)
            && request.uri().query().is_none()
            && !headers.contains_key(ORIGIN)
            && !fetch_metadata::is_cross_site(headers)
    }

    /// Responds to the call.
    pub(super) async fn respond(self, services: &Arc<Services>, request: Request) -> Response {
        let measured = MeasuredRequest::begin(request.uri());
        let form = RefusalForm::of(services, &request);
        let mut response = self.within_bounds(services, request).await;
        // Pages of single-page applications may read the responses of the others.
        if self != Self::Introspection {
            cors::mark(response.headers_mut());
        }
        let response = form.render(services, response);
        let response = with_common_headers(services, false, response);
        measured.end(services, &response);
        response
    }

    async fn within_bounds(self, services: &Arc<Services>, request: Request) -> Response {
        if let Some(rejection) = refusals::rejection_of_head(&request) {
            return rejection;
        }
        let class = RequestClass::Application;
        if !services.admission.admits(class) {
            return admission::overload_response(request.uri());
        }
        let admitted = Arc::new(services.admission.enter(class));
        let request = match self {
            Self::UserInfo => {
                admitted.begin();
                request
            }
            Self::Token | Self::Introspection => ObservedBody::of(request, &admitted),
        };
        let handled = AssertUnwindSafe(self.handle(services, request)).catch_unwind();
        match tokio::time::timeout(LONGEST, handled).await {
            Ok(Ok(response)) => response,
            Ok(Err(panic)) => DefaultResponseForPanic::default()
                .response_for_panic(panic)
                .map(Body::new),
            Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        }
    }

    async fn handle(self, services: &Arc<Services>, request: Request) -> Response {
        if self == Self::UserInfo {
            let (mut parts, _) = request.into_parts();
            let certificate = ClientCertificate::from_request_parts(&mut parts, services).await;
            let services = State(Arc::clone(services));
            return match certificate {
                Ok(certificate) => {
                    endpoints::me(services, certificate, parts.headers, Bytes::new()).await
                }
                Err(rejection) => rejection.into_response(),
            };
        }
        if let Some(rejection) = rate_limits::rejection_of_call(services, &request) {
            return rejection;
        }
        let called = match AuthenticatedForm::from_request(request, services).await {
            Ok(called) => called,
            Err(rejection) => return rejection,
        };
        let services = State(Arc::clone(services));
        match self {
            Self::Introspection => client_calls::introspect(services, called).await,
            Self::Token | Self::UserInfo => client_calls::token(services, called).await,
        }
    }
}
