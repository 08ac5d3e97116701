//! Tokens for the admin API: those that an operator creates on the command line, and those of applications.

use std::time::Duration;

use crate::domain::{InternalError, Services, audit};
use assent_model::administration::AdminScopes;
use assent_model::audit::{Actor, AuditContext, Event, Origin};
use assent_model::caller::{Caller, Principal};
use assent_model::clock::Timestamp;
use assent_model::id::{Did, TokenId};
use assent_model::secret::Token;
use assent_model::token::prefix;
use assent_model::token_text::TokenTextError;

/// Issues a new token for the admin API. Returns the token and its expiry.
pub async fn issue_admin_token(
    services: &Services,
    by: &AuditContext,
) -> Result<(Token, Timestamp), InternalError> {
    issue_admin_token_for(services, services.settings.lifetimes.admin_token.get(), by).await
}

/// Issues a token for the admin API that is valid for this time. Returns the token and its expiry.
pub async fn issue_admin_token_for(
    services: &Services,
    life: Duration,
    by: &AuditContext,
) -> Result<(Token, Timestamp), InternalError> {
    let now = services.now();
    let id = TokenId::new(now, &*services.entropy);
    let token = Token::for_people(prefix::ADMIN, id.as_bytes(), &*services.entropy);
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

/// The result of the check of an admin API token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminTokenCheck {
    /// The token with this identifier is valid.
    Valid(TokenId),
    /// A part of the token is missing or was changed.
    Damaged,
    /// The token has expired.
    Expired,
    /// There is no such token, or it was revoked.
    Unknown,
}

/// Checks the text of an admin API token. Only the holder of the token learns that it has expired.
pub async fn admin_token(
    services: &Services,
    text: &str,
) -> Result<AdminTokenCheck, InternalError> {
    let token = match Token::parse_for_people(prefix::ADMIN, text) {
        Ok(token) => token,
        Err(TokenTextError::Damaged) => return Ok(AdminTokenCheck::Damaged),
        Err(TokenTextError::OtherKind) => return Ok(AdminTokenCheck::Unknown),
    };
    let id = TokenId::from_bytes(token.id());
    let stored = services.store.admin_token(id).await?;
    Ok(
        match stored.filter(|(digest, _)| *digest == token.digest()) {
            None => AdminTokenCheck::Unknown,
            Some((_, until)) if until <= services.now() => AdminTokenCheck::Expired,
            Some(_) => AdminTokenCheck::Valid(id),
        },
    )
}

/// Returns the caller for an application with a token of these admin scopes. `None` if none of the scopes is granted
/// any more.
pub async fn service_account(
    services: &Services,
    application: Did,
    token: &AdminScopes,
    from: Origin,
) -> Result<Option<Caller>, InternalError> {
    let Some(client) = services.store.application(&application).await? else {
        return Ok(None);
    };
    let scopes = client.settings.admin_scopes_of(token);
    let by = AuditContext::new(Actor::Application(application), from);
    Ok((!scopes.is_empty()).then_some(Caller {
        by,
        principal: Principal::Application(scopes),
    }))
}
