//! The token endpoint's grants, one file each.

mod authorization_code;
mod client_credentials;
mod refresh_token;

pub use authorization_code::{Presented, redeem};

use std::time::Duration;

use serde::Serialize;

use super::client_auth::Client;
use super::error::TokenError;
use super::parameters::Parameters;
use crate::domain::Host;
use crate::domain::sign_in::access;
use assent_model::application::GrantType;
use assent_model::clock::Timestamp;
use assent_model::id::{CodeId, TokenId};
use assent_model::secret::Token;
use assent_model::token::{AccessGrant, GrantSubject, RefreshGrant, TokenScopes, prefix};
use assent_store::Person;

/// The token response (RFC 6749 section 5.1).
#[derive(Debug, Serialize)]
pub struct TokenResponse {
    access_token: String,
    token_type: &'static str,
    /// Seconds.
    expires_in: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    id_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<String>,
    scope: String,
}

/// Serves a token request of an authenticated client.
pub async fn exchange(
    host: &Host,
    client: &Client,
    parameters: &Parameters,
) -> Result<TokenResponse, TokenError> {
    let asked = required(parameters, "grant_type")?;
    let grant_type = GrantType::ALL
        .into_iter()
        .find(|grant_type| grant_type.as_str() == asked);
    let grant_type = grant_type.ok_or(TokenError::UnsupportedGrantType)?;
    if !client
        .application
        .settings
        .grant_types
        .contains(&grant_type)
    {
        return Err(TokenError::UnauthorizedClient);
    }
    match grant_type {
        GrantType::AuthorizationCode => {
            authorization_code::exchange(host, client, parameters).await
        }
        GrantType::RefreshToken => refresh_token::exchange(host, client, parameters).await,
        GrantType::ClientCredentials => {
            client_credentials::exchange(host, client, parameters).await
        }
    }
}

fn required<'a>(parameters: &'a Parameters, name: &str) -> Result<&'a str, TokenError> {
    parameters
        .get(name)
        .ok_or_else(|| TokenError::InvalidRequest(format!("{name} is missing")))
}

/// A new access token, good for `lifetime` seconds, and what is kept of it.
fn new_access(
    host: &Host,
    client: &Client,
    family: Option<CodeId>,
    scopes: TokenScopes,
    lifetime: Duration,
) -> (Token, AccessGrant) {
    let now = host.now();
    let id = TokenId::new(now, &*host.entropy);
    let token = Token::new(prefix::ACCESS, id.as_bytes(), &*host.entropy);
    let grant = AccessGrant {
        id,
        digest: token.digest(),
        application: client.application.id.clone(),
        family,
        scopes,
        certificate: client.certificate,
        issued_at: now,
        expires_at: now + lifetime,
        track_use_until: None,
    };
    (token, grant)
}

/// A new refresh token of a family that was granted at `granted`, and what is kept of it. It is good no longer than the
/// consent; `None` once that is over.
fn new_refresh(
    host: &Host,
    client: &Client,
    family: CodeId,
    granted: Timestamp,
) -> Option<(Token, RefreshGrant)> {
    let now = host.now();
    let lifetimes = host.settings.lifetimes;
    let last = granted + lifetimes.consent.get();
    let expires_at = last.min(now + lifetimes.refresh_token.get());
    if expires_at <= now {
        return None;
    }
    let id = TokenId::new(now, &*host.entropy);
    let token = Token::new(prefix::REFRESH, id.as_bytes(), &*host.entropy);
    let application = client.application.id.clone();
    Some((
        token.clone(),
        RefreshGrant {
            id,
            digest: token.digest(),
            application,
            family,
            issued_at: now,
            expires_at,
        },
    ))
}

/// The person of a grant and their account, if they may still use the application.
async fn person(host: &Host, client: &Client, subject: GrantSubject) -> Result<Person, TokenError> {
    let found = access::person(host, subject, &client.application.id).await?;
    found.ok_or(TokenError::InvalidGrant(
        "the person may no longer use the application",
    ))
}
