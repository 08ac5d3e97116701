//! The token endpoint's grants. Here: `authorization_code` (RFC 6749 sections 4.1.3 and 4.1.4, RFC 7636 section 4.6,
//! OpenID Connect Core 1.0 section 3.1.3).

use serde::Serialize;

use super::error::TokenError;
use super::id_token;
use super::parameters::Parameters;
use crate::domain::account::{Access, access};
use crate::domain::{Broken, Host};
use crate::id::{CodeId, TokenId};
use crate::model::application::{Application, GrantType};
use crate::model::token::{AccessGrant, CodeGrant, IssuedPair, prefix};
use crate::secret::Token;
use crate::store::Redemption;

/// The token response (RFC 6749 section 5.1).
#[derive(Debug, Serialize)]
pub struct TokenResponse {
    access_token: String,
    token_type: &'static str,
    expires_in: u32,
    id_token: String,
    scope: String,
}

/// Serves a token request of an authenticated client.
pub async fn exchange(
    host: &Host,
    application: &Application,
    parameters: &Parameters,
) -> Result<TokenResponse, TokenError> {
    parameters.refuse_repeated().map_err(|error| TokenError::InvalidRequest(error.to_string()))?;
    match parameters.get("grant_type") {
        Some("authorization_code") if application.settings.grant_types.contains(&GrantType::AuthorizationCode) => {
            authorization_code(host, application, parameters).await
        }
        Some("authorization_code") => Err(TokenError::UnauthorizedClient),
        Some(_) => Err(TokenError::UnsupportedGrantType),
        None => Err(TokenError::InvalidRequest("grant_type is missing".to_owned())),
    }
}

async fn authorization_code(
    host: &Host,
    application: &Application,
    parameters: &Parameters,
) -> Result<TokenResponse, TokenError> {
    let required =
        |name: &str| parameters.get(name).ok_or_else(|| TokenError::InvalidRequest(format!("{name} is missing")));
    let (code, redirect_uri) = (required("code")?, required("redirect_uri")?);
    let grant = find(host, application, code).await?;
    if grant.redirect_uri.as_str() != redirect_uri {
        return Err(TokenError::InvalidGrant("redirect_uri differs from the authorization request's"));
    }
    check_verifier(&grant, parameters.get("code_verifier"))?;
    check_person(host, &grant).await?;
    let now = host.now();
    let id = TokenId::new(now, &*host.entropy);
    let access_token = Token::new(prefix::ACCESS, id.as_bytes(), &*host.entropy);
    let lifetime = host.settings.lifetimes.access_token;
    let token = AccessGrant {
        id,
        digest: access_token.digest(),
        application: application.id.clone(),
        family: Some(grant.id),
        certificate: None,
        watched_until: None,
        scopes: grant.scopes.clone(),
        issued_at: now,
        expires_at: now + std::time::Duration::from_secs(lifetime.into()),
    };
    // The code is claimed before anything is made of it.
    match host
        .store
        .redeem_code(grant.id, IssuedPair { access: token, refresh: None }, now)
        .await
        .map_err(Broken::from)?
    {
        Redemption::Redeemed => {}
        Redemption::Refused => {
            tracing::warn!(application = %application.id, code = %grant.id, "a code came a second time or too late; what it gave is revoked");
            return Err(INVALID_CODE);
        }
    }
    let id_token = id_token::issue(host, application, grant.claims, access_token.expose()).await?;
    Ok(TokenResponse {
        access_token: access_token.expose().to_owned(),
        token_type: "Bearer",
        expires_in: lifetime,
        id_token,
        scope: grant.scopes.to_string(),
    })
}

const INVALID_CODE: TokenError = TokenError::InvalidGrant("the code is invalid, expired or already used");

async fn find(host: &Host, application: &Application, code: &str) -> Result<CodeGrant, TokenError> {
    let token = Token::parse(prefix::CODE, code).ok_or(INVALID_CODE)?;
    let found = host.store.code(CodeId::from_bytes(token.id())).await.map_err(Broken::from)?;
    let grant = found.filter(|grant| grant.digest == token.digest()).ok_or(INVALID_CODE)?;
    if grant.application != application.id {
        tracing::warn!(application = %application.id, code = %grant.id, "a code of another application was refused");
        return Err(INVALID_CODE);
    }
    Ok(grant)
}

fn check_verifier(grant: &CodeGrant, verifier: Option<&str>) -> Result<(), TokenError> {
    match (&grant.code_challenge, verifier) {
        (None, None) => Ok(()),
        (Some(challenge), Some(verifier)) if challenge.is_met_by(verifier) => Ok(()),
        (Some(_), None) => Err(TokenError::InvalidRequest("code_verifier is missing".to_owned())),
        (Some(_), Some(_)) => Err(TokenError::InvalidGrant("code_verifier does not fit the code_challenge")),
        (None, Some(_)) => Err(TokenError::InvalidGrant("there was no code_challenge for this code_verifier")),
    }
}

/// Nobody who was suspended since they approved gets a token.
async fn check_person(host: &Host, grant: &CodeGrant) -> Result<(), TokenError> {
    let user = host.store.user(grant.subject.user_id).await.map_err(Broken::from)?;
    let may = match user {
        Some(user) => matches!(access(host, &user, &grant.application).await?, Access::Granted(_)),
        None => false,
    };
    if may { Ok(()) } else { Err(TokenError::InvalidGrant("the person may no longer use the application")) }
}
