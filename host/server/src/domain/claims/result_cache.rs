//! Results of the claim mappers at UserInfo and introspection, for repeated requests with equal inputs.
//!
//! A result is cached under all inputs of a mapper except the time:
//!
//! - the token family (user, account, application, sign-in, requested claims)
//! - the scopes
//! - the versions of the objects that can change
//! - the set of plugins with their settings
//!
//! A mapper sees the time in seconds. A result is therefore reused within its second, or for `result_max_age` if the
//! operator permits that.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};

use assent_model::application::Application;
use assent_model::bounded_cache::BoundedCache;
use assent_model::clock::Timestamp;
use assent_model::id::FamilyId;
use assent_model::scope::Scopes;
use assent_plugin_host::{MapperRun, MapperRunEnd, PluginSet, PluginSetId, Sink};
use assent_store::UserAccount;

/// The number of cached results. The cache holds up to twice as many.
const CAPACITY: usize = 1024;

/// The size of the largest cached result, as JSON in bytes.
const LARGEST: usize = 8 << 10;

/// The cached results of the claim mappers.
pub struct ClaimResults(Mutex<BoundedCache<ResultKey, StoredResult>>);

/// The inputs of the claim mappers, except the plugins and the time.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ResultKey {
    family: FamilyId,
    sink: Sink,
    scopes: Scopes,
    /// The versions, and the times of the last changes of the application and the user. A fail-over may lose a version,
    /// and the next change then uses its number again.
    application: (i64, Timestamp),
    account: i64,
    user: (i64, Timestamp),
}

#[derive(Clone)]
struct StoredResult {
    claims: Arc<Map<String, Value>>,
    plugins: PluginSetId,
    made_at: Timestamp,
}

impl ResultKey {
    /// Returns the inputs for the tokens of a family with these scopes.
    pub fn new(
        family: FamilyId,
        sink: Sink,
        scopes: &Scopes,
        application: &Application,
        holder: &UserAccount,
    ) -> Self {
        Self {
            family,
            sink,
            scopes: scopes.clone(),
            application: (application.version, application.updated_at),
            account: holder.account.version,
            user: (holder.user.version, holder.user.updated_at),
        }
    }
}

impl Default for ClaimResults {
    fn default() -> Self {
        Self(Mutex::new(BoundedCache::new(CAPACITY)))
    }
}

impl std::fmt::Debug for ClaimResults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClaimResults").finish_non_exhaustive()
    }
}

impl ClaimResults {
    /// Returns the cached result that a call of these plugins would have now.
    pub fn get(
        &self,
        plugins: &PluginSet,
        application: &Application,
        key: &ResultKey,
        now: Timestamp,
    ) -> Option<Arc<Map<String, Value>>> {
        let found = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(key)?;
        if found.plugins != plugins.id() {
            return None;
        }
        let made_at = found.made_at;
        let is_fresh = now.seconds() == made_at.seconds()
            || (now >= made_at
                && now.remaining(made_at) < plugins.result_max_age(&application.id, key.sink));
        is_fresh.then_some(found.claims)
    }

    /// Removes all results.
    pub fn clear(&self) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    /// Stores a result, unless it is large or lacks the claims of a plugin that failed.
    pub fn insert(
        &self,
        plugins: &PluginSet,
        key: ResultKey,
        made_at: Timestamp,
        steps: &[MapperRun],
        claims: Arc<Map<String, Value>>,
    ) {
        let is_complete = steps
            .iter()
            .all(|step| matches!(step.end, MapperRunEnd::Changed(_)));
        let is_small = serde_json::to_vec(&*claims).is_ok_and(|json| json.len() <= LARGEST);
        if !is_complete || !is_small {
            return;
        }
        let stored = StoredResult {
            claims,
            plugins: plugins.id(),
            made_at,
        };
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key, stored);
    }
}
