//! The keys that sign receipts. A key signs nothing else, and its public key is never deleted, because a receipt must
//! remain verifiable.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use josekit::jws::alg::ecdsa::EcdsaJwsSigner;
use josekit::jws::{ES256, JwsSigner};
use openssl::pkey::PKey;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::generation::open;
use super::known_key::KnownKey;
use super::signing::SigningError;
use super::verification::VerificationKey;
use super::{KeyError, SealingKeys};
use assent_model::clock::Timestamp;
use assent_model::id::KeyId;
use assent_model::key::{
    KeyMaterial, KeyPurpose, KeyTimes, SigningAlgorithm, SigningKey, SigningPurpose, is_next_due,
};
use assent_model::receipt::content::{NewReceipt, ReceiptContent, receipt_header};

/// A private key that signs receipts.
#[derive(Clone, Debug)]
pub struct ReceiptKey {
    signer: EcdsaJwsSigner,
    header: String,
}

impl ReceiptKey {
    fn open(sealed: &str, sealing: &SealingKeys) -> Result<(Self, VerificationKey), KeyError> {
        let key = open(KeyPurpose::Receipt, sealed, sealing)?;
        let public = PKey::public_key_from_der(&key.public_key_to_der()?)?;
        let public = VerificationKey::new(SigningAlgorithm::Es256, &public)?;
        let der = Zeroizing::new(key.private_key_to_pkcs8()?);
        let signer = ES256
            .signer_from_der(&*der)
            .map_err(|error| KeyError::Form(error.to_string()))?;
        let header = receipt_header(public.key_id());
        Ok((Self { signer, header }, public))
    }

    /// Returns the `kid` of a sealed key.
    ///
    /// # Errors
    /// If no sealing key opens it.
    pub fn sealed_key_id(sealed: &str, sealing: &SealingKeys) -> Result<String, KeyError> {
        let (_, public) = Self::open(sealed, sealing)?;
        Ok(public.key_id().to_owned())
    }

    /// Signs a receipt: a JWS in the compact form (RFC 7515 section 7.1).
    ///
    /// # Errors
    /// [`SigningError`] if the content cannot be written, or the cryptographic library fails.
    pub fn sign(&self, content: &ReceiptContent) -> Result<NewReceipt, SigningError> {
        let payload = content.to_json()?;
        let mut text = self.header.clone();
        text.push('.');
        URL_SAFE_NO_PAD.encode_string(payload, &mut text);
        let signature = self.signer.sign(text.as_bytes())?;
        text.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut text);
        Ok(NewReceipt {
            request: content.request.id,
            text,
        })
    }
}

/// A loaded key.
#[derive(Clone, Debug)]
pub(super) struct LoadedReceiptKey {
    id: KeyId,
    times: KeyTimes,
    private: Option<Arc<ReceiptKey>>,
    public: Arc<VerificationKey>,
}

/// The loaded receipt keys, in the order of their generations.
#[derive(Clone, Debug, Default)]
pub(super) struct ReceiptKeys(Vec<LoadedReceiptKey>);

impl ReceiptKeys {
    /// Unseals the receipt keys among these keys. Keys that `before` has are reused.
    pub(super) fn open(
        keys: &[SigningKey],
        sealing: &SealingKeys,
        before: Option<&Self>,
    ) -> Result<Self, KeyError> {
        let own = keys.iter().filter(|key| key.purpose == KeyPurpose::Receipt);
        let opened = own.map(|key| {
            let before = before.and_then(|held| held.0.iter().find(|held| held.id == key.id));
            LoadedReceiptKey::open(key, sealing, before)
        });
        let mut opened: Vec<LoadedReceiptKey> = opened.collect::<Result<_, KeyError>>()?;
        opened.sort_by_key(|key| key.times.generation);
        Ok(Self(opened))
    }

    fn times(&self) -> Vec<KeyTimes> {
        self.0.iter().map(|key| key.times).collect()
    }

    /// Returns the key that signs at `now`: the latest that has begun. If the clock was set back to before all of them,
    /// the earliest one.
    pub(super) fn signer(&self, now: Timestamp) -> Option<Arc<ReceiptKey>> {
        let private = |key: &LoadedReceiptKey| {
            Some((key.times.signs_from, Arc::clone(key.private.as_ref()?)))
        };
        let mut begun = self.0.iter().rev().filter_map(private);
        begun
            .find(|(from, _)| *from <= now)
            .or_else(|| self.0.iter().find_map(private))
            .map(|(_, key)| key)
    }

    pub(super) fn is_next_due(&self, rotation: Duration, ahead: Duration, now: Timestamp) -> bool {
        is_next_due(&self.times(), rotation, ahead, now)
    }

    pub(super) fn all(&self, now: Timestamp) -> Vec<KnownKey> {
        let times = self.times();
        let known = self.0.iter().map(|key| KnownKey {
            id: key.id,
            key_id: key.public.key_id().to_owned(),
            purpose: SigningPurpose::Receipt,
            algorithm: SigningAlgorithm::Es256,
            times: key.times,
            life: key.times.permanent_life_at(&times, now),
            has_private_half: key.private.is_some(),
            public_jwk: key.public.jwk().clone(),
        });
        known.collect()
    }

    /// Returns all keys with their periods: `nbf` and `exp`, in seconds since the epoch, as in the historical keys of
    /// OpenID Federation 1.0 section 8.7. `exp` is missing as long as no later key is published. A revoked key has
    /// `revoked` with the time.
    pub(super) fn key_set(&self, issuer: &str) -> Value {
        let times = self.times();
        let keys: Vec<Value> = self.0.iter().map(|key| key.entry(&times)).collect();
        json!({"issuer": issuer, "keys": keys})
    }
}

impl LoadedReceiptKey {
    fn open(
        key: &SigningKey,
        sealing: &SealingKeys,
        before: Option<&Self>,
    ) -> Result<Self, KeyError> {
        let (id, times) = (key.id, key.times);
        let (private, public) = match (&key.material, before) {
            (KeyMaterial::Sealed(_), Some(before)) if before.private.is_some() => {
                (before.private.clone(), Arc::clone(&before.public))
            }
            (KeyMaterial::Sealed(sealed), _) => {
                let (private, public) = ReceiptKey::open(sealed, sealing)?;
                (Some(Arc::new(private)), Arc::new(public))
            }
            (KeyMaterial::Public(_), Some(before)) => (None, Arc::clone(&before.public)),
            (KeyMaterial::Public(jwk), None) => {
                let public = VerificationKey::from_jwk(SigningAlgorithm::Es256, jwk)?;
                (None, Arc::new(public))
            }
        };
        Ok(Self {
            id,
            times,
            private,
            public,
        })
    }

    /// Returns the key with its period, which ends when the next one begins to sign. `all` are the times of all keys.
    fn entry(&self, all: &[KeyTimes]) -> Value {
        let mut entry = self.public.jwk().clone();
        if let Some(members) = entry.as_object_mut() {
            let mut add = |name: &str, at: Timestamp| {
                members.insert(name.to_owned(), json!(at.seconds()));
            };
            add("nbf", self.times.signs_from);
            if let Some(replaced_at) = self.times.replaced_at(all) {
                add("exp", replaced_at);
            }
            if let Some(revoked_at) = self.times.revoked_at {
                let revoked = json!({"revoked_at": revoked_at.seconds()});
                members.insert("revoked".to_owned(), revoked);
            }
        }
        entry
    }
}
