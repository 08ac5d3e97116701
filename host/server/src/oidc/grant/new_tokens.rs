//! New tokens, and the token response (RFC 6749 section 5.1).

use std::time::Duration;

use serde::Serialize;

use crate::domain::Services;
use crate::oidc::client_auth::AuthenticatedClient;
use assent_model::clock::Timestamp;
use assent_model::id::{CodeId, TokenId};
use assent_model::secret::Token;
use assent_model::token::{AccessGrant, RefreshGrant, TokenScopes, prefix};

/// The token response (RFC 6749 section 5.1).
#[derive(Debug, Serialize)]
pub struct TokenResponse {
    pub(super) access_token: String,
    pub(super) token_type: &'static str,
    /// Seconds.
    pub(super) expires_in: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refresh_token: Option<String>,
    pub(super) scope: String,
}

/// A new access token, good for `lifetime` seconds, and what is kept of it.
pub(super) fn new_access(
    services: &Services,
    client: &AuthenticatedClient,
    family: Option<CodeId>,
    scopes: TokenScopes,
    lifetime: Duration,
) -> (Token, AccessGrant) {
    let now = services.now();
    let id = TokenId::new(now, &*services.entropy);
    let token = Token::new(prefix::ACCESS, id.as_bytes(), &*services.entropy);
    let grant = AccessGrant {
        id,
        digest: token.digest(),
        application: client.application.id.clone(),
        family,
        scopes,
        certificate: client.certificate,
        issued_at: now,
        expires_at: now + lifetime,
        track_use_until: None,
    };
    (token, grant)
}

/// A new refresh token of a family that was granted at `granted`, and what is kept of it. It is good no longer than the
/// consent; `None` once that is over.
pub(super) fn new_refresh(
    services: &Services,
    client: &AuthenticatedClient,
    family: CodeId,
    granted: Timestamp,
) -> Option<(Token, RefreshGrant)> {
    let now = services.now();
    let lifetimes = services.settings.lifetimes;
    let last = granted + lifetimes.consent.get();
    let expires_at = last.min(now + lifetimes.refresh_token.get());
    if expires_at <= now {
        return None;
    }
    let id = TokenId::new(now, &*services.entropy);
    let token = Token::new(prefix::REFRESH, id.as_bytes(), &*services.entropy);
    let application = client.application.id.clone();
    Some((
        token.clone(),
        RefreshGrant {
            id,
            digest: token.digest(),
            application,
            family,
            issued_at: now,
            expires_at,
        },
    ))
}
