//! Token revocation (RFC 7009). An application withdraws its back-channel request by the revocation of its
//! `auth_req_id`.

use super::client_auth::AuthenticatedClient;
use super::error::TokenError;
use super::parameters::Parameters;
use super::tokens::{Presented, PresentedText};
use crate::domain::{InternalError, Services};
use assent_model::id::BackchannelRequestId;
use assent_model::secret::Token;
use assent_model::token::prefix;
use assent_telemetry::SPANS;

/// Serves a revocation request of an authenticated client. A refresh token revokes its family; an access token revokes
/// only itself. An unknown or expired token counts as revoked. `token_type_hint` is not needed, because a token's
/// prefix names its kind.
///
/// The revocation of an `auth_req_id` ends the request: it disappears from the devices, and can no longer be claimed.
///
/// # Errors
/// [`TokenError`] if the token belongs to another client, is missing, or the database fails.
#[tracing::instrument(target = SPANS, skip_all, name = "oidc.revocation")]
pub async fn revoke(
    services: &Services,
    client: &AuthenticatedClient,
    parameters: &Parameters,
    presented: Option<Presented>,
) -> Result<(), TokenError> {
    let text = parameters.required("token")?;
    if let Some(token) = Token::parse(prefix::BACKCHANNEL_REQUEST, text) {
        return withdraw(services, client, &token).await;
    }
    let now = services.now();
    let application = &client.application.id;
    let Some(presented) = presented else {
        return Ok(());
    };
    if matches!(presented.text, PresentedText::Refresh(_)) {
        let Some(found) = presented.into_open_refresh() else {
            return Ok(());
        };
        let family = &found.state.family;
        if family.application != *application {
            return Err(FOREIGN);
        }
        services
            .store
            .revoke_family(family.id, now)
            .await
            .map_err(InternalError::from)?;
        tracing::info!(%application, family = %family.id, "refresh token revoked, token family revoked");
        return Ok(());
    }
    let Some(found) = presented.into_valid_access(services).await? else {
        return Ok(());
    };
    if found.grant.application != *application {
        return Err(FOREIGN);
    }
    services
        .store
        .revoke_access(found.grant.id, found.grant.expires_at)
        .await
        .map_err(InternalError::from)?;
    tracing::info!(%application, "access token revoked");
    Ok(())
}

/// Ends a back-channel request of this client. Nothing happens if the client received its tokens before.
async fn withdraw(
    services: &Services,
    client: &AuthenticatedClient,
    token: &Token,
) -> Result<(), TokenError> {
    let application = &client.application.id;
    let id = BackchannelRequestId::from_bytes(token.id());
    let found = services
        .store
        .backchannel_request(id)
        .await
        .map_err(InternalError::from)?
        .filter(|found| found.digest == token.digest());
    let Some(found) = found else {
        return Ok(());
    };
    if found.application != *application {
        return Err(FOREIGN);
    }
    let withdrawn = services
        .store
        .withdraw_backchannel_request(id, services.now())
        .await
        .map_err(InternalError::from)?;
    if withdrawn {
        tracing::info!(%application, request = %id, "back-channel request withdrawn");
    }
    Ok(())
}

/// The rejection of another client's token (RFC 7009 section 2.1).
const FOREIGN: TokenError = TokenError::InvalidGrant("the token was issued to another client");
