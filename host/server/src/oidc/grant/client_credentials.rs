//! `client_credentials` (RFC 6749 section 4.4): the application acts as itself.

use crate::domain::{InternalError, Services};
use crate::oidc::client_auth::AuthenticatedClient;
use crate::oidc::error::TokenError;
use crate::oidc::grant::new_tokens::{TokenResponse, new_access};
use crate::oidc::parameters::Parameters;
use assent_model::administration::AdminScopes;
use assent_model::application::OidcSettings;
use assent_model::scope::{Scope, Scopes};
use assent_model::token::TokenScopes;
use assent_store::VersionedWrite;

pub(super) async fn exchange(
    services: &Services,
    client: &AuthenticatedClient,
    parameters: &Parameters,
) -> Result<TokenResponse, TokenError> {
    let mut client = client.clone();
    // Who only says who it is gets nothing for that.
    if !client
        .application
        .settings
        .application_type
        .is_confidential()
    {
        return Err(TokenError::UnauthorizedClient);
    }
    let granted = scopes(&client.application.settings, parameters.get("scope"))?;
    let lifetime = services.settings.lifetimes.client_credentials_token.get();
    loop {
        let (token, access) = new_access(services, &client, None, granted.clone(), lifetime);
        let written = services
            .store
            .insert_client_token(access, client.application.version)
            .await
            .map_err(InternalError::from)?;
        if written == VersionedWrite::Done {
            return Ok(TokenResponse {
                access_token: token.expose().to_owned(),
                token_type: "Bearer",
                expires_in: lifetime.as_secs(),
                id_token: None,
                refresh_token: None,
                scope: granted.to_string(),
            });
        }
        // The application was changed while it was looked at. What it showed may not be enough any more.
        let before = client.application.clone();
        let now = services
            .store
            .application(&before.id)
            .await
            .map_err(InternalError::from)?;
        client.application = now
            .filter(|now| now.settings == before.settings && now.secret == before.secret)
            .ok_or(TokenError::InvalidClient {
                by_header: false,
                reason: "the application was changed meanwhile",
            })?;
    }
}

/// The scopes that were asked for, which the application must be allowed. There is no person who could be away.
fn scopes(settings: &OidcSettings, asked: Option<&str>) -> Result<TokenScopes, TokenError> {
    let Some(asked) = asked else {
        return Ok(TokenScopes::Oidc(Scopes::default()));
    };
    if let Some(admin) = AdminScopes::parse(asked).filter(|admin| !admin.is_empty()) {
        return match admin.within(&settings.admin_scopes) {
            true => Ok(TokenScopes::Admin(admin)),
            false => Err(TokenError::InvalidScope(
                "an admin scope is not allowed for the application",
            )),
        };
    }
    Scopes::parse(asked)
        .filter(|asked| asked.within(&settings.scopes) && !asked.has(Scope::OfflineAccess))
        .map(TokenScopes::Oidc)
        .ok_or(TokenError::InvalidScope(
            "a scope is unknown, or not allowed for the application; admin scopes are asked for alone",
        ))
}
