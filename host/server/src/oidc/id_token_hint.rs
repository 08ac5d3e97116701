//! `id_token_hint` (OpenID Connect Core section 3.1.2.1): an ID token of this server for the application that sends it
//! back. It may have expired.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::domain::Services;
use crate::domain::keys::signing_keys;
use assent_model::application::Application;

/// The reason to reject an ID token of another issuer.
const OTHER_ISSUER: &str = "its iss is not this server's issuer";

/// Returns the `sub` of an ID token of this server for this application.
///
/// # Errors
/// The reason, for the developer of the application, if it is no such ID token.
pub async fn subject(
    services: &Services,
    application: &Application,
    jwt: &str,
) -> Result<String, String> {
    let refused = |why: &dyn std::fmt::Display| {
        format!("id_token_hint is not an ID token of this server: {why}")
    };
    let claims = match signing_keys::verify_own(services, jwt).await {
        Ok(claims) => claims,
        // The key of another issuer is unknown, too. The reason is its issuer.
        Err(_) if is_of_other_issuer(services, jwt) => return Err(refused(&OTHER_ISSUER)),
        Err(error) => return Err(refused(&error)),
    };
    if claims.get("iss") != Some(&json!(services.issuer)) {
        return Err(refused(&OTHER_ISSUER));
    }
    let client = json!(application.id);
    let for_client = match claims.get("aud") {
        Some(Value::Array(audience)) => audience.contains(&client),
        audience => audience == Some(&client),
    };
    if !for_client {
        return Err(refused(&"its aud does not contain the client_id"));
    }
    match claims.get("sub").and_then(Value::as_str) {
        Some(subject) => Ok(subject.to_owned()),
        None => Err(refused(&"it has no sub")),
    }
}

/// Whether a text is a JWT that names another issuer. Nothing in it is verified.
fn is_of_other_issuer(services: &Services, jwt: &str) -> bool {
    let payload = jwt
        .split('.')
        .nth(1)
        .and_then(|payload| URL_SAFE_NO_PAD.decode(payload).ok());
    let claims = payload.and_then(|payload| serde_json::from_slice::<Value>(&payload).ok());
    claims
        .as_ref()
        .and_then(|claims| claims.get("iss"))
        .and_then(Value::as_str)
        .is_some_and(|issuer| issuer != services.issuer)
}
