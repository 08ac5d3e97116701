//! ID tokens (OpenID Connect Core 1.0 section 2).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

use crate::domain::claims::of_authentication;
use crate::domain::{Broken, Host};
use crate::keys::TokenType;
use crate::model::application::Application;
use crate::model::session::Authentication;

/// Adds what an ID token says of the sign-in.
pub fn with_sign_in(mut claims: Map<String, Value>, how: &Authentication, sid: &str) -> Map<String, Value> {
    claims.extend(of_authentication(how).map(|(name, value)| (name.to_owned(), value)));
    claims.insert("sid".to_owned(), json!(sid));
    claims
}

/// Completes the claims that were made at sign-in and signs them.
pub async fn issue(
    host: &Host,
    application: &Application,
    mut claims: Map<String, Value>,
    access_token: &str,
) -> Result<String, Broken> {
    let now = host.now().seconds();
    claims.insert("iss".to_owned(), json!(host.issuer));
    claims.insert("aud".to_owned(), json!(application.id));
    claims.insert("iat".to_owned(), json!(now));
    claims.insert("exp".to_owned(), json!(now + i64::from(host.settings.lifetimes.id_token)));
    claims.insert("at_hash".to_owned(), json!(at_hash(access_token)));
    let key = host.key_ring.signer(application.settings.id_token_algorithm, host.now());
    Ok(key.sign(claims, TokenType::IdToken)?)
}

/// The left half of the access token's SHA-256 digest (OpenID Connect Core section 3.1.3.6).
fn at_hash(access_token: &str) -> String {
    let digest = openssl::sha::sha256(access_token.as_bytes());
    URL_SAFE_NO_PAD.encode(digest.first_chunk::<16>().unwrap_or(&[0; 16]))
}

#[cfg(test)]
mod tests {
    #[test]
    fn at_hash_is_the_left_half_of_the_digest() {
        let digest = openssl::sha::sha256(b"at_example");
        let hash = super::at_hash("at_example");
        assert_eq!(hash.len(), 22);
        assert_eq!(hash, base64::Engine::encode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, &digest[..16]));
    }
}
