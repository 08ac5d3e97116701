//! Signed back-channel requests (OpenID CIBA Core 1.0 section 7.1.1): the parameters are in a JWT that the application
//! signed, and none of them is beside it.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::error::TokenError;
use super::parameters::Parameters;
use super::request_jwt;
use crate::domain::{InternalError, Services};
use assent_model::application::Application;
use assent_model::clock::Timestamp;
use assent_model::secret::Digest;
use assent_store::ReplayCheck;

/// The parameters beside the JWT: those that authenticate the application.
const BESIDE: [&str; 5] = [
    "request",
    "client_id",
    "client_secret",
    "client_assertion",
    "client_assertion_type",
];
/// The claims that each JWT needs (section 7.1.1).
const REQUIRED: [&str; 5] = ["iss", "aud", "exp", "iat", "nbf"];
/// The maximum length of a `jti`, in bytes.
const LONGEST_ID: usize = 256;

/// Returns the parameters of a request that count: those of its JWT, if it has one. Each JWT counts once.
///
/// # Errors
/// [`TokenError`] if the JWT is not valid or was used before, if it is missing and the application must sign its
/// requests, or if the database fails.
pub(super) async fn effective<'a>(
    services: &Services,
    application: &Application,
    parameters: &'a Parameters,
) -> Result<Cow<'a, Parameters>, TokenError> {
    let invalid = |description: &str| TokenError::InvalidRequest(description.to_owned());
    let settings = &application.settings;
    let Some(jwt) = parameters.get("request") else {
        return match settings.signs_backchannel_requests() {
            true => Err(invalid(
                "the request must be a signed JWT in the parameter request (OpenID CIBA Core 1.0 section 7.1.1)",
            )),
            false => Ok(Cow::Borrowed(parameters)),
        };
    };
    let beside = parameters.pairs(|name| !BESIDE.contains(&name));
    if let Some((name, _)) = beside.first() {
        return Err(TokenError::InvalidRequest(format!(
            "{name} must be a claim of the signed request, and not a parameter beside it"
        )));
    }
    let fixed = settings.backchannel_request_algorithm;
    let claims = request_jwt::verified(services, application, fixed, jwt)
        .await
        .map_err(TokenError::InvalidRequest)?;
    request_jwt::check(services, application, &claims, &REQUIRED)
        .map_err(TokenError::InvalidRequest)?;
    use_once(services, application, &claims).await?;
    Ok(Cow::Owned(request_jwt::parameters_of(application, claims)))
}

/// Records the `jti` in the replay cache. The client's id, which contains no blank, and the prefix are part of the
/// entry: one client cannot use up the `jti` of another, or of a client assertion.
async fn use_once(
    services: &Services,
    application: &Application,
    claims: &Map<String, Value>,
) -> Result<(), TokenError> {
    let invalid = |description: &str| TokenError::InvalidRequest(description.to_owned());
    let id = claims.get("jti").and_then(Value::as_str);
    let id = id.filter(|id| (1..=LONGEST_ID).contains(&id.len()));
    let id = id.ok_or_else(|| invalid("the request object needs a jti of 1 to 256 bytes"))?;
    let expires = claims.get("exp").and_then(Value::as_f64);
    let expires = expires.ok_or_else(|| invalid("the request object has no exp"))? as i64;
    let known_as = format!("backchannel {} {id}", application.id);
    let known_as = Digest::sha256(known_as.as_bytes());
    let until = Timestamp::from_seconds(expires.saturating_add(1));
    let check = services
        .store
        .claim_assertion(known_as, until)
        .await
        .map_err(InternalError::from)?;
    match check {
        ReplayCheck::FirstUse => Ok(()),
        ReplayCheck::Replayed => Err(invalid(
            "the request object was used before: its jti must be new each time",
        )),
    }
}
