//! `client_credentials` (RFC 6749 section 4.4): the application acts as itself.

use super::{TokenResponse, new_access};
use crate::domain::{Broken, Host};
use crate::model::scope::{Scope, Scopes};
use crate::oidc::client_auth::Client;
use crate::oidc::error::TokenError;
use crate::oidc::parameters::Parameters;

pub(super) async fn exchange(
    host: &Host,
    client: &Client,
    parameters: &Parameters,
) -> Result<TokenResponse, TokenError> {
    let mut client = client.clone();
    // Who only says who it is gets nothing for that.
    if !client.application.settings.application_type.is_confidential() {
        return Err(TokenError::UnauthorizedClient);
    }
    let scopes = scopes(&client.application.settings.scopes, parameters.get("scope"))?;
    let lifetime = host.settings.lifetimes.client_credentials_token;
    loop {
        let (token, access) = new_access(host, &client, None, scopes.clone(), lifetime);
        if host.store.insert_client_token(access, client.application.version).await.map_err(Broken::from)? {
            return Ok(TokenResponse {
                access_token: token.expose().to_owned(),
                token_type: "Bearer",
                expires_in: lifetime,
                id_token: None,
                refresh_token: None,
                scope: scopes.to_string(),
            });
        }
        // The application was changed while it was looked at. What it showed may not be enough any more.
        let before = client.application.clone();
        let now = host.store.application(&before.id).await.map_err(Broken::from)?;
        client.application = now
            .filter(|now| now.settings == before.settings && now.secret == before.secret)
            .ok_or(TokenError::InvalidClient { by_header: false, reason: "the application was changed meanwhile" })?;
    }
}

/// The scopes that were asked for, which the application must be allowed. There is no person who could be away.
fn scopes(allowed: &Scopes, asked: Option<&str>) -> Result<Scopes, TokenError> {
    match asked {
        None => Ok(Scopes::default()),
        Some(text) => Scopes::parse(text)
            .filter(|asked| asked.within(allowed) && !asked.has(Scope::OfflineAccess))
            .ok_or(TokenError::InvalidScope("a scope is unknown, or not allowed for the application")),
    }
}
