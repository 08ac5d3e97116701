//! Prebuilt responses: the discovery document, the key set and the liveness check. They are served in front of the
//! router, because they are the same for every client until their content changes.
//!
//! The router builds each of them once for each content coding, with all its headers. A request that is not a plain GET
//! or HEAD of one of these paths, such as one with a query or a condition, goes to the router. The router returns the
//! same response.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::header::{ACCEPT_ENCODING, ACCESS_CONTROL_ALLOW_ORIGIN, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::Response;
use tower::ServiceExt;
use tracing::Instrument;
use tracing::field::Empty;

use super::compression::{Coding, DOCUMENT_CODINGS};
use super::layers::only_calls;
use super::refusals;
use super::request_id::{self, RequestId, RequestIds, X_REQUEST_ID};
use super::router::{metrics_router, routes};
use super::served_metadata::ServedMetadata;
use super::short_way::Call;
use super::traced_request::{self, RequestTracing};
use crate::domain::Services;
use crate::domain::operations::traffic::request_metrics::EndpointGroup;
use crate::http::oidc::cors::Origins;
use crate::keys::PublishedKeySet;
use crate::oidc::discovery;
use assent_model::authorization_details::name::TypeName;

/// The largest prebuilt body, in bytes.
const LARGEST: usize = 256 * 1024;

/// The content of a listener: the prebuilt responses, and the router for all other requests.
#[derive(Clone)]
pub struct Front {
    router: Router,
    prebuilt: Option<Arc<Prebuilt>>,
    metadata: Option<Arc<ServedMetadata>>,
    /// The services, if calls of applications take the short way.
    calls: Option<Arc<Services>>,
    request_ids: Arc<RequestIds>,
    tracing: RequestTracing,
}

impl Front {
    /// The content of the main listener: everything that the server serves.
    pub fn new(services: Arc<Services>) -> Self {
        let origins = Origins::new(&services);
        let router = routes(&services, &origins);
        let request_ids = Arc::new(RequestIds::new(&services));
        let tracing = RequestTracing::new(&services);
        let metadata = ServedMetadata::new(Arc::clone(&services));
        let calls = Some(Arc::clone(&services));
        let prebuilt = Prebuilt {
            services,
            origins,
            router: router.clone(),
            slots: [const { [const { RwLock::new(None) }; Coding::ALL.len()] };
                Document::ALL.len()],
        };
        Self {
            router,
            prebuilt: Some(Arc::new(prebuilt)),
            metadata: Some(Arc::new(metadata)),
            calls,
            request_ids,
            tracing,
        }
    }

    /// The content of the listener for client certificates.
    pub fn for_client_certificates(&self) -> Self {
        Self {
            router: only_calls(self.router.clone()),
            prebuilt: None,
            metadata: None,
            calls: None,
            request_ids: Arc::clone(&self.request_ids),
            tracing: self.tracing.clone(),
        }
    }

    /// The content of the listener for metrics.
    pub fn for_metrics(&self, services: &Arc<Services>) -> Self {
        Self {
            router: metrics_router(services),
            prebuilt: None,
            metadata: None,
            calls: None,
            request_ids: Arc::clone(&self.request_ids),
            tracing: RequestTracing::default(),
        }
    }

    /// Responds to a request. The response and the log lines of the request have its id.
    pub(super) async fn respond(self, request: Request) -> Response {
        let id = self.request_ids.id_of(&request);
        let responding = self.respond_within(request, &id);
        let mut response = request_id::within(id.clone(), responding).await;
        response.headers_mut().insert(X_REQUEST_ID, id.into_value());
        response
    }

    async fn respond_within(self, request: Request, id: &RequestId) -> Response {
        if let Some(prebuilt) = &self.prebuilt
            && let Some(question) = Question::of(&request)
            && let Some(response) = prebuilt.respond(question).await
        {
            return response;
        }
        if let Some(services) = &self.calls
            && let Some(call) = Call::of(services, &request)
        {
            let line_span = tracing::info_span!("request", id = id.as_str(), trace_id = Empty);
            // Boxed, because each connection would reserve space for it.
            let responding = Box::pin(call.respond(services, request));
            return responding.instrument(line_span).await;
        }
        let Some((served, asked)) = self.metadata.and_then(|served| {
            let asked = served.request(&request)?;
            Some((served, asked))
        }) else {
            return routed(self.router, &self.tracing, request, id).await;
        };
        if let Some(response) = served.response(&asked) {
            return response;
        }
        let response = routed(self.router, &self.tracing, request, id).await;
        served.keep(asked, response).await
    }
}

/// Returns the response of the router.
async fn routed(
    router: Router,
    request_tracing: &RequestTracing,
    request: Request,
    id: &RequestId,
) -> Response {
    let line_span = tracing::info_span!("request", id = id.as_str(), trace_id = Empty);
    let traced = request_tracing.begin(&request, id, &line_span);
    let response = router.oneshot(request).instrument(traced.clone());
    match response.instrument(line_span).await {
        Ok(response) => {
            traced_request::end(&traced, &response);
            response
        }
        Err(never) => match never {},
    }
}

#[cfg(test)]
impl From<Router> for Front {
    /// A router without prebuilt responses.
    fn from(router: Router) -> Self {
        Self {
            router,
            prebuilt: None,
            metadata: None,
            calls: None,
            request_ids: Arc::default(),
            tracing: RequestTracing::default(),
        }
    }
}

/// A request for a prebuilt response.
struct Question {
    document: Document,
    coding: Coding,
    is_head: bool,
    origin: Option<HeaderValue>,
}

impl Question {
    /// Parses a request. Returns `None` if the router must respond.
    fn of(request: &Request) -> Option<Self> {
        let document = Document::parse(request.uri().path())?;
        refusals::is_plain_request(request).then(|| Self {
            document,
            coding: document.coding_for(request.headers()),
            is_head: request.method() == Method::HEAD,
            origin: request.headers().get(ORIGIN).cloned(),
        })
    }
}

/// A document, with its path.
#[derive(Clone, Copy, strum::IntoStaticStr, strum::VariantArray)]
enum Document {
    #[strum(serialize = "/oidc/.well-known/openid-configuration")]
    Discovery,
    #[strum(serialize = "/.well-known/oauth-authorization-server/oidc")]
    AuthorizationServer,
    #[strum(serialize = "/oidc/jwks")]
    KeySet,
    #[strum(serialize = "/healthz")]
    Liveness,
}
assent_model::enum_texts!(Document);

impl Document {
    /// The coding of the response to a request with these headers.
    fn coding_for(self, headers: &HeaderMap) -> Coding {
        match self {
            Self::Liveness => Coding::Identity,
            _ => Coding::preferred(headers, &DOCUMENT_CODINGS),
        }
    }

    /// Whether pages of other origins may read the document.
    const fn is_shared(self) -> bool {
        !matches!(self, Self::Liveness)
    }
}

/// The state on which a response depends.
#[derive(Clone)]
struct Version {
    /// Whether the instance is draining. The response then closes its connection.
    is_draining: bool,
    content: Content,
}

#[derive(Clone)]
enum Content {
    /// The discovery document of an instance with or without a delegated channel, and with these types of
    /// authorization details.
    Discovery {
        is_delegated: bool,
        details_types: Arc<Vec<TypeName>>,
    },
    KeySet(Arc<PublishedKeySet>),
    Fixed,
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        let same_content = match (&self.content, &other.content) {
            (
                Content::Discovery {
                    is_delegated,
                    details_types,
                },
                Content::Discovery {
                    is_delegated: other,
                    details_types: other_types,
                },
            ) => is_delegated == other && details_types == other_types,
            // A reload of unchanged keys creates an equal key set.
            (Content::KeySet(key_set), Content::KeySet(other)) => {
                Arc::ptr_eq(key_set, other) || key_set.json() == other.json()
            }
            (Content::Fixed, Content::Fixed) => true,
            _ => false,
        };
        self.is_draining == other.is_draining && same_content
    }
}

struct PrebuiltResponse {
    version: Version,
    headers: HeaderMap,
    body: Bytes,
}

/// The response of a document in a coding.
type Slot = RwLock<Option<Arc<PrebuiltResponse>>>;

struct Prebuilt {
    services: Arc<Services>,
    origins: Arc<Origins>,
    router: Router,
    slots: [[Slot; Coding::ALL.len()]; Document::ALL.len()],
}

impl Prebuilt {
    /// Returns the response, or `None` if the router failed to build it.
    async fn respond(&self, question: Question) -> Option<Response> {
        let Question {
            document,
            coding,
            is_head,
            origin,
        } = question;
        let begun = Instant::now();
        let version = self.version(document);
        let cached = match self.cached_response(document, coding, &version) {
            Some(cached) => {
                if document.is_shared() {
                    let requests = &self.services.metrics.requests;
                    requests.count(EndpointGroup::Discovery, 200, Some(begun.elapsed()));
                }
                cached
            }
            // The router counts the response.
            None => self.build(document, coding, version).await?,
        };
        let mut response = Response::new(if is_head {
            Body::empty()
        } else {
            Body::from(cached.body.clone())
        });
        response.headers_mut().clone_from(&cached.headers);
        if let Some(origin) = origin.filter(|_| document.is_shared())
            && self.origins.has(&origin).await
        {
            response
                .headers_mut()
                .insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        }
        Some(response)
    }

    fn version(&self, document: Document) -> Version {
        let services = &self.services;
        let content = match document {
            Document::Discovery | Document::AuthorizationServer => Content::Discovery {
                is_delegated: discovery::has_delegated_channel(services),
                details_types: services.details_types.current(),
            },
            Document::KeySet => {
                Content::KeySet(services.key_ring.published_key_set(services.now()))
            }
            Document::Liveness => Content::Fixed,
        };
        Version {
            is_draining: services.draining.is_begun(),
            content,
        }
    }

    fn slot(&self, document: Document, coding: Coding) -> Option<&Slot> {
        self.slots.get(document as usize)?.get(coding as usize)
    }

    fn cached_response(
        &self,
        document: Document,
        coding: Coding,
        version: &Version,
    ) -> Option<Arc<PrebuiltResponse>> {
        let slot = self.slot(document, coding)?;
        let cached = slot.read().unwrap_or_else(PoisonError::into_inner);
        cached
            .as_ref()
            .filter(|response| response.version == *version)
            .map(Arc::clone)
    }

    /// Builds the response by the router.
    async fn build(
        &self,
        document: Document,
        coding: Coding,
        version: Version,
    ) -> Option<Arc<PrebuiltResponse>> {
        let plain = Request::get(document.as_str())
            .header(ACCEPT_ENCODING, coding.as_str())
            .body(Body::empty())
            .ok()?;
        let Ok(response) = self.router.clone().oneshot(plain).await;
        let (head, body) = response.into_parts();
        if head.status != StatusCode::OK {
            return None;
        }
        let body = to_bytes(body, LARGEST).await.ok()?;
        let built = Arc::new(PrebuiltResponse {
            version,
            headers: head.headers,
            body,
        });
        // The router may have used content that is newer than the version that was read before.
        if self.version(document) == built.version
            && let Some(slot) = self.slot(document, coding)
        {
            let mut slot = slot.write().unwrap_or_else(PoisonError::into_inner);
            *slot = Some(Arc::clone(&built));
        }
        Some(built)
    }
}
