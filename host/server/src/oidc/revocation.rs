//! Token revocation (RFC 7009).

use super::client_auth::AuthenticatedClient;
use super::error::TokenError;
use super::parameters::Parameters;
use super::tokens::{Presented, PresentedText};
use crate::domain::{InternalError, Services};
use assent_telemetry::SPANS;

/// Serves a revocation request of an authenticated client. A refresh token revokes its family; an access token revokes
/// only itself. An unknown or expired token counts as revoked. `token_type_hint` is not needed, because a token's
/// prefix names its kind.
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
    parameters.required("token")?;
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

/// The rejection of another client's token (RFC 7009 section 2.1).
const FOREIGN: TokenError = TokenError::InvalidGrant("the token was issued to another client");
