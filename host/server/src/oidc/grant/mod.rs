//! The grants of the token endpoint, in one file each.

pub mod authorization_code;
mod client_credentials;
pub mod new_tokens;
mod refresh_token;

use super::client_auth::AuthenticatedClient;
use super::error::TokenError;
use super::parameters::Parameters;
use crate::domain::Services;
use assent_model::application::GrantType;
use assent_telemetry::SPANS;

use new_tokens::TokenResponse;

/// Serves a token request of an authenticated client.
///
/// # Errors
/// [`TokenError`] if the request is not valid or the server fails.
#[tracing::instrument(target = SPANS, skip_all, name = "oidc.token")]
pub async fn exchange(
    services: &Services,
    client: &AuthenticatedClient,
    parameters: &Parameters,
) -> Result<TokenResponse, TokenError> {
    let requested = parameters.required("grant_type")?;
    let grant_type = GrantType::parse(requested);
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
            authorization_code::exchange(services, client, parameters).await
        }
        GrantType::RefreshToken => refresh_token::exchange(services, client, parameters).await,
        GrantType::ClientCredentials => {
            client_credentials::exchange(services, client, parameters).await
        }
    }
}
