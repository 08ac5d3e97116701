//! Software statements (RFC 7591 section 2.3): metadata in a JWT of an issuer that the server trusts.

use serde_json::{Map, Value};

use super::error::RegistrationError;
use crate::config::SoftwareStatementKeys;
use crate::domain::Services;
use crate::domain::keys::client_keys;
use crate::keys::client;
use crate::keys::jws_verifier::ASYMMETRIC;
use assent_model::client_auth::ClientKeys;

const MEMBER: &str = "software_statement";
/// Claims of a statement that are no metadata.
const OF_TOKEN: [&str; 7] = ["iss", "sub", "aud", "exp", "nbf", "iat", "jti"];

type Result<T> = std::result::Result<T, RegistrationError>;

/// Returns the metadata with the values of its software statement, which take precedence. Without a statement the
/// metadata is unchanged.
///
/// # Errors
/// [`RegistrationError`] if the statement is not valid, or the server does not trust its issuer.
pub(super) async fn merged(
    services: &Services,
    mut metadata: Map<String, Value>,
) -> Result<Map<String, Value>> {
    let Some(statement) = metadata.get(MEMBER).filter(|value| !value.is_null()) else {
        return Ok(metadata);
    };
    let invalid = RegistrationError::InvalidSoftwareStatement;
    let statement = statement
        .as_str()
        .ok_or(invalid("the software statement must be a signed JWT"))?
        .to_owned();
    let issuer = issuer_of(&statement).ok_or(invalid("the software statement must have iss"))?;
    let configured = &services.settings.oidc.registration.software_statement_keys;
    let trusted = configured
        .iter()
        .find(|keys| keys.issuer == issuer)
        .ok_or(RegistrationError::UnapprovedSoftwareStatement)?;
    let keys = keys_of(trusted).await.ok_or(invalid(
        "the keys of the issuer of the software statement could not be read",
    ))?;
    let claims = client_keys::verify(services, &keys, &statement, &ASYMMETRIC)
        .await
        .map_err(|_| invalid("the signature of the software statement is not valid"))?;
    let now = services.now().seconds();
    let time = |name: &str| claims.get(name).and_then(Value::as_f64);
    let is_time = |name: &str| claims.get(name).is_none_or(Value::is_number);
    if !is_time("exp") || !is_time("nbf") {
        return Err(invalid(
            "the times of the software statement are no numbers",
        ));
    }
    let issuer = services.issuer.as_str();
    let is_for_us = match claims.get("aud") {
        None => true,
        Some(Value::Array(audience)) => audience.iter().any(|one| one.as_str() == Some(issuer)),
        Some(audience) => audience.as_str() == Some(issuer),
    };
    if !is_for_us {
        return Err(invalid("the software statement is for another server"));
    }
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are exact")]
    let now = now as f64;
    if time("exp").is_some_and(|end| end <= now) || time("nbf").is_some_and(|start| start > now) {
        return Err(invalid(
            "the software statement has expired, or is not valid yet",
        ));
    }
    for (name, value) in claims {
        if name != MEMBER && !OF_TOKEN.contains(&name.as_str()) {
            metadata.insert(name, value);
        }
    }
    Ok(metadata)
}

/// Returns the issuer of a statement, of which nothing is verified.
fn issuer_of(statement: &str) -> Option<String> {
    let claims = client::claims_of(statement)?;
    Some(claims.get("iss")?.as_str()?.to_owned())
}

/// Returns the keys of an issuer.
async fn keys_of(trusted: &SoftwareStatementKeys) -> Option<ClientKeys> {
    if let Some(uri) = &trusted.jwks_uri {
        return Some(ClientKeys::JwksUri(uri.clone()));
    }
    let path = trusted.jwks_file.as_ref()?;
    let keys = async {
        let text = tokio::fs::read(path)
            .await
            .map_err(|error| error.to_string())?;
        let set = serde_json::from_slice::<Value>(&text).map_err(|error| error.to_string())?;
        client::keys_of_set(&set).map_err(|error| error.to_string())
    };
    keys.await
        .inspect_err(|error| {
            tracing::warn!(path = %path.display(), error, "keys of software statements not read");
        })
        .ok()
        .map(ClientKeys::Jwks)
}
