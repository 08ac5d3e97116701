//! Access and refresh tokens that clients present: opened, and compared with the database.

use crate::domain::{InternalError, Services};
use assent_model::clock::Timestamp;
use assent_model::token::{AccessGrant, FamilyTokenSource, RefreshGrant, TokenSource};
use assent_store::FamilyState;

/// A valid access token. Whether its user may still use the application is not checked.
#[derive(Clone, Debug)]
pub struct ValidAccess {
    /// The grant of the token.
    pub grant: AccessGrant,
    /// Its family; `None` for an application's own token.
    pub family: Option<FamilyState>,
}

/// A refresh token of a family that is not revoked. The token may be used or expired.
#[derive(Clone, Debug)]
pub struct OpenRefresh {
    /// The grant of the token.
    pub grant: RefreshGrant,
    /// Its family.
    pub state: FamilyState,
}

impl OpenRefresh {
    /// Whether it can be used at `now`.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.grant.counter == self.state.counter && self.grant.expires_at > now
    }
}

/// Returns the grant of an access token, if it is valid. Its first use after a refresh is recorded before this returns.
pub async fn valid_access(
    services: &Services,
    text: &str,
) -> Result<Option<ValidAccess>, InternalError> {
    let now = services.now();
    let Some(token) = services.token_sealer.open_access(text) else {
        return Ok(None);
    };
    let (grant, epoch) = (token.grant, token.epoch);
    if grant.expires_at <= now {
        return Ok(None);
    }
    let family = match grant.source {
        TokenSource::Application { version } => {
            let found = services
                .store
                .client_token_state(&grant.application, grant.id)
                .await?;
            // The database lost a version that it does not have: it was restored, or failed over, since then.
            let valid = found.is_some_and(|state| {
                !state.token_is_revoked
                    && state.epoch == epoch
                    && state.version >= version
                    && grant.issued_at.seconds() >= state.grants_not_before.seconds()
            });
            return Ok(valid.then_some(ValidAccess {
                grant,
                family: None,
            }));
        }
        TokenSource::Family(source) => source,
    };
    let Some(state) = family_state(services, &grant, family, epoch).await? else {
        return Ok(None);
    };
    let first_use = family.track_use_until.is_some_and(|until| now < until)
        && family.counter == state.counter
        && state.used_counter < family.counter;
    // This is recorded before the response, because a client that used the token must have received the response of the
    // refresh.
    let recorded = !first_use
        || services
            .store
            .record_token_use(family.family, family.counter)
            .await?;
    let state = match recorded {
        true => Some(state),
        // Another use came first, or a retry replaced the token in between.
        false => family_state(services, &grant, family, epoch).await?,
    };
    Ok(state.map(|state| ValidAccess {
        grant,
        family: Some(state),
    }))
}

/// Returns the family of an access token, if neither is revoked.
async fn family_state(
    services: &Services,
    grant: &AccessGrant,
    source: FamilyTokenSource,
    epoch: u32,
) -> Result<Option<FamilyState>, InternalError> {
    let found = services
        .store
        .family_state(source.family, Some(grant.id))
        .await?;
    Ok(found.filter(|state| {
        state.is_open && state.is_in_session && !state.token_is_revoked && state.epoch == epoch
    }))
}

/// Returns the grant of a refresh token, unless its family is revoked or unknown.
pub async fn open_refresh(
    services: &Services,
    text: &str,
) -> Result<Option<OpenRefresh>, InternalError> {
    let Some(token) = services.token_sealer.open_refresh(text) else {
        return Ok(None);
    };
    let (grant, epoch) = (token.grant, token.epoch);
    let found = services.store.family_state(grant.family, None).await?;
    Ok(found
        .filter(|state| state.is_open && state.epoch == epoch)
        .map(|state| OpenRefresh { grant, state }))
}
