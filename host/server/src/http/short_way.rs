//! The short way of the most frequent requests: sign-ons of both protocols, requests for tokens, introspections and
//! UserInfo pass the same checks as in the [layers](super::layers), in the same order, but as one function in front of
//! the router. Each layer costs an allocated future and a copy of the request.
//!
//! A request that is unusual in any way goes to the router, which gives the same response.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{
    FromRequest, FromRequestParts, OptionalFromRequestParts, Path, RawQuery, Request, State,
};
use axum::http::StatusCode;
use axum::http::header::ORIGIN;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use tower_http::catch_panic::{DefaultResponseForPanic, ResponseForPanic};

use super::admission::{self, ObservedBody};
use super::context::Browser;
use super::fetch_metadata;
use super::layers::LARGEST_CALL;
use super::oidc::client_calls::{self, AuthenticatedForm};
use super::oidc::client_certificate::ClientCertificate;
use super::oidc::{cors, endpoints};
use super::operations::measured_request::MeasuredRequest;
use super::operations::rate_limits;
use super::page_routes::{PageRequest, Visitor};
use super::refusals::{self, RefusalForm};
use super::router::LONGEST;
use super::router::responses::with_common_headers;
use super::saml::sign_on;
use crate::domain::Services;
use crate::domain::operations::traffic::admission::RequestClass;

/// The paths of sign-ons at service providers, without the application.
const SIGN_ON: &str = "/sso/SingleSignOnService/";

/// A request that takes the short way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Token,
    Introspection,
    UserInfo,
    Authorization,
    SignOn,
}

impl Call {
    /// Returns `None` if the router must respond.
    pub(super) fn of(services: &Services, request: &Request) -> Option<Self> {
        let call = match (request.method().as_str(), request.uri().path()) {
            ("POST", "/oidc/token") => Self::Token,
            ("POST", "/oidc/token/introspection") => Self::Introspection,
            ("GET", "/oidc/me") => Self::UserInfo,
            ("GET", "/oidc/auth") => Self::Authorization,
            ("GET", path) if names_provider(path) => Self::SignOn,
            _ => return None,
        };
        call.is_usual(request)
            // A span names the route, which only the router knows.
            .then_some(call)
            .filter(|_| !services.span_sampler.is_on())
    }

    /// Whether a browser's user requests the page.
    const fn is_page(self) -> bool {
        matches!(self, Self::Authorization | Self::SignOn)
    }

    /// Whether the body is small, and no page of a browser sent a call of an application.
    fn is_usual(self, request: &Request) -> bool {
        let headers = request.headers();
        let largest = match self {
            Self::UserInfo | Self::Authorization | Self::SignOn => 0,
            Self::Token | Self::Introspection => LARGEST_CALL as u64,
        };
        let size = request.body().size_hint().exact();
        let is_small = size.is_some_and(|size| size <= largest);
        let is_own = || {
            request.uri().query().is_none()
                && !headers.contains_key(ORIGIN)
                && !fetch_metadata::is_cross_site(headers)
        };
        is_small && (self.is_page() || is_own())
    }

    /// Responds to the request.
    pub(super) async fn respond(self, services: &Arc<Services>, request: Request) -> Response {
        let measured = MeasuredRequest::begin(request.uri());
        let form = RefusalForm::of(services, &request);
        let mut response = self.within_bounds(services, request).await;
        // Pages of single-page applications may read these responses.
        if matches!(self, Self::Token | Self::UserInfo) {
            cors::mark(response.headers_mut());
        }
        let response = form.render(services, response);
        let response = with_common_headers(services, false, response);
        measured.end(services, &response);
        response
    }

    async fn within_bounds(self, services: &Arc<Services>, mut request: Request) -> Response {
        if let Some(rejection) = refusals::rejection_of_head(&request) {
            return rejection;
        }
        let class = match self.is_page() {
            true => RequestClass::User,
            false => RequestClass::Application,
        };
        if !services.admission.admits(class) {
            return admission::overload_response(request.uri());
        }
        let admitted = Arc::new(services.admission.enter(class));
        // A token request may wait for a decision.
        request.extensions_mut().insert(Arc::clone(&admitted));
        let request = match self {
            Self::UserInfo | Self::Authorization | Self::SignOn => {
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
        match self {
            Self::UserInfo => user_info(services, request).await,
            Self::Authorization | Self::SignOn => match browser_page(services, self, request).await
            {
                Ok(response) => response,
                Err(never) => match never {},
            },
            Self::Token | Self::Introspection => {
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
                    _ => client_calls::token(services, called).await,
                }
            }
        }
    }
}

/// Whether this is the path of a sign-on at a service provider, in its plain form.
fn names_provider(path: &str) -> bool {
    let application = path.strip_prefix(SIGN_ON);
    application.is_some_and(|id| !id.is_empty() && !id.contains(['/', '%']))
}

async fn user_info(services: &Arc<Services>, request: Request) -> Response {
    let (mut parts, _) = request.into_parts();
    let certificate = ClientCertificate::from_request_parts(&mut parts, services).await;
    let services = State(Arc::clone(services));
    match certificate {
        Ok(certificate) => {
            endpoints::me(
                services,
                certificate,
                parts.method,
                parts.headers,
                Bytes::new(),
            )
            .await
        }
        Err(rejection) => rejection.into_response(),
    }
}

async fn browser_page(
    services: &Arc<Services>,
    call: Call,
    request: Request,
) -> Result<Response, Infallible> {
    if let Some(rejection) = rate_limits::rejection_of_sign_in(services, &request) {
        return Ok(rejection);
    }
    let (mut parts, _) = request.into_parts();
    let query = RawQuery(parts.uri.query().map(str::to_owned));
    if call == Call::Authorization {
        let browser = Browser::from_request_parts(&mut parts, services).await?;
        return Ok(endpoints::auth(State(Arc::clone(services)), query, browser).await);
    }
    let visitor = Visitor::from_request_parts(&mut parts, services).await?;
    let form = visitor.reply_form();
    let application = parts.uri.path().strip_prefix(SIGN_ON).unwrap_or_default();
    let reply = sign_on::sign_on(visitor, Path(application.to_owned()), query).await;
    Ok(form.response(reply))
}
