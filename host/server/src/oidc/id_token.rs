//! ID tokens (OpenID Connect Core 1.0 section 2).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

use crate::domain::claims::standard_claims::{ApplicationClaims, ClaimSubject, of_authentication};
use crate::domain::claims::token_claims::{AtSignIn, IssuerClaims};
use crate::domain::claims::traces;
use crate::domain::claims::traces::TracePurpose;
use crate::domain::keys::signing_keys;
use crate::domain::{InternalError, Services};
use crate::keys::TokenType;
use assent_model::application::Application;
use assent_model::id::{FamilyId, TokenId};
use assent_model::key::SigningAlgorithm;
use assent_model::session::Authentication;
use assent_plugin_host::Sink;
use assent_telemetry::SPANS;

/// Adds the claims about the sign-in, and the token's id (`jti`, RFC 7519 section 4.1.7), which identifies the trace of
/// the plugins. `refreshed` is the token family of a refresh.
pub fn with_sign_in(
    services: &Services,
    made: ApplicationClaims,
    subject: &ClaimSubject<'_>,
    how: &Authentication,
    sid: &str,
    refreshed: Option<FamilyId>,
) -> Map<String, Value> {
    let ApplicationClaims { mut claims, steps } = made;
    let id = TokenId::new(services.now(), &*services.entropy).to_string();
    let purpose = TracePurpose {
        token: &id,
        user: subject.user.id,
        application: &subject.application.id,
        sink: Sink::IdToken,
    };
    let id = match refreshed {
        Some(family) => traces::record_refreshed(services, purpose, &steps, family),
        None => {
            traces::record(services, purpose, &steps);
            id
        }
    };
    claims.extend(of_authentication(how).map(|(name, value)| (name.to_owned(), value)));
    set_claim(&mut claims, AtSignIn::Sid, json!(sid));
    set_claim(&mut claims, AtSignIn::Jti, json!(id));
    claims
}

/// Adds the request's `nonce`.
pub fn with_nonce(mut claims: Map<String, Value>, nonce: &str) -> Map<String, Value> {
    set_claim(&mut claims, AtSignIn::Nonce, json!(nonce));
    claims
}

/// Adds the claims of an ID token that the server sends to the application (OpenID CIBA Core 1.0 section 10.3.1): the
/// `auth_req_id`, and the hash of the refresh token. `at_hash` is in each ID token.
pub fn set_push_claims(
    claims: &mut Map<String, Value>,
    application: &Application,
    auth_req_id: &str,
    refresh_token: Option<&str>,
) {
    const AUTH_REQ_ID: &str = "urn:openid:params:jwt:claim:auth_req_id";
    const RT_HASH: &str = "urn:openid:params:jwt:claim:rt_hash";
    claims.insert(AUTH_REQ_ID.to_owned(), json!(auth_req_id));
    claims.remove(RT_HASH);
    if let Some(refresh_token) = refresh_token {
        let hash = half_hash(application.settings.id_token_algorithm, refresh_token);
        claims.insert(RT_HASH.to_owned(), json!(hash));
    }
}

fn set_claim(claims: &mut Map<String, Value>, claim: AtSignIn, value: Value) {
    claims.insert(claim.as_str().to_owned(), value);
}

/// Returns the `session_state` of the token response: the `sid` of the ID token with these claims, if the application
/// has that setting.
pub fn session_state(application: &Application, claims: &Map<String, Value>) -> Option<String> {
    let sid = claims
        .get(AtSignIn::Sid.as_str())
        .filter(|_| application.settings.session_state)?;
    sid.as_str().map(str::to_owned)
}

/// Completes the claims of the sign-in, and signs them.
///
/// # Errors
/// If the signing key fails.
#[tracing::instrument(target = SPANS, skip_all, name = "oidc.id_token")]
pub async fn issue(
    services: &Services,
    application: &Application,
    mut claims: Map<String, Value>,
    access_token: &str,
) -> Result<String, InternalError> {
    let now = services.now().seconds();
    let IssuerClaims { iss, aud } = IssuerClaims::new(services, application);
    claims.insert("iss".to_owned(), json!(iss));
    claims.insert("aud".to_owned(), json!(aud));
    set_claim(&mut claims, AtSignIn::Iat, json!(now));
    set_claim(
        &mut claims,
        AtSignIn::Exp,
        json!((services.now() + services.settings.lifetimes.id_token.get()).seconds()),
    );
    let algorithm = application.settings.id_token_algorithm;
    let at_hash = half_hash(algorithm, access_token);
    set_claim(&mut claims, AtSignIn::AtHash, json!(at_hash));
    let key = signing_keys::signer(services, algorithm).await?;
    Ok(key.sign(claims, TokenType::IdToken)?)
}

/// The left half of the digest of a token, with the hash of the signature (OpenID Connect Core section 3.1.3.6).
/// Ed25519 uses SHA-512 (RFC 8032 section 5.1).
fn half_hash(algorithm: SigningAlgorithm, token: &str) -> String {
    let text = token.as_bytes();
    let half = match algorithm {
        SigningAlgorithm::EdDsa => openssl::sha::sha512(text)
            .first_chunk::<32>()
            .map(|half| half.to_vec()),
        SigningAlgorithm::Rs256 | SigningAlgorithm::Ps256 | SigningAlgorithm::Es256 => {
            openssl::sha::sha256(text)
                .first_chunk::<16>()
                .map(|half| half.to_vec())
        }
    };
    URL_SAFE_NO_PAD.encode(half.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use assent_model::key::SigningAlgorithm;

    #[test]
    fn at_hash_is_the_left_half_of_the_digest() {
        let digest = openssl::sha::sha256(b"at_example");
        let hash = super::half_hash(SigningAlgorithm::Ps256, "at_example");
        assert_eq!(hash.len(), 22);
        assert_eq!(
            super::half_hash(SigningAlgorithm::EdDsa, "at_example").len(),
            43
        );
        assert_eq!(
            hash,
            base64::Engine::encode(
                &base64::engine::general_purpose::URL_SAFE_NO_PAD,
                &digest[..16]
            )
        );
    }
}
