//! The proofs that were used at UserInfo and in the admin API, in the memory of this instance. At these endpoints a
//! proof reveals nothing that its thief could not read with the token and a proof of another instance within 30
//! seconds, so no request writes to the database.

use std::sync::{Mutex, PoisonError};

use assent_model::bounded_cache::BoundedCache;
use assent_model::clock::Timestamp;
use assent_model::saml::MessageClaim;

/// The number of remembered proofs. A proof has 32 bytes, and is valid for a minute.
const REMEMBERED: usize = 200_000;

/// The used proofs.
pub struct UsedProofs(Mutex<BoundedCache<[u8; 32], Timestamp>>);

impl Default for UsedProofs {
    fn default() -> Self {
        Self(Mutex::new(BoundedCache::new(REMEMBERED)))
    }
}

impl UsedProofs {
    /// Uses a proof. Returns `false` if it was used before.
    pub fn use_once(&self, claim: &MessageClaim, now: Timestamp) -> bool {
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = *claim.digest.as_bytes();
        if used.get(&key).is_some_and(|until| until > now) {
            return false;
        }
        used.insert(key, claim.until);
        true
    }
}
