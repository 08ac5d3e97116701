//! The loaded signing keys of this process.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use super::known_key::KnownKey;
use super::receipt::{ReceiptKey, ReceiptKeys};
use super::self_issued::{self, IdTokenError};
use super::signing::IdTokenKey;
use super::verification::VerificationKey;
use super::{KeyError, SealingKeys};
use assent_model::clock::Timestamp;
use assent_model::id::KeyId;
use assent_model::key::{
    KeyMaterial, KeyPurpose, KeyTimes, SigningAlgorithm, SigningKey, SigningPurpose, is_next_due,
};
use serde_json::{Map, Value, json};

/// The shortest time between two queries of the store for unknown keys.
const BETWEEN_LOOKUPS: Duration = Duration::from_secs(1);

/// The keys that sign and verify tokens, and those that sign receipts, as they were last read from the database.
/// Signing and verification use only these.
#[derive(Debug)]
pub struct KeyRing {
    state: RwLock<Arc<RingState>>,
    readings: AtomicU64,
    looked_up: AtomicI64,
}

/// The key set as clients receive it (RFC 7517 section 5), until a key enters another stage.
#[derive(Debug)]
pub struct PublishedKeySet {
    json: String,
    from: Timestamp,
    until: Option<Timestamp>,
}

impl PublishedKeySet {
    /// Returns the JSON text.
    pub fn json(&self) -> &str {
        &self.json
    }

    fn holds_at(&self, now: Timestamp) -> bool {
        self.from <= now && self.until.is_none_or(|until| now < until)
    }
}

/// A read of the database that is in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reading(u64);

#[derive(Debug)]
struct RingState {
    reading: Reading,
    /// Those of the algorithms that have keys.
    lines: Vec<Line>,
    receipts: ReceiptKeys,
    published: RwLock<Option<Arc<PublishedKeySet>>>,
}

/// The keys of one algorithm, in the order of their generations.
#[derive(Debug)]
struct Line {
    algorithm: SigningAlgorithm,
    keys: Vec<RingKey>,
    times: Vec<KeyTimes>,
    /// The keys with a private key.
    signers: Vec<(Timestamp, Arc<IdTokenKey>)>,
    /// The key that signs if the clock was set back to before all of them.
    earliest: Arc<IdTokenKey>,
}

#[derive(Clone, Debug)]
struct RingKey {
    id: KeyId,
    times: KeyTimes,
    private: Option<Arc<IdTokenKey>>,
    public: Arc<VerificationKey>,
}

impl KeyRing {
    /// Opens the ring with these keys. Keys for other purposes than ID tokens and receipts are ignored.
    ///
    /// # Errors
    /// [`KeyError`] if a key cannot be unsealed, or an algorithm that needs a key has none.
    pub fn open(keys: &[SigningKey], sealing: &SealingKeys) -> Result<Self, KeyError> {
        let state = RingState::open(Reading(0), keys, sealing, None)?;
        Ok(Self {
            state: RwLock::new(Arc::new(state)),
            readings: AtomicU64::new(0),
            looked_up: AtomicI64::new(i64::MIN),
        })
    }

    /// Begins a read. Call it before the keys are read, because of two concurrent reads the one that began later
    /// counts.
    pub fn begin_reading(&self) -> Reading {
        Reading(1 + self.readings.fetch_add(1, Ordering::SeqCst))
    }

    /// Replaces the loaded keys with the keys that were read. If one of them cannot be unsealed, or an algorithm would
    /// have no key, the loaded keys remain.
    ///
    /// # Errors
    /// [`KeyError`] if the loaded keys remain for one of these reasons.
    pub fn replace(
        &self,
        reading: Reading,
        keys: &[SigningKey],
        sealing: &SealingKeys,
    ) -> Result<(), KeyError> {
        let fresh = Arc::new(RingState::open(
            reading,
            keys,
            sealing,
            Some(&self.state()),
        )?);
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.reading < reading {
            *state = fresh;
        }
        Ok(())
    }

    /// Returns whether the store may be queried at `now` for an unknown key. This is permitted once a second, so that
    /// forged tokens cause no load on the database.
    pub fn may_look_up(&self, now: Timestamp) -> bool {
        let free = |last: i64| {
            let last = Timestamp::from_millis(last);
            // If the clock was set back, queries remain permitted.
            (now < last || now >= last + BETWEEN_LOOKUPS).then_some(now.millis())
        };
        self.looked_up
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, free)
            .is_ok()
    }

    /// Returns the key that signs at `now`. `None` if the algorithm has no key.
    pub fn signer(&self, algorithm: SigningAlgorithm, now: Timestamp) -> Option<Arc<IdTokenKey>> {
        self.state().line(algorithm).map(|line| line.signer(now))
    }

    /// Returns the key set (RFC 7517 section 5) with the current, the next and the retired signing keys. The signing
    /// key of each algorithm is the first.
    pub fn key_set(&self, now: Timestamp) -> Value {
        key_set_of(self.all_keys(now))
    }

    /// Returns the key set as text. It is the same value until the keys are replaced, or one of them enters another
    /// stage.
    pub fn published_key_set(&self, now: Timestamp) -> Arc<PublishedKeySet> {
        self.state().published_key_set(now)
    }

    /// Returns the claims of an ID token that this server signed, even with a retired key. The token may have expired:
    /// the caller must check `exp`.
    ///
    /// # Errors
    /// [`IdTokenError`] if this server did not sign the token.
    pub fn verify_own(&self, jwt: &str) -> Result<Map<String, Value>, IdTokenError> {
        let state = self.state();
        self_issued::verify(jwt, |key_id| state.live_key(key_id))
    }

    /// Returns whether the algorithm's next key must be published.
    pub fn is_next_due(
        &self,
        algorithm: SigningAlgorithm,
        rotation: Duration,
        ahead: Duration,
        now: Timestamp,
    ) -> bool {
        self.state()
            .line(algorithm)
            .is_some_and(|line| is_next_due(&line.times, rotation, ahead, now))
    }

    /// Returns all keys, by algorithm and in the order of their stages.
    pub fn all_keys(&self, now: Timestamp) -> Vec<KnownKey> {
        self.state().all_keys(now)
    }

    /// Returns the key that signs receipts at `now`.
    ///
    /// # Errors
    /// [`KeyError::NoReceiptKey`] if there is none.
    pub fn receipt_signer(&self, now: Timestamp) -> Result<Arc<ReceiptKey>, KeyError> {
        self.state()
            .receipts
            .signer(now)
            .ok_or(KeyError::NoReceiptKey)
    }

    /// Returns all receipt keys of this issuer with their periods, as verifiers receive them.
    pub fn receipt_key_set(&self, issuer: &str) -> Value {
        self.state().receipts.key_set(issuer)
    }

    /// Returns all receipt keys, in the order of their generations.
    pub fn all_receipt_keys(&self, now: Timestamp) -> Vec<KnownKey> {
        self.state().receipts.all(now)
    }

    /// Returns whether the next receipt key must be published.
    pub fn is_next_receipt_key_due(
        &self,
        rotation: Duration,
        ahead: Duration,
        now: Timestamp,
    ) -> bool {
        self.state().receipts.is_next_due(rotation, ahead, now)
    }

    fn state(&self) -> Arc<RingState> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn key_set_of(known: Vec<KnownKey>) -> Value {
    let keys = known
        .into_iter()
        .filter(|key| key.life.stage.is_in_key_set());
    let keys: Vec<Value> = keys.map(|key| key.public_jwk).collect();
    json!({"keys": keys})
}

impl RingState {
    /// Unseals the keys. Keys that `before` has are reused.
    fn open(
        reading: Reading,
        keys: &[SigningKey],
        sealing: &SealingKeys,
        before: Option<&Self>,
    ) -> Result<Self, KeyError> {
        let receipts = ReceiptKeys::open(keys, sealing, before.map(|held| &held.receipts))?;
        let before: HashMap<KeyId, &RingKey> = before
            .iter()
            .flat_map(|held| held.keys())
            .map(|key| (key.id, key))
            .collect();
        let line = |algorithm| {
            let own = keys
                .iter()
                .filter(|key| key.purpose == KeyPurpose::IdToken(algorithm));
            let opened =
                own.map(|key| RingKey::open(algorithm, key, sealing, before.get(&key.id).copied()));
            let opened: Vec<RingKey> = opened.collect::<Result<_, KeyError>>()?;
            match opened.is_empty() && !algorithm.has_key_at_start() {
                true => Ok(None),
                false => Line::new(algorithm, opened).map(Some),
            }
        };
        let lines: Vec<Option<Line>> = SigningAlgorithm::ALL
            .into_iter()
            .map(line)
            .collect::<Result<_, KeyError>>()?;
        Ok(Self {
            reading,
            lines: lines.into_iter().flatten().collect(),
            receipts,
            published: RwLock::default(),
        })
    }

    fn all_keys(&self, now: Timestamp) -> Vec<KnownKey> {
        self.lines
            .iter()
            .flat_map(|line| line.all_keys(now))
            .collect()
    }

    fn published_key_set(&self, now: Timestamp) -> Arc<PublishedKeySet> {
        let published = self
            .published
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = published.as_ref().filter(|held| held.holds_at(now)) {
            return Arc::clone(held);
        }
        drop(published);
        let known = self.all_keys(now);
        let ends = known.iter().filter_map(|key| key.life.until);
        let until = ends.filter(|until| *until > now).min();
        let json = key_set_of(known).to_string();
        let fresh = Arc::new(PublishedKeySet {
            json,
            from: now,
            until,
        });
        let mut published = self
            .published
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        Arc::clone(published.insert(fresh))
    }

    fn line(&self, algorithm: SigningAlgorithm) -> Option<&Line> {
        self.lines.iter().find(|line| line.algorithm == algorithm)
    }

    fn keys(&self) -> impl Iterator<Item = &RingKey> {
        self.lines.iter().flat_map(|line| &line.keys)
    }

    fn live_key(&self, key_id: &str) -> Option<&VerificationKey> {
        let mut live = self.keys().filter(|key| key.times.revoked_at.is_none());
        live.find(|key| key.public.key_id() == key_id)
            .map(|key| &*key.public)
    }
}

impl Line {
    fn new(algorithm: SigningAlgorithm, mut keys: Vec<RingKey>) -> Result<Self, KeyError> {
        keys.sort_by_key(|key| key.times.generation);
        let live = keys.iter().filter(|key| key.times.revoked_at.is_none());
        let signers: Vec<_> = live
            .filter_map(|key| Some((key.times.signs_from, Arc::clone(key.private.as_ref()?))))
            .collect();
        let (_, earliest) = signers.first().ok_or(KeyError::NoneToSign(algorithm))?;
        let (times, earliest) = (
            keys.iter().map(|key| key.times).collect(),
            Arc::clone(earliest),
        );
        Ok(Self {
            algorithm,
            keys,
            times,
            signers,
            earliest,
        })
    }

    fn signer(&self, now: Timestamp) -> Arc<IdTokenKey> {
        let begun = self.signers.iter().rev().find(|(from, _)| *from <= now);
        Arc::clone(begun.map_or(&self.earliest, |(_, key)| key))
    }

    fn all_keys(&self, now: Timestamp) -> Vec<KnownKey> {
        let known = self.keys.iter().map(|key| KnownKey {
            id: key.id,
            key_id: key.public.key_id().to_owned(),
            purpose: SigningPurpose::IdToken(self.algorithm),
            algorithm: self.algorithm,
            times: key.times,
            life: key.times.life_at(&self.times, now),
            has_private_half: key.private.is_some(),
            public_jwk: key.public.jwk().clone(),
        });
        let mut known: Vec<KnownKey> = known.collect();
        known.sort_by_key(|key| key.life.stage);
        known
    }
}

impl RingKey {
    fn open(
        algorithm: SigningAlgorithm,
        key: &SigningKey,
        sealing: &SealingKeys,
        before: Option<&Self>,
    ) -> Result<Self, KeyError> {
        let (id, times) = (key.id, key.times);
        match (&key.material, before) {
            (KeyMaterial::Sealed(_), Some(before)) if before.private.is_some() => Ok(Self {
                times,
                ..before.clone()
            }),
            (KeyMaterial::Sealed(sealed), _) => {
                let (private, public) = IdTokenKey::open(algorithm, sealed, sealing)?;
                Ok(Self {
                    id,
                    times,
                    private: Some(Arc::new(private)),
                    public: Arc::new(public),
                })
            }
            (KeyMaterial::Public(_), Some(before)) => Ok(Self {
                times,
                private: None,
                ..before.clone()
            }),
            (KeyMaterial::Public(jwk), None) => {
                let public = VerificationKey::from_jwk(algorithm, jwk)?;
                Ok(Self {
                    id,
                    times,
                    private: None,
                    public: Arc::new(public),
                })
            }
        }
    }
}
