//! The SAML metadata of service providers, kept as the router served it. Service providers and their tools may read it
//! often, and it rarely changes. An answer is at most [`OLDEST`] old; after a change by this instance it is new at
//! once.
//!
//! A request that is not plain goes to the router, as for the [prebuilt responses](super::prebuilt).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::extract::Request;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};

use super::compression::{Coding, DOCUMENT_CODINGS};
use super::fetch_metadata::Cause;
use super::operations::measured_request::MeasuredRequest;
use super::refusals::is_plain_request;
use crate::domain::Services;
use assent_model::bounded_cache::BoundedCache;
use assent_model::clock::Timestamp;

/// The path of the metadata of a service provider, before its id.
const PATH: &str = "/sso/metadata/";
/// The maximum age of an answer.
const OLDEST: Duration = Duration::from_secs(5);
/// The number of kept answers, up to twice as many.
const KEPT: usize = 64;
/// The largest kept answer, in bytes.
const LARGEST: usize = 64 * 1024;

/// The answers that are kept.
pub(super) struct ServedMetadata {
    services: Arc<Services>,
    kept: Mutex<BoundedCache<Place, Arc<KeptResponse>>>,
}

/// The id of a service provider as it is in the path, and the coding of the answer.
type Place = (String, Coding);

/// A request for the metadata of a service provider.
pub(super) struct MetadataRequest {
    place: Place,
    uri: Uri,
    is_head: bool,
    state: MetadataState,
}

/// The state in which an answer is made.
#[derive(Clone, Copy)]
struct MetadataState {
    at: Timestamp,
    /// The number of administrative writes before.
    writes: u64,
    /// Whether the instance is draining. The response then closes its connection.
    is_draining: bool,
}

impl MetadataState {
    /// Whether an answer of this state is valid in a later one.
    fn is_valid_in(self, later: Self) -> bool {
        self.writes == later.writes
            && self.is_draining == later.is_draining
            && (self.at..self.at + OLDEST).contains(&later.at)
    }
}

struct KeptResponse {
    state: MetadataState,
    headers: HeaderMap,
    body: Bytes,
}

impl ServedMetadata {
    pub(super) fn new(services: Arc<Services>) -> Self {
        Self {
            services,
            kept: Mutex::new(BoundedCache::new(KEPT)),
        }
    }

    /// Parses a request. Returns `None` if only the router can respond.
    pub(super) fn request(&self, request: &Request) -> Option<MetadataRequest> {
        let id = request.uri().path().strip_prefix(PATH)?;
        // An escaped id would have several places.
        let is_id = id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b':');
        // The router refuses pages of other sites.
        let is_navigation = Cause::from_request(request) == Cause::Navigation;
        (is_id && is_navigation && is_plain_request(request)).then(|| MetadataRequest {
            place: (
                id.to_owned(),
                Coding::preferred(request.headers(), &DOCUMENT_CODINGS),
            ),
            uri: request.uri().clone(),
            is_head: request.method() == Method::HEAD,
            state: MetadataState {
                at: self.services.now(),
                writes: self.services.store.administrative_writes(),
                is_draining: self.services.draining.is_begun(),
            },
        })
    }

    /// Returns the kept response, if it is still valid.
    pub(super) fn response(&self, request: &MetadataRequest) -> Option<Response> {
        let measured = MeasuredRequest::begin(&request.uri);
        let kept = self.lock().get(&request.place)?;
        if !kept.state.is_valid_in(request.state) {
            return None;
        }
        let mut response = Response::new(match request.is_head {
            true => Body::empty(),
            false => Body::from(kept.body.clone()),
        });
        response.headers_mut().clone_from(&kept.headers);
        measured.end(&self.services, &response);
        Some(response)
    }

    /// Keeps the router's response to the request, if others may receive it too. Returns it.
    pub(super) async fn keep(&self, request: MetadataRequest, response: Response) -> Response {
        let is_document = response.status() == StatusCode::OK
            && !request.is_head
            && !response.headers().contains_key(SET_COOKIE);
        let size = response.body().size_hint().exact();
        if !is_document || size.is_none_or(|size| size > LARGEST as u64) {
            return response;
        }
        let (head, body) = response.into_parts();
        // The body is complete, so it is there at once.
        let Ok(body) = to_bytes(body, LARGEST).await else {
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        };
        let kept = KeptResponse {
            state: request.state,
            headers: head.headers.clone(),
            body: body.clone(),
        };
        self.lock().insert(request.place, Arc::new(kept));
        Response::from_parts(head, Body::from(body))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BoundedCache<Place, Arc<KeptResponse>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
