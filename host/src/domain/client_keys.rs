//! The keys that applications sign with, those fetched from them as well.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use url::Url;

use super::Host;
use super::recent::Recent;
use crate::clock::Timestamp;
use crate::keys::client::{self, BadJwt};
use crate::model::client_auth::ClientKeys;

/// The largest key set that is read, in bytes.
const LARGEST: usize = 64 * 1024;
/// How long a fetched set is good.
const GOOD_FOR: Duration = Duration::from_secs(5 * 60);
/// How long until a set that has no fitting key is fetched again: an application may have changed its keys, but a
/// stranger's bad signatures shall not make this host call it all the time.
const AGAIN_AFTER: Duration = Duration::from_secs(10);
/// How many applications' sets are remembered at least.
const SETS: usize = 1000;

/// A public JSON Web Key Set.
type Keys = Arc<Vec<Map<String, Value>>>;

/// The key sets that were fetched lately.
#[derive(Debug)]
pub struct FetchedKeys(Mutex<Recent<Url, (Keys, Timestamp)>>);

impl Default for FetchedKeys {
    fn default() -> Self {
        Self(Mutex::new(Recent::new(SETS)))
    }
}

impl FetchedKeys {
    fn known(&self, uri: &Url) -> Option<(Keys, Timestamp)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(uri)
    }

    fn keep(&self, uri: &Url, keys: Keys, now: Timestamp) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).put(uri.clone(), (keys, now));
    }
}

/// The claims of a JWT that the application signed.
pub async fn verify(host: &Host, keys: &ClientKeys, token: &str) -> Result<Map<String, Value>, BadJwt> {
    let uri = match keys {
        ClientKeys::Jwks(keys) => return client::verify(token, keys),
        ClientKeys::JwksUri(uri) => uri,
    };
    let age =
        |since: Timestamp| Duration::from_millis(u64::try_from(host.now().millis() - since.millis()).unwrap_or(0));
    let known = host.fetched_keys.known(uri).filter(|(_, since)| age(*since) < GOOD_FOR);
    if let Some((keys, since)) = known {
        match client::verify(token, &keys) {
            Err(BadJwt::Signature) if age(since) >= AGAIN_AFTER => {}
            decided => return decided,
        }
    }
    let keys = fetch(host, uri).await;
    // A set that could not be fetched counts as one without keys for a while.
    host.fetched_keys.keep(uri, Arc::clone(&keys), host.now());
    client::verify(token, &keys)
}

async fn fetch(host: &Host, uri: &Url) -> Keys {
    let accept = "application/jwk-set+json, application/json";
    let fetched = match host.outgoing.get(uri, accept, LARGEST).await {
        Ok(answer) if answer.status == 200 => {
            let set: Result<Value, _> = serde_json::from_slice(&answer.body);
            set.map_err(|error| error.to_string())
                .and_then(|set| client::usable_keys_of_set(&set).map_err(|error| error.to_string()))
        }
        Ok(answer) => Err(format!("it was answered with the status {}", answer.status)),
        Err(failure) => Err(failure.to_string()),
    };
    match fetched {
        Ok(keys) => Arc::new(keys),
        Err(reason) => {
            tracing::warn!(%uri, reason, "an application's keys could not be fetched");
            Arc::default()
        }
    }
}
