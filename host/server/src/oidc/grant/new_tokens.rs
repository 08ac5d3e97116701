//! New tokens, and the token response (RFC 6749 section 5.1).

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::domain::{InternalError, Services};
use crate::oidc::client_auth::AuthenticatedClient;
use assent_model::authorization_details::granted::DetailsSelection;
use assent_model::clock::Timestamp;
use assent_model::id::{FamilyId, TokenId};
use assent_model::secret::Secret;
use assent_model::token::{AccessGrant, RefreshGrant, TokenScopes, TokenSource};
use assent_store::NewAccess;

/// The time after the last token of a family during which the reuse of its code or of an old refresh token is still
/// detected.
pub(super) const REUSE_DETECTION: Duration = Duration::from_secs(24 * 60 * 60);

/// The token response (RFC 6749 section 5.1).
#[derive(Debug, Serialize)]
pub struct TokenResponse {
    pub(super) access_token: String,
    pub(super) token_type: &'static str,
    /// The lifetime, in seconds.
    pub(super) expires_in: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refresh_token: Option<String>,
    pub(super) scope: String,
    /// The authorization details of the access token (RFC 9396 section 7).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) authorization_details: Option<Vec<Map<String, Value>>>,
    /// The `sid` of the ID token, for applications that expect it here. OpenID Connect Session Management section 2
    /// defines the member in the authentication response. This server does not implement session management.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session_state: Option<String>,
    /// The identifier of the receipt of an approved back-channel request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) receipt_id: Option<String>,
    /// The identifier of the receipt of the second approval of a back-channel request, in a member of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) second_receipt_id: Option<String>,
}

/// An access token before its issue, without its number in its family, which the store assigns.
#[derive(Debug)]
pub(super) struct AccessDraft {
    id: TokenId,
    issued_at: Timestamp,
    expires_at: Timestamp,
}

impl AccessDraft {
    /// Creates a draft of an access token that expires after `lifetime`.
    pub(super) fn new(services: &Services, lifetime: Duration) -> Self {
        let now = services.now();
        Self {
            id: TokenId::new(now, &*services.entropy),
            issued_at: now,
            expires_at: now + lifetime,
        }
    }

    /// The values for the store.
    pub(super) const fn to_new_access(&self) -> NewAccess {
        NewAccess {
            id: self.id,
            expires_at: self.expires_at,
        }
    }

    pub(super) fn issue(
        &self,
        services: &Services,
        client: &AuthenticatedClient,
        source: TokenSource,
        (scopes, details): (TokenScopes, DetailsSelection),
        epoch: u32,
    ) -> Result<Secret, InternalError> {
        let grant = AccessGrant {
            id: self.id,
            application: client.application.id.clone(),
            source,
            scopes,
            details,
            binding: client.binding(),
            issued_at: self.issued_at,
            expires_at: self.expires_at,
        };
        Ok(services
            .token_sealer
            .seal_access(&grant, epoch, &*services.entropy)?)
    }
}

/// Returns the expiry of a refresh token that is issued now, in a family that was granted at `granted`: no later than
/// that of the consent. Returns `None` if the consent has expired.
pub(super) fn refresh_expiry(services: &Services, granted: Timestamp) -> Option<Timestamp> {
    let now = services.now();
    let lifetimes = services.settings.lifetimes;
    let last = granted + lifetimes.consent.get();
    Some(last.min(now + lifetimes.refresh_token.get())).filter(|expires_at| *expires_at > now)
}

/// Returns the refresh token with this number in its family, in this epoch.
pub(super) fn issue_refresh(
    services: &Services,
    client: &AuthenticatedClient,
    family: FamilyId,
    counter: u32,
    epoch: u32,
    expires_at: Timestamp,
) -> Result<Secret, InternalError> {
    let grant = RefreshGrant {
        family,
        dpop_key: client.refresh_key(),
        counter,
        issued_at: services.now(),
        expires_at,
    };
    Ok(services
        .token_sealer
        .seal_refresh(&grant, epoch, &*services.entropy)?)
}
