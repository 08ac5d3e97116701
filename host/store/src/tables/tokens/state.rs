//! The validity of a token, and its account and application in the versions that were read with it.

use std::sync::Arc;

use super::family::TokenFamily;
use super::state_rows::{CallerRow, HolderVersion};
use crate::engine::rows::{cell, digest, epoch_number, moment};
use crate::engine::sql;
use crate::tables::accounts::user_account::UserAccount;
use crate::{Result, Store};
use assent_model::application::RegisteredApplication;
use assent_model::clock::Timestamp;
use assent_model::id::{AccountId, Did, FamilyId, TokenId};
use assent_model::secret::Digest;

/// A family is not cached if its `claims` parameter has more values than this, or if it has authorization details.
const MOST_VALUES: usize = 64;

/// A family and one of its tokens at the time of the request.
#[derive(Clone, Debug)]
pub struct FamilyState {
    /// The constant part of the family.
    pub family: Arc<TokenFamily>,
    /// Whether the family is not revoked, the consent not withdrawn, and the application not disabled since.
    pub is_open: bool,
    /// Whether the family has not ended with a session that the user ended.
    pub is_in_session: bool,
    /// Whether the access token was revoked separately.
    pub token_is_revoked: bool,
    /// The number of refreshes, which is also the number of the newest tokens.
    pub counter: u32,
    /// The number of the newest refresh with a used access token.
    pub used_counter: u32,
    /// The epoch in which tokens are valid.
    pub epoch: u32,
    versions: Versions,
}

/// The versions of the rows that a family refers to.
#[derive(Clone, Copy, Debug)]
struct Versions {
    holder: HolderVersion,
    application: (i64, i64),
}

/// An application's own token at the time of the request.
#[derive(Clone, Debug)]
pub struct ClientTokenState {
    /// The version of the application's settings.
    pub version: i64,
    /// The application was disabled since: tokens from before this time are invalid.
    pub grants_not_before: Timestamp,
    /// Whether the token was revoked.
    pub token_is_revoked: bool,
    /// The epoch in which tokens are valid.
    pub epoch: u32,
}

impl Store {
    /// The digest of the code with this id, if it was issued since a time, and an application can still exchange it.
    pub async fn open_code(
        &self,
        id: FamilyId,
        since: Timestamp,
        now: Timestamp,
    ) -> Result<Option<Digest>> {
        let open: Option<(String,)> = sql::query_as(
            "SELECT code_digest FROM token_families
             WHERE id = $1 AND exchanged_at IS NULL AND revoked_at IS NULL AND code_expires_at > $2
               AND created_at >= $3",
        )
        .bind(id.to_string())
        .bind(now.millis())
        .bind(since.millis())
        .fetch_optional(&self.readers)
        .await?;
        open.map(|(code,)| {
            digest(
                &code,
                cell("token_families", "code_digest", &id.to_string()),
            )
        })
        .transpose()
    }

    /// The constant part of a family.
    pub(super) async fn token_family(&self, id: FamilyId) -> Result<Option<Arc<TokenFamily>>> {
        if let Some(found) = self.caches.families.get(&id, ()) {
            return Ok(Some(found));
        }
        let found = self.lookups.families.call(id.to_string()).await?;
        if let Some(family) = &found
            && family.context.claims.values() <= MOST_VALUES
            && family.context.authorization_details.is_empty()
        {
            self.caches.families.insert(id, (), Arc::clone(family));
        }
        Ok(found)
    }

    /// The current state of a family, and whether `token` was revoked separately. `None` if the family does not exist.
    pub async fn family_state(
        &self,
        family: FamilyId,
        token: Option<TokenId>,
    ) -> Result<Option<FamilyState>> {
        let found = self.family_state_for(family, token, String::new()).await?;
        Ok(found.map(|(state, _)| state))
    }

    /// The same, with the application that sent the request.
    pub(super) async fn family_state_for(
        &self,
        family: FamilyId,
        token: Option<TokenId>,
        caller: String,
    ) -> Result<Option<(FamilyState, CallerRow)>> {
        let token = token.map(|id| id.to_string()).unwrap_or_default();
        let key = (family.to_string(), token, caller);
        let Some(row) = self.lookups.family_states.call(key).await? else {
            return Ok(None);
        };
        let Some(family) = self.token_family(family).await? else {
            return Ok(None);
        };
        let number = |column, value| {
            u32::try_from(value).map_err(|_| cell("token_families", column, &row.id).unexpected())
        };
        let application = (row.application_version, row.application_updated_at);
        let state = FamilyState {
            family,
            is_open: row.open,
            is_in_session: row.in_session,
            token_is_revoked: row.token_revoked,
            counter: number("counter", row.counter)?,
            used_counter: number("used_counter", row.used_counter)?,
            epoch: epoch_number(row.caller.epoch)?,
            versions: Versions {
                holder: [
                    (row.account_version, row.account_updated_at),
                    (row.user_version, row.user_updated_at),
                    application,
                ],
                application,
            },
        };
        Ok(Some((state, row.caller)))
    }

    /// The account and the user of a family, in the versions that [`Store::family_state`] found, or in later ones.
    pub async fn holder_of(&self, state: &FamilyState) -> Result<Option<Arc<UserAccount>>> {
        self.holder_in(state.family.subject.account_id, state.versions.holder)
            .await
    }

    /// The account with its user in these versions, or in later ones.
    pub(crate) async fn holder_in(
        &self,
        id: AccountId,
        versions: HolderVersion,
    ) -> Result<Option<Arc<UserAccount>>> {
        if let Some(found) = self.caches.holders.get(&id, versions) {
            return Ok(Some(found));
        }
        let Some(found) = self.lookups.user_accounts.call(id.to_string()).await? else {
            return Ok(None);
        };
        let user_account = Arc::new(found.user_account);
        self.caches
            .holders
            .insert(id, found.versions, Arc::clone(&user_account));
        Ok(Some(user_account))
    }

    /// The application of a family, in the version that [`Store::family_state`] found, or in a later one.
    pub async fn application_of(
        &self,
        state: &FamilyState,
    ) -> Result<Option<RegisteredApplication>> {
        self.registered_version(&state.family.application, state.versions.application)
            .await
    }

    /// The current state of an application's own token, with the application that sent the request. `None` if the
    /// application of the token does not exist.
    pub(super) async fn client_token_state_for(
        &self,
        application: &Did,
        token: TokenId,
        caller: String,
    ) -> Result<Option<(ClientTokenState, CallerRow)>> {
        let key = (application.to_string(), token.to_string(), caller);
        let found = self.lookups.client_states.call(key).await?;
        found
            .map(|row| {
                let state = ClientTokenState {
                    version: row.version,
                    grants_not_before: moment(row.grants_not_before),
                    token_is_revoked: row.token_revoked,
                    epoch: epoch_number(row.caller.epoch)?,
                };
                Ok((state, row.caller))
            })
            .transpose()
    }
}
