//! `client_secret_jwt` and `private_key_jwt`: JWTs with which a client authenticates (RFC 7523 section 3, OpenID
//! Connect Core 1.0 section 9).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use crate::domain::keys::client_keys;
use crate::domain::{InternalError, Services};
use crate::keys::client::{JwtError, secret_purpose, verify_with_secret};
use crate::keys::jws_verifier::own_algorithms;
use crate::oidc::error::{Reason, TokenError};
use assent_model::application::Application;
use assent_model::client_auth::ClientAuthentication;
use assent_model::clock::Timestamp;
use assent_model::id::{ClientSecretId, Did};
use assent_model::secret::Digest;
use assent_store::ReplayCheck;

/// The maximum remaining lifetime of an assertion, in seconds.
const FARTHEST: i64 = 5 * 60;
/// The maximum time by which a client's clock may be ahead of the server's, in seconds: without a security profile, and
/// with one.
const SKEW: i64 = 60;
const PROFILE_SKEW: i64 = 30;
/// The maximum length of a `jti`, in bytes.
const LONGEST_ID: usize = 256;

/// Returns the client that an assertion claims. Nothing is verified yet.
pub fn claimed_client(text: &str) -> Option<Did> {
    if text.len() > 8 * 1024 {
        return None;
    }
    let payload = URL_SAFE_NO_PAD.decode(text.split('.').nth(1)?).ok()?;
    let claims: Map<String, Value> = serde_json::from_slice(&payload).ok()?;
    claims.get("sub")?.as_str()?.parse().ok()
}

/// Verifies an assertion, and records its `jti` in the replay cache. `own_url` is the URL of the endpoint, if an
/// application with the lenient rule may use it as the audience.
pub(super) async fn verify(
    services: &Services,
    application: &Application,
    text: &str,
    own_url: Option<&str>,
) -> Result<Result<(), Reason>, TokenError> {
    let settings = &application.settings;
    let verified = match &settings.authentication {
        ClientAuthentication::ClientSecretJwt => verify_with_secrets(services, application, text)?,
        ClientAuthentication::PrivateKeyJwt(keys) => {
            let accepted = own_algorithms(settings.assertion_algorithm, settings.security_profile);
            client_keys::verify(services, keys, text, &accepted)
                .await
                .map(|claims| (claims, None))
        }
        _ => Err(JwtError::Signature),
    };
    let (claims, used) = match verified {
        Ok(verified) => verified,
        Err(JwtError::Malformed) => return Ok(Err("the client assertion is not a signed JWT")),
        Err(JwtError::Algorithm) => {
            return Ok(Err("the client assertion's algorithm is not accepted"));
        }
        Err(JwtError::Signature) => {
            return Ok(Err(
                "the client assertion's signature does not match a key of the application",
            ));
        }
        Err(JwtError::NoKeys) => {
            return Ok(Err(
                "the application's keys could not be fetched from its jwks_uri",
            ));
        }
    };
    let (id, until) = match check(services, application, &claims, own_url) {
        Ok(checked) => checked,
        Err(reason) => return Ok(Err(reason)),
    };
    // The client's id, which contains no blank, is part of the entry: one client cannot use up the `jti` of another.
    let known_as = Digest::sha256(format!("{} {id}", application.id).as_bytes());
    let check = services
        .store
        .claim_assertion(known_as, until)
        .await
        .map_err(InternalError::from)?;
    Ok(match check {
        ReplayCheck::FirstUse => {
            if let Some(secret) = used {
                note_use(services, application, secret);
            }
            Ok(())
        }
        ReplayCheck::Replayed => {
            Err("the client assertion was used before: its jti must be new each time")
        }
    })
}

/// Returns the claims of an assertion that one of the application's secrets authenticates, and the id of that secret.
fn verify_with_secrets(
    services: &Services,
    application: &Application,
    text: &str,
) -> Result<Result<VerifiedClaims, JwtError>, InternalError> {
    let mut failure = JwtError::Signature;
    for known in application.secrets.iter() {
        let Some(sealed) = &known.sealed else {
            continue;
        };
        let secret = services
            .sealing_keys
            .open(&secret_purpose(&application.id), sealed)?;
        match verify_with_secret(text, &secret) {
            Ok(claims) => return Ok(Ok((claims, Some(known.id)))),
            Err(error) => failure = error,
        }
    }
    Ok(Err(failure))
}

/// Verified claims, and the client secret that authenticated them, if it was one.
type VerifiedClaims = (Map<String, Value>, Option<ClientSecretId>);

/// Returns the claims' `jti`, and the time until which the replay cache must contain it.
fn check<'a>(
    services: &Services,
    application: &Application,
    claims: &'a Map<String, Value>,
    own_url: Option<&str>,
) -> Result<(&'a str, Timestamp), Reason> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    let moment = |name: &str| {
        claims
            .get(name)
            .and_then(Value::as_f64)
            .map(|seconds| seconds as i64)
    };
    let now = services.now().seconds();
    let client = Some(application.id.as_str());
    if text("iss") != client || text("sub") != client {
        return Err("the client assertion's iss and sub must be the Client ID");
    }
    // The audience must be one string and no array, because each server in an array could use the assertion at the
    // others. And it must be the issuer, because the metadata of a hostile server may name this server's token endpoint
    // as its own (draft-ietf-oauth-rfc7523bis).
    let audience = text("aud").ok_or("the client assertion's aud must be one string")?;
    let token_endpoint = format!("{}/token", services.issuer);
    let lenient = application.settings.accepts_token_endpoint_audience();
    let is_endpoint = audience == token_endpoint || Some(audience) == own_url;
    if audience != services.issuer && !(lenient && is_endpoint) {
        return Err("the client assertion's aud must be the issuer");
    }
    let expires = moment("exp").ok_or("the client assertion has no exp")?;
    if expires <= now {
        return Err("the client assertion has expired");
    }
    if expires > now + FARTHEST {
        return Err("the client assertion's exp must be at most 5 minutes ahead");
    }
    let skew = match application.settings.security_profile {
        Some(_) => PROFILE_SKEW,
        None => SKEW,
    };
    if ["nbf", "iat"]
        .into_iter()
        .filter_map(moment)
        .any(|from| from > now + skew)
    {
        return Err("the client assertion is from the future: check the client's clock");
    }
    let id = text("jti").filter(|id| (1..=LONGEST_ID).contains(&id.len()));
    let id = id.ok_or("the client assertion needs a jti of 1 to 256 bytes")?;
    Ok((id, Timestamp::from_seconds(expires + 1)))
}

/// Records in memory that the application used this secret. A request of a disabled application counts too, because it
/// shows that a client still has the secret.
pub(super) fn note_use(services: &Services, application: &Application, secret: ClientSecretId) {
    services
        .store
        .note_client_secret_use(&application.id, secret, services.now());
}
