//! `urn:ietf:params:oauth:grant-type:device_code` (RFC 8628 sections 3.4 and 3.5): the device polls for the result of a
//! device authorization request. Once a user has entered its code, the request is a back-channel request, with the same
//! decision, session and tokens.

use crate::domain::{InternalError, Services};
use crate::oidc::client_auth::AuthenticatedClient;
use crate::oidc::error::TokenError;
use crate::oidc::grant::ciba;
use crate::oidc::grant::ciba::Polling;
use crate::oidc::grant::long_poll;
use crate::oidc::grant::long_poll::Patience;
use crate::oidc::grant::new_tokens::TokenResponse;
use crate::oidc::parameters::Parameters;
use assent_model::device_authorization::DeviceAuthorization;
use assent_model::id::BackchannelRequestId;
use assent_model::secret::Token;
use assent_model::token::prefix;

const INVALID: TokenError =
    TokenError::InvalidGrant("the device_code is invalid, of another client or already used");

pub(super) async fn exchange(
    services: &Services,
    client: &AuthenticatedClient,
    parameters: &Parameters,
    patience: &Patience,
) -> Result<TokenResponse, TokenError> {
    if parameters.has("authorization_details") {
        return Err(TokenError::InvalidAuthorizationDetails(
            "a device authorization request has no authorization_details".to_owned(),
        ));
    }
    let found = find(services, client, parameters.required("device_code")?).await?;
    let polls = &services.rate_limits.device_polls;
    if !found.is_entered {
        let now = services.now();
        if now >= found.expires_at {
            return Err(TokenError::ExpiredToken);
        }
        return Err(match polls.count_poll(found.id, now) {
            Ok(()) => TokenError::AuthorizationPending,
            Err(_) => TokenError::SlowDown,
        });
    }
    let (entered, approval) = long_poll::read(services, found.id, patience).await?;
    let entered = entered
        .filter(|request| !request.is_claimed)
        .ok_or(INVALID)?;
    let approval = match approval {
        Some(approval) => approval,
        None => services
            .store
            .approval_of_request(&entered)
            .await
            .map_err(InternalError::from)?
            .ok_or(INVALID)?,
    };
    let polling = Polling {
        intervals: polls,
        patience,
    };
    ciba::result_of(services, client, (entered, approval), None, polling).await
}

/// Returns the request of this client with this `device_code`.
async fn find(
    services: &Services,
    client: &AuthenticatedClient,
    text: &str,
) -> Result<DeviceAuthorization, TokenError> {
    let token = Token::parse(prefix::DEVICE_CODE, text).ok_or(INVALID)?;
    let id = BackchannelRequestId::from_bytes(token.id());
    let found = services
        .store
        .device_authorization(id)
        .await
        .map_err(InternalError::from)?
        .filter(|found| found.digest == token.digest())
        .ok_or(INVALID)?;
    let application = &client.application.id;
    if found.application != *application {
        tracing::warn!(%application, request = %id, "device_code rejected: of another application");
        return Err(INVALID);
    }
    Ok(found)
}
