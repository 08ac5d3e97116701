//! The DPoP proofs that were used at UserInfo, in the memory of this instance. A proof is valid for a minute, or for
//! seven with nonces. Who steals one with its token can repeat the read at another instance for that time: otherwise
//! each read would cost a write to the database.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use assent_model::clock::Timestamp;
use assent_model::saml::MessageClaim;
use assent_store::ReplayCheck;

/// The most remembered proofs, of 40 bytes each.
const MOST: usize = 400_000;

/// The used proofs, by their digests, until they expire.
#[derive(Default)]
pub struct UsedProofs(Mutex<HashMap<[u8; 32], Timestamp>>);

impl UsedProofs {
    /// Uses a proof. Returns `None` if this instance remembers so many valid proofs that it could remember no other.
    pub fn use_once(&self, claim: &MessageClaim, now: Timestamp) -> Option<ReplayCheck> {
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = *claim.digest.as_bytes();
        if used.get(&key).is_some_and(|until| *until > now) {
            return Some(ReplayCheck::Replayed);
        }
        // The expired ones are removed whenever the map would grow, so that this takes constant time on average.
        if used.len() == used.capacity() || used.len() >= MOST {
            used.retain(|_, until| *until > now);
        }
        if used.len() >= MOST {
            return None;
        }
        used.insert(key, claim.until);
        Some(ReplayCheck::FirstUse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assent_model::secret::Digest;

    fn claim(number: usize, until: i64) -> MessageClaim {
        MessageClaim {
            digest: Digest::sha256(&number.to_be_bytes()),
            until: Timestamp::from_seconds(until),
            answer: None,
        }
    }

    #[test]
    fn no_valid_proof_is_forgotten() {
        let (used, now) = (UsedProofs::default(), Timestamp::from_seconds(0));
        for number in 0..MOST {
            let first = used.use_once(&claim(number, 60), now);
            assert_eq!(first, Some(ReplayCheck::FirstUse));
        }
        assert_eq!(used.use_once(&claim(MOST, 60), now), None, "it is full");
        let again = used.use_once(&claim(0, 60), now);
        assert_eq!(again, Some(ReplayCheck::Replayed));
        let later = Timestamp::from_seconds(60);
        let first = used.use_once(&claim(MOST, 120), later);
        assert_eq!(first, Some(ReplayCheck::FirstUse));
        assert_eq!(
            used.0.lock().expect("the map").len(),
            1,
            "the others expired"
        );
    }
}
