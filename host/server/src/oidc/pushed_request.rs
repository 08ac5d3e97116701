//! Pushed authorization requests (RFC 9126).

use std::time::Duration;

use serde::Serialize;

use super::authorize;
use super::authorize::request_object;
use super::authorize::source::RequestSource;
use super::authorize::{AuthorizeError, CheckFailure, Unanswerable, UnusablePush};
use super::client_auth::AuthenticatedClient;
use super::dpop::proof;
use super::error::{AuthorizeErrorCode, TokenError};
use super::parameters::Parameters;
use crate::domain::{InternalError, Services};
use assent_model::id::{Did, FamilyId, PushedRequestId};
use assent_model::login::PushedRequestUse;
use assent_model::redirect::RedirectPolicy;
use assent_model::secret::Token;
use assent_model::token::prefix;
use assent_store::PushedRequest;
use assent_telemetry::SPANS;

/// The beginning of each `request_uri` (RFC 9126 section 2.2).
const URN: &str = "urn:ietf:params:oauth:request_uri:";
/// The time in which a browser must begin the sign-in.
const LIFETIME: Duration = Duration::from_secs(90);
/// The parameters that the authorization endpoint reads. No others are stored, such as those that authenticate the
/// application.
const STORED: [&str; 18] = [
    "redirect_uri",
    "response_type",
    "response_mode",
    "scope",
    "state",
    "nonce",
    "prompt",
    "max_age",
    "login_hint",
    "id_token_hint",
    "acr_values",
    "claims",
    "authorization_details",
    "ui_locales",
    "registration",
    "code_challenge",
    "code_challenge_method",
    "dpop_jkt",
];
/// The largest stored request, in bytes of JSON. The longest hint is one half of it.
const LARGEST: usize = 30 * 1024;

/// The response to a pushed request (RFC 9126 section 2.2).
#[derive(Debug, Serialize)]
pub struct PushResponse {
    request_uri: String,
    /// The lifetime, in seconds.
    expires_in: u64,
}

/// Checks a request as the authorization endpoint does, and stores it.
///
/// # Errors
/// [`TokenError`] if a check or the database fails.
#[tracing::instrument(target = SPANS, skip_all, name = "oidc.pushed_request")]
pub async fn push(
    services: &Services,
    client: &AuthenticatedClient,
    parameters: &Parameters,
) -> Result<PushResponse, TokenError> {
    let (source, application) = (RequestSource::Pushing, &client.application);
    let request = request_object::effective(services, application, parameters, source).await;
    let parameters = Parameters::of_pairs(bound(client, &request.parameters)?);
    let request = request.with(parameters.clone());
    let policy = RedirectPolicy::Registered;
    let checked = authorize::accept(services, application, request, source, policy).await;
    checked.map_err(rejection)?;
    proof::use_once(services, client.proof).await?;
    let now = services.now();
    let id = PushedRequestId::new(now, &*services.entropy);
    let reference = Token::new(prefix::PUSHED_REQUEST, id.as_bytes(), &*services.entropy);
    let request = PushedRequest {
        id,
        digest: reference.digest(),
        application: client.application.id.clone(),
        parameters: parameters.pairs(|_| true),
        expires_at: now + LIFETIME,
        is_used: false,
    };
    services
        .store
        .insert_pushed_request(request)
        .await
        .map_err(InternalError::from)?;
    Ok(PushResponse {
        request_uri: format!("{URN}{}", reference.expose()),
        expires_in: LIFETIME.as_secs(),
    })
}

/// Returns the parameters to store: with the Client ID, which the authentication may have named, and with the key of
/// the DPoP proof, to which the code will be bound (RFC 9449 section 10.1).
fn bound(
    client: &AuthenticatedClient,
    parameters: &Parameters,
) -> Result<Vec<(String, String)>, TokenError> {
    let mut pairs = parameters.pairs(|name| STORED.contains(&name));
    // An empty parameter counts as missing.
    pairs.retain(|(_, value)| !value.is_empty());
    pairs.push(("client_id".to_owned(), client.application.id.to_string()));
    let key = client.proof.map(|proof| proof.key.to_base64url());
    match (key, parameters.get("dpop_jkt")) {
        (Some(key), None) => pairs.push(("dpop_jkt".to_owned(), key)),
        (Some(key), Some(named)) if key != named => {
            return Err(TokenError::InvalidProof(
                "its key is not the one that dpop_jkt names",
            ));
        }
        _ => {}
    }
    if serde_json::to_vec(&pairs).is_ok_and(|text| text.len() > LARGEST) {
        return Err(TokenError::InvalidRequest(format!(
            "the parameters together are longer than {LARGEST} bytes"
        )));
    }
    Ok(pairs)
}

fn rejection(failure: CheckFailure) -> TokenError {
    match failure {
        CheckFailure::Unanswerable(Unanswerable::RequestObject {
            code, description, ..
        }) => TokenError::Pushed { code, description },
        CheckFailure::Unanswerable(why) => TokenError::Pushed {
            code: AuthorizeErrorCode::InvalidRequest,
            description: why.to_string(),
        },
        CheckFailure::Rejected(rejected) => TokenError::Pushed {
            code: rejected.code,
            description: rejected.description,
        },
        CheckFailure::Internal(error) => TokenError::Internal(error),
    }
}

/// A pushed request that a browser's request names.
#[derive(Debug)]
pub struct NamedRequest {
    /// Its parameters.
    pub parameters: Parameters,
    /// Its use by a sign-in.
    pub its_use: PushedRequestUse,
    /// Whether a sign-in answered it. Only the browser of that sign-in may have the answer again.
    pub is_used: bool,
}

/// Returns the pushed request that a browser's request names. `None` if it names none.
///
/// # Errors
/// [`AuthorizeError`] if there is no such pushed request, it has expired unused, or the database fails.
pub async fn named(
    services: &Services,
    parameters: &Parameters,
) -> Result<Option<NamedRequest>, AuthorizeError> {
    let Some(reference) = parameters
        .get("request_uri")
        .and_then(|uri| uri.strip_prefix(URN))
    else {
        return Ok(None);
    };
    let client: Did = parameters
        .get("client_id")
        .and_then(|id| id.parse().ok())
        .ok_or(AuthorizeError::Page(Unanswerable::NoClient))?;
    let unusable = |why| AuthorizeError::Page(Unanswerable::PushedRequest(why, client.clone()));
    let reference = Token::parse(prefix::PUSHED_REQUEST, reference)
        .ok_or_else(|| unusable(UnusablePush::Unknown))?;
    let id = PushedRequestId::from_bytes(reference.id());
    let found = services
        .store
        .pushed_request(id)
        .await
        .map_err(InternalError::from)?
        .filter(|found| found.digest == reference.digest() && found.application == client)
        .ok_or_else(|| unusable(UnusablePush::Unknown))?;
    if !found.is_used && found.expires_at <= services.now() {
        return Err(unusable(UnusablePush::Expired));
    }
    let its_use = PushedRequestUse {
        digest: found.digest,
        code: FamilyId::from_bytes(*id.as_bytes()),
        until: found.expires_at + services.settings.lifetimes.login.get(),
    };
    Ok(Some(NamedRequest {
        parameters: Parameters::of_pairs(found.parameters),
        its_use,
        is_used: found.is_used,
    }))
}
