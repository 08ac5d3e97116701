//! The grants of the token endpoint, in one file each.

pub mod authorization_code;
pub(in crate::oidc) mod ciba;
mod client_credentials;
pub mod details;
mod device_code;
pub mod long_poll;
pub mod new_tokens;
mod refresh_token;

use super::client_auth::AuthenticatedClient;
use super::error::TokenError;
use super::parameters::Parameters;
use super::tokens::{Presented, PresentedText};
use crate::domain::Services;
use assent_model::application::GrantType;
use assent_telemetry::SPANS;

use long_poll::Patience;
use new_tokens::TokenResponse;

/// Serves a token request of an authenticated client. `patience`: the time for which it may wait for a decision.
///
/// # Errors
/// [`TokenError`] if the request is not valid or the server fails.
#[tracing::instrument(target = SPANS, skip_all, name = "oidc.token")]
pub async fn exchange(
    services: &Services,
    client: &AuthenticatedClient,
    parameters: &Parameters,
    presented: Option<Presented>,
    patience: &Patience,
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
    client.check_possession()?;
    match grant_type {
        GrantType::AuthorizationCode => {
            authorization_code::exchange(services, client, parameters, presented).await
        }
        GrantType::RefreshToken => {
            refresh_token::exchange(services, client, parameters, presented).await
        }
        GrantType::ClientCredentials => {
            client_credentials::exchange(services, client, parameters).await
        }
        GrantType::Ciba => ciba::exchange(services, client, parameters, patience).await,
        GrantType::DeviceCode => {
            device_code::exchange(services, client, parameters, patience).await
        }
    }
}

/// Whether a token request may wait for the decision of a user.
pub fn may_wait(parameters: &Parameters) -> bool {
    let requested = parameters.get("grant_type").and_then(GrantType::parse);
    matches!(requested, Some(GrantType::Ciba | GrantType::DeviceCode))
}

/// Returns the code or token that a token request presents, if its grant type has one and this installation may have
/// issued it.
pub fn presented(services: &Services, parameters: &Parameters) -> Option<PresentedText> {
    match GrantType::parse(parameters.get("grant_type")?)? {
        GrantType::AuthorizationCode => PresentedText::code(parameters.get("code")?),
        GrantType::RefreshToken => {
            PresentedText::refresh(services, parameters.get("refresh_token")?)
        }
        GrantType::ClientCredentials | GrantType::Ciba | GrantType::DeviceCode => None,
    }
}
