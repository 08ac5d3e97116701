//! The revocation of all tokens.

use crate::domain::{InternalError, Services, audit};
use assent_model::audit::{AuditContext, Event};

/// Revokes all access and refresh tokens of all applications, by a new epoch. Other instances issue tokens of the new
/// epoch after a few seconds; until then their new tokens are not valid. Returns the number of the epoch.
///
/// # Errors
/// If the database fails.
pub async fn revoke_all_tokens(
    services: &Services,
    by: &AuditContext,
) -> Result<u32, InternalError> {
    let entry = audit::entry(services, Event::TokensRevoked, by);
    let epoch = services
        .store
        .begin_token_epoch(services.now(), entry)
        .await?;
    services.token_sealer.set_epoch(epoch);
    Ok(epoch)
}
