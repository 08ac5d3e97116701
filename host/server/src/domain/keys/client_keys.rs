//! The keys with which applications sign, including fetched key sets.

use serde_json::{Map, Value};
use url::Url;

use crate::domain::Services;
use crate::keys::client;
use crate::keys::client::JwtError;
use crate::keys::key_set::{MOST_KEYS, ReadKeySet};
use assent_model::client_auth::ClientKeys;
use assent_model::text::bytes_without_mark;

/// The largest accepted key set, in bytes.
const LARGEST: usize = 64 * 1024;

/// Returns the claims of a JWT that the application signed with one of the accepted algorithms.
///
/// # Errors
/// [`JwtError`] if none of the application's keys signed the token, or if they cannot be fetched.
pub async fn verify(
    services: &Services,
    keys: &ClientKeys,
    token: &str,
    accepted: &[&str],
) -> Result<Map<String, Value>, JwtError> {
    let uri = match keys {
        ClientKeys::Jwks(keys) => return client::verify(token, keys, accepted),
        ClientKeys::JwksUri(uri) => uri,
    };
    let set = services.fetched_keys.0.at(uri);
    let decided = set.decided(
        |set| set.decide(token, accepted, services.now()),
        fetch(services, uri),
        |set, fetched| set.note(fetched, services.now()),
    );
    decided.await.unwrap_or(Err(JwtError::NoKeys))
}

async fn fetch(services: &Services, uri: &Url) -> Option<Vec<Map<String, Value>>> {
    let accept = "application/jwk-set+json, application/json";
    let fetched = match services.egress.get(uri, accept, LARGEST).await {
        Ok(answer) if answer.status == 200 => {
            let set: Result<Value, _> = serde_json::from_slice(bytes_without_mark(&answer.body));
            set.map_err(|error| error.to_string())
                .and_then(|set| ReadKeySet::read(&set).map_err(|error| error.to_string()))
        }
        Ok(answer) => Err(format!("it was answered with the status {}", answer.status)),
        Err(failure) => Err(failure.to_string()),
    };
    let set = fetched
        .inspect_err(|reason| tracing::warn!(%uri, reason, "key set of an application not fetched"))
        .ok()?;
    if set.keys.is_empty() {
        let rejected = set.rejected_text();
        tracing::warn!(%uri, rejected, "key set of an application has no usable key");
    }
    if set.surplus > 0 {
        let (used, ignored) = (MOST_KEYS, set.surplus);
        tracing::warn!(%uri, used, ignored, "key set of an application has too many keys");
    }
    Some(set.keys)
}
