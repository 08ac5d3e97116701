//! The public keys that verify tokens of this server.

use std::sync::Arc;

use josekit::jws::JwsVerifier;
use openssl::pkey::{PKey, Public};
use serde_json::{Map, Value, json};

use super::KeyError;
use super::client::{jwk_of_key, thumbprint};
use super::jws_verifier::verifier;
use assent_model::key::SigningAlgorithm;

/// A public key, for one algorithm.
#[derive(Clone, Debug)]
pub(super) struct VerificationKey {
    algorithm: SigningAlgorithm,
    verifier: Arc<dyn JwsVerifier>,
    key_id: String,
    jwk: Value,
}

impl VerificationKey {
    pub(super) fn new(algorithm: SigningAlgorithm, key: &PKey<Public>) -> Result<Self, KeyError> {
        let members = jwk_of_key(key).map_err(|error| KeyError::Form(error.to_string()))?;
        Self::of_members(algorithm, members)
    }

    /// Returns the key of a JSON Web Key (RFC 7517) that [`Self::jwk`] returned.
    pub(super) fn from_jwk(algorithm: SigningAlgorithm, jwk: &Value) -> Result<Self, KeyError> {
        let members = jwk.as_object().cloned().unwrap_or_default();
        Self::of_members(algorithm, members)
    }

    fn of_members(
        algorithm: SigningAlgorithm,
        mut members: Map<String, Value>,
    ) -> Result<Self, KeyError> {
        let unfit = || KeyError::Form(format!("it is not a key for {algorithm}"));
        // The key is named by its JWK thumbprint (RFC 7638).
        let key_id = thumbprint(&members).ok_or_else(unfit)?.to_base64url();
        for (member, value) in [
            ("use", "sig"),
            ("alg", algorithm.as_str()),
            ("kid", key_id.as_str()),
        ] {
            members.insert(member.to_owned(), json!(value));
        }
        Ok(Self {
            algorithm,
            verifier: verifier(algorithm.as_str(), &members).ok_or_else(unfit)?,
            key_id,
            jwk: Value::Object(members),
        })
    }

    pub(super) const fn algorithm(&self) -> SigningAlgorithm {
        self.algorithm
    }

    pub(super) fn key_id(&self) -> &str {
        &self.key_id
    }

    /// Returns the key as a JSON Web Key (RFC 7517).
    pub(super) const fn jwk(&self) -> &Value {
        &self.jwk
    }

    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        self.verifier.verify(message, signature).is_ok()
    }
}
