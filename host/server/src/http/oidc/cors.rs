//! Cross-origin requests (CORS, <https://fetch.spec.whatwg.org/#http-cors-protocol>): the sites whose pages may read
//! the responses of the endpoints that single-page applications call.
//!
//! These are the origins of the redirect URIs that such applications registered, without cookies. Other sites cannot
//! read any other response of this host.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use axum::http::header::{
    ACCESS_CONTROL_EXPOSE_HEADERS, AUTHORIZATION, CONTENT_TYPE, ORIGIN, RETRY_AFTER, VARY,
    WWW_AUTHENTICATE,
};
use axum::http::{HeaderMap, HeaderValue, Method};
use tokio::sync::Mutex;
use tokio::time::timeout;
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::dpop_header::{NONCE, PROOF};
use crate::domain::Services;
use assent_model::clock::Timestamp;

/// How long browsers may cache the response to a preflight request.
const PREFLIGHT: Duration = Duration::from_secs(600);
/// The maximum time until the server stops accepting a removed origin.
const REMEMBERED: Duration = Duration::from_secs(5);
/// The maximum time until the server accepts a newly registered origin. Invented origins cause at most one query in
/// this time.
const UNKNOWN: Duration = Duration::from_secs(1);
/// The maximum time of the query. Requests from other sites wait for it, also for documents that are served from
/// memory.
const LONGEST_QUERY: Duration = Duration::from_secs(1);
/// The maximum length of an origin, in bytes: a scheme, a name of 253, a port. The server ignores longer ones.
const LONGEST: usize = 300;

/// Lets pages of single-page applications read the responses of the routes below it.
pub(crate) fn layer(origins: Arc<Origins>) -> CorsLayer {
    let allowed =
        AllowOrigin::async_predicate(move |origin, _| async move { origins.has(&origin).await });
    CorsLayer::new()
        .allow_origin(allowed)
        .allow_methods([Method::GET, Method::POST])
        .allow_headers([AUTHORIZATION, CONTENT_TYPE, PROOF])
        .expose_headers([WWW_AUTHENTICATE, RETRY_AFTER, NONCE])
        .max_age(PREFLIGHT)
        .vary([ORIGIN])
}

/// Sets the headers that [`layer`] sets on the response to a request without an origin.
pub(crate) fn mark(headers: &mut HeaderMap) {
    headers.append(VARY, HeaderValue::from_static("origin"));
    headers.insert(
        ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("www-authenticate,retry-after,dpop-nonce"),
    );
}

/// The origins of single-page applications, cached for a few seconds. Requests from unknown origins query the database
/// at most once a second.
pub(crate) struct Origins {
    services: Arc<Services>,
    known: Mutex<KnownOrigins>,
}

#[derive(Default)]
struct KnownOrigins {
    origins: HashSet<String>,
    /// The time of the last query; `None` before the first one.
    requested_at: Option<Timestamp>,
}

impl KnownOrigins {
    /// Whether the last query is older than the duration, or in the future because the clock was set back.
    fn is_older(&self, than: Duration, now: Timestamp) -> bool {
        self.requested_at
            .is_none_or(|requested_at| now < requested_at || now >= requested_at + than)
    }
}

impl Origins {
    /// Creates an empty cache. The first request queries the database.
    pub(crate) fn new(services: &Arc<Services>) -> Arc<Self> {
        Arc::new(Self {
            services: Arc::clone(services),
            known: Mutex::default(),
        })
    }

    /// Whether the headers name the origin of a single-page application.
    pub(crate) async fn has_that_of(&self, headers: &HeaderMap) -> bool {
        match headers.get(ORIGIN) {
            Some(origin) => self.has(origin).await,
            None => false,
        }
    }

    /// Whether the origin is that of a single-page application.
    pub(crate) async fn has(&self, origin: &HeaderValue) -> bool {
        let Some(origin) = origin
            .to_str()
            .ok()
            .filter(|text| text.len() <= LONGEST && text.contains("://"))
        else {
            return false;
        };
        // Requests that arrive during a query wait for its result.
        let mut known = self.known.lock().await;
        let now = self.services.now();
        let patience = if known.origins.contains(origin) {
            REMEMBERED
        } else {
            UNKNOWN
        };
        if known.is_older(patience, now) {
            known.requested_at = Some(now);
            match timeout(LONGEST_QUERY, self.services.store.spa_origins()).await {
                Ok(Ok(origins)) => known.origins = origins,
                Ok(Err(error)) => {
                    tracing::error!(%error, "origins of single-page applications not read");
                }
                Err(_) => tracing::error!("origins of single-page applications not read in time"),
            }
            // The time is set after the query, so that the requests that waited for it do not query again.
            known.requested_at = Some(self.services.now());
        }
        known.origins.contains(origin)
    }
}
