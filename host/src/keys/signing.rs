//! The key that ID tokens are signed with.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use josekit::jws::alg::rsassa::RsassaJwsSigner;
use josekit::jws::{JwsHeader, RS256};
use josekit::jwt::{self, JwtPayload};
use openssl::pkey::PKey;
use serde_json::{Map, Value, json};

use super::{KeyError, MasterKey, open};
use crate::model::key::KeyPurpose;

/// A token that could not be signed.
#[derive(Debug, thiserror::Error)]
#[error("cannot sign a token: {0}")]
pub struct SigningError(String);

/// The key that ID tokens are signed with: RSA of 2048 bits, RS256.
#[derive(Clone, Debug)]
pub struct IdTokenKey {
    signer: RsassaJwsSigner,
    key_id: String,
    public: Value,
}

impl IdTokenKey {
    /// Opens the sealed key.
    pub fn open(sealed: &str, master: &MasterKey) -> Result<Self, KeyError> {
        let key: PKey<_> = open(KeyPurpose::IdToken, sealed, master)?;
        let rsa = key.rsa()?;
        let n = URL_SAFE_NO_PAD.encode(rsa.n().to_vec());
        let e = URL_SAFE_NO_PAD.encode(rsa.e().to_vec());
        // The JWK thumbprint (RFC 7638) names the key.
        let canonical = format!(r#"{{"e":"{e}","kty":"RSA","n":"{n}"}}"#);
        let key_id = URL_SAFE_NO_PAD.encode(openssl::sha::sha256(canonical.as_bytes()));
        let der = zeroize::Zeroizing::new(key.private_key_to_pkcs8()?);
        let signer = RS256.signer_from_der(&*der).map_err(|error| KeyError::Form(error.to_string()))?;
        let public = json!({"kty": "RSA", "use": "sig", "alg": "RS256", "kid": key_id, "n": n, "e": e});
        Ok(Self { signer, key_id, public })
    }

    /// The public key as a JSON Web Key (RFC 7517).
    pub const fn public_jwk(&self) -> &Value {
        &self.public
    }

    /// Signs claims as a JWT. It takes about a millisecond of a core, so it runs off the async threads.
    pub async fn sign(&self, claims: Map<String, Value>) -> Result<String, SigningError> {
        let (signer, key_id) = (self.signer.clone(), self.key_id.clone());
        let signing = tokio::task::spawn_blocking(move || {
            let mut header = JwsHeader::new();
            header.set_token_type("JWT");
            header.set_key_id(key_id);
            let payload = JwtPayload::from_map(claims)?;
            jwt::encode_with_signer(&payload, &header, &signer)
        });
        let signed = signing.await.map_err(|error| SigningError(error.to_string()))?;
        signed.map_err(|error| SigningError(error.to_string()))
    }
}
