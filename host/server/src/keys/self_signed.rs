//! JWTs that contain the key that signed them: proofs of DPoP (RFC 9449 section 4.2).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use josekit::jwt;
use serde_json::{Map, Value};

use super::client::thumbprint;
use super::jws_verifier::{accepted_name, verifier};
use super::key_set::{PRIVATE, normalise_numbers};
use assent_model::token_binding::KeyThumbprint;

/// The algorithms of proofs. Not RS256, which FAPI 2.0 forbids (section 5.4.1); clients make new keys for proofs.
pub const PROOF_ALGORITHMS: [&str; 5] = ["ES256", "PS256", "EdDSA", "ES384", "ES512"];

/// The longest proof, in bytes.
const LONGEST: usize = 8 * 1024;

/// The longest modulus and exponent of an RSA key, in characters of base64url: 4,096 and 32 bits. Any client can send a
/// proof, and a longer key costs milliseconds.
const LONGEST_MODULUS: usize = 683;
const LONGEST_EXPONENT: usize = 6;

/// A JWT whose own key verified its signature.
#[derive(Clone, Debug)]
pub struct SelfSigned {
    /// The algorithm of the signature.
    pub algorithm: &'static str,
    /// The thumbprint of the key.
    pub key: KeyThumbprint,
    /// The claims.
    pub claims: Map<String, Value>,
}

/// The reason why such a JWT is not accepted, for the developer of the client.
pub type Rejection = &'static str;

/// Reads a proof, and verifies its signature with the key in its header.
///
/// # Errors
/// The reason, if it is malformed, of another type, or signed otherwise.
pub fn read_proof(token: &str) -> Result<SelfSigned, Rejection> {
    if token.len() > LONGEST {
        return Err("it is longer than 8,192 bytes");
    }
    let header = header_of(token).ok_or("it is not a signed JWT")?;
    let text = |name: &str| header.get(name).and_then(Value::as_str);
    if text("typ") != Some("dpop+jwt") {
        return Err("its typ must be dpop+jwt");
    }
    let named = text("alg").unwrap_or_default();
    let algorithm = accepted_name(named, &PROOF_ALGORITHMS);
    let algorithm = algorithm.ok_or("its alg must be ES256, PS256, EdDSA, ES384 or ES512")?;
    let key = header.get("jwk").and_then(Value::as_object);
    let mut key = key
        .ok_or("its header must have the public key as jwk")?
        .clone();
    if PRIVATE.iter().any(|member| key.contains_key(*member)) {
        return Err("its jwk must not be a private or symmetric key");
    }
    let kind = key
        .get("kty")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    normalise_numbers(&kind, &mut key).map_err(|_| "its jwk cannot be used here")?;
    let length = |name: &str| key.get(name).and_then(Value::as_str).map_or(0, str::len);
    if length("n") > LONGEST_MODULUS || length("e") > LONGEST_EXPONENT {
        return Err(
            "its RSA key is longer than 4,096 bits, or has an exponent of more than 32 bits",
        );
    }
    let verifier = verifier(named, &key).ok_or("its jwk does not fit its alg")?;
    let (payload, _) = jwt::decode_with_verifier(token, &*verifier)
        .map_err(|_| "its signature does not match its jwk, or its claims are malformed")?;
    let key = thumbprint(&key).ok_or("its jwk is of an unknown kind")?;
    Ok(SelfSigned {
        algorithm,
        key,
        claims: payload.into(),
    })
}

fn header_of(token: &str) -> Option<Map<String, Value>> {
    let parts: Vec<&str> = token.split('.').collect();
    let [header, _, _] = parts.as_slice() else {
        return None;
    };
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).ok()?).ok()
}
