//! The revocation of all tokens.

use crate::domain::{InternalError, Services, audit};
use assent_model::audit::{AuditContext, Event};

/// Revokes all access and refresh tokens of all applications, on all instances at once, with a new token epoch. All
/// sessions, operator tokens, unused enrolment links, open sign-ins and unused approvals end too. Returns the number of
/// the epoch.
pub async fn revoke_all_tokens(
    services: &Services,
    by: &AuditContext,
) -> Result<u32, InternalError> {
    let entry = audit::entry(services, Event::TokensRevoked, by);
    Ok(services
        .store
        .begin_token_epoch(services.now(), entry)
        .await?)
}
