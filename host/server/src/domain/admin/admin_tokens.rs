//! Tokens for the admin API, which an operator creates on the command line.

use std::time::Duration;

use crate::domain::{InternalError, Services, audit};
use assent_model::audit::{AuditContext, Event};
use assent_model::clock::Timestamp;
use assent_model::id::TokenId;
use assent_model::secret::Token;
use assent_model::token::prefix;

/// Issues a new token for the admin API. Returns the token and its expiry.
///
/// # Errors
/// If the database fails.
pub async fn issue_admin_token(
    services: &Services,
    by: &AuditContext,
) -> Result<(Token, Timestamp), InternalError> {
    issue_admin_token_for(services, services.settings.lifetimes.admin_token.get(), by).await
}

/// Issues a token for the admin API that is valid for this time. Returns the token and its expiry.
///
/// # Errors
/// If the database fails.
pub async fn issue_admin_token_for(
    services: &Services,
    life: Duration,
    by: &AuditContext,
) -> Result<(Token, Timestamp), InternalError> {
    let now = services.now();
    let id = TokenId::new(now, &*services.entropy);
    let token = Token::new(prefix::ADMIN, id.as_bytes(), &*services.entropy);
    let until = now + life;
    // Audit entries name the identifier as the actor. The secret is another part of the token.
    let entry = audit::entry(services, Event::AdminTokenCreated, by);
    let entry = entry
        .with("token", id.to_string())
        .with("expires_at", until.seconds());
    services
        .store
        .insert_admin_token(id, token.digest(), now, until, entry)
        .await?;
    Ok((token, until))
}

/// Returns the identifier of the admin API token with this text, if it is valid.
///
/// # Errors
/// If the database fails.
pub async fn admin_token(
    services: &Services,
    text: &str,
) -> Result<Option<TokenId>, InternalError> {
    let Some(token) = Token::parse(prefix::ADMIN, text) else {
        return Ok(None);
    };
    let id = TokenId::from_bytes(token.id());
    let stored = services.store.open_admin_token(id, services.now()).await?;
    Ok(stored
        .filter(|digest| *digest == token.digest())
        .map(|_| id))
}
