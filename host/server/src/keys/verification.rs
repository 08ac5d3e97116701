//! The public keys that verify tokens.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openssl::bn::BigNum;
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Public};
use openssl::rsa::{Padding, Rsa};
use openssl::sign::{RsaPssSaltlen, Verifier};
use serde_json::{Value, json};

use super::KeyError;
use assent_model::key::SigningAlgorithm;

/// A public key, for one algorithm.
#[derive(Clone, Debug)]
pub(super) struct VerificationKey {
    algorithm: SigningAlgorithm,
    key: PKey<Public>,
    key_id: String,
    jwk: Value,
}

impl VerificationKey {
    pub(super) fn new(
        algorithm: SigningAlgorithm,
        modulus: BigNum,
        exponent: BigNum,
    ) -> Result<Self, KeyError> {
        let n = URL_SAFE_NO_PAD.encode(modulus.to_vec());
        let e = URL_SAFE_NO_PAD.encode(exponent.to_vec());
        // The key is named by its JWK thumbprint (RFC 7638).
        let canonical = format!(r#"{{"e":"{e}","kty":"RSA","n":"{n}"}}"#);
        let key_id = URL_SAFE_NO_PAD.encode(openssl::sha::sha256(canonical.as_bytes()));
        let jwk = json!({"kty": "RSA", "use": "sig", "alg": algorithm.as_str(), "kid": key_id, "n": n, "e": e});
        let key = PKey::from_rsa(Rsa::from_public_components(modulus, exponent)?)?;
        Ok(Self {
            algorithm,
            key,
            key_id,
            jwk,
        })
    }

    /// Returns the key of a JSON Web Key (RFC 7517) that [`Self::jwk`] returned.
    pub(super) fn from_jwk(algorithm: SigningAlgorithm, jwk: &Value) -> Result<Self, KeyError> {
        let number = |member: &str| {
            let bytes = jwk
                .get(member)
                .and_then(Value::as_str)
                .and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
            let bytes = bytes
                .ok_or_else(|| KeyError::Form(format!("{member} is not a number in base64url")))?;
            Ok::<_, KeyError>(BigNum::from_slice(&bytes)?)
        };
        Self::new(algorithm, number("n")?, number("e")?)
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

    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> Result<bool, ErrorStack> {
        let mut verifier = Verifier::new(MessageDigest::sha256(), &self.key)?;
        if self.algorithm == SigningAlgorithm::Ps256 {
            verifier.set_rsa_padding(Padding::PKCS1_PSS)?;
            verifier.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH)?;
        }
        verifier.verify_oneshot(signature, message)
    }
}
