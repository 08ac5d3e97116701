//! Cross-origin requests (CORS, <https://fetch.spec.whatwg.org/#http-cors-protocol>): which other sites' pages may read
//! the answers of the endpoints that single-page applications call.
//!
//! Those of the origins that such applications registered redirect URIs of, without cookies. No other answer of this host
//! may be read by another site.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, Method};
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::clock::Timestamp;
use crate::domain::Host;
use crate::domain::recent::Recent;

/// How long browsers may keep the answer of a preflight request.
const PREFLIGHT: Duration = Duration::from_secs(600);
/// How long it may take until a newly registered origin is known, and a removed one forgotten.
const REMEMBERED: Duration = Duration::from_secs(5);
/// How many origins are remembered.
const ORIGINS: usize = 1000;
/// The longest origin that is looked for, in bytes: a scheme, a name of 253, a port.
const LONGEST: usize = 300;

/// Lets pages of single-page applications read the answers of the routes below it.
pub(super) fn layer(host: &Arc<Host>) -> CorsLayer {
    let origins = Arc::new(Origins { host: Arc::clone(host), known: Mutex::new(Recent::new(ORIGINS)) });
    let allowed = AllowOrigin::async_predicate(move |origin, _| async move { origins.has(&origin).await });
    CorsLayer::new()
        .allow_origin(allowed)
        .allow_methods([Method::GET, Method::POST])
        .allow_headers([AUTHORIZATION, CONTENT_TYPE])
        .expose_headers([WWW_AUTHENTICATE, RETRY_AFTER])
        .max_age(PREFLIGHT)
        .vary([ORIGIN])
}

/// The origins of single-page applications, as they were a few seconds ago.
struct Origins {
    host: Arc<Host>,
    known: Mutex<Recent<String, (bool, Timestamp)>>,
}

impl Origins {
    async fn has(&self, origin: &HeaderValue) -> bool {
        let Some(origin) = origin.to_str().ok().filter(|text| text.len() <= LONGEST && text.contains("://")) else {
            return false;
        };
        let now = self.host.now();
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&origin.to_owned());
        if let Some((is_registered, _)) = known.filter(|(_, until)| now < *until) {
            return is_registered;
        }
        match self.host.store.is_spa_origin(origin).await {
            Ok(is_registered) => {
                let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
                known.put(origin.to_owned(), (is_registered, now + REMEMBERED));
                is_registered
            }
            Err(error) => {
                tracing::error!(%error, "an origin could not be looked for");
                false
            }
        }
    }
}
