//! The keys of clients for DPoP proofs (RFC 9449).

use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::EcCurve;
use josekit::jws::{ES256, JwsSigner};
use serde_json::{Map, Value, json};

use super::TestHost;
use assent_model::clock::Clock;

/// A key of a client, with which it proves that a token is its own.
#[derive(Clone, Debug)]
pub struct ProofKey(Jwk);

impl ProofKey {
    /// Creates a key.
    pub fn generate() -> Self {
        Self(Jwk::generate_ec_key(EcCurve::P256).expect("a key"))
    }

    /// The public key.
    pub fn public(&self) -> Value {
        let member = |name| self.0.parameter(name).cloned().unwrap_or_default();
        json!({"kty": "EC", "crv": "P-256", "x": member("x"), "y": member("y")})
    }

    /// The private key.
    pub fn private(&self) -> Value {
        Value::Object(self.0.as_ref().clone())
    }

    /// The thumbprint (RFC 7638).
    pub fn thumbprint(&self) -> String {
        let public = self.public();
        let member = |name: &str| public[name].as_str().unwrap_or_default().to_owned();
        let text = format!(
            r#"{{"crv":"P-256","kty":"EC","x":"{}","y":"{}"}}"#,
            member("x"),
            member("y")
        );
        URL_SAFE_NO_PAD.encode(openssl::sha::sha256(text.as_bytes()))
    }

    /// Returns a proof of a request to this address with these changes to its claims; null removes one.
    pub fn proof(&self, host: &TestHost, method: &str, address: &str, changes: Value) -> String {
        let header = json!({"typ": "dpop+jwt", "alg": "ES256", "jwk": self.public()});
        self.proof_with(&header, claims(host, method, address, changes))
    }

    /// Returns a proof of a request with an access token.
    pub fn proof_with_token(
        &self,
        host: &TestHost,
        method: &str,
        address: &str,
        token: &str,
    ) -> String {
        self.proof(host, method, address, json!({"ath": digest(token)}))
    }

    /// Signs a JWT with this header and these claims.
    pub fn proof_with(&self, header: &Value, claims: Map<String, Value>) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", part(header), part(&Value::Object(claims)));
        let signer = ES256.signer_from_jwk(&self.0).expect("a signer");
        let signature = signer.sign(message.as_bytes()).expect("signed");
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// Returns the claims of a proof with these changes; null removes one.
pub fn claims(host: &TestHost, method: &str, address: &str, changes: Value) -> Map<String, Value> {
    let mut claims = json!({
        "jti": next_id(),
        "htm": method,
        "htu": address,
        "iat": host.clock.now().seconds(),
    });
    for (name, value) in changes.as_object().into_iter().flatten() {
        claims[name] = value.clone();
    }
    let mut claims = claims.as_object().cloned().unwrap_or_default();
    claims.retain(|_, value| !value.is_null());
    claims
}

/// Returns a `jti` that no other proof has.
fn next_id() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("proof-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The digest of an access token (`ath`).
pub fn digest(token: &str) -> String {
    URL_SAFE_NO_PAD.encode(openssl::sha::sha256(token.as_bytes()))
}
