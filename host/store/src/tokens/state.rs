//! What can change of the validity of a token, and the contents in the versions that it was read with.

use std::sync::Arc;

use super::family::TokenFamily;
use super::state_rows::HolderVersion;
use crate::accounts::UserAccount;
use crate::rows::{cell, epoch_number, moment};
use crate::{Result, Store};
use assent_model::application::RegisteredApplication;
use assent_model::clock::Timestamp;
use assent_model::id::{Did, FamilyId, TokenId};
use assent_model::token::CodeGrant;

/// A family whose `claims` parameter has more values than this does not stay in memory.
const MOST_VALUES: usize = 64;

/// A family and one of its tokens at the time of the request.
#[derive(Clone, Debug)]
pub struct FamilyState {
    /// What never changes.
    pub family: Arc<TokenFamily>,
    /// The family is not revoked, the consent not withdrawn, and the application was not disabled since.
    pub is_open: bool,
    /// The family does not end with a session that the user ended.
    pub is_in_session: bool,
    /// The access token was revoked by itself.
    pub token_is_revoked: bool,
    /// The number of refreshes: that of the newest tokens.
    pub counter: u32,
    /// The number of the newest refresh whose access token was used.
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
    /// Tokens of earlier times are not valid, because the application was disabled since.
    pub grants_not_before: Timestamp,
    /// The token was revoked.
    pub token_is_revoked: bool,
    /// The epoch in which tokens are valid.
    pub epoch: u32,
}

impl Store {
    /// The code with this id, used or not.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn code(&self, id: FamilyId) -> Result<Option<CodeGrant>> {
        self.lookups.codes.call(id.to_string()).await
    }

    /// What never changes of a family.
    pub(super) async fn token_family(&self, id: FamilyId) -> Result<Option<Arc<TokenFamily>>> {
        if let Some(found) = self.caches.families.get(&id, ()) {
            return Ok(Some(found));
        }
        let found = self.lookups.families.call(id.to_string()).await?;
        if let Some(family) = &found
            && family.context.claims.values() <= MOST_VALUES
        {
            self.caches.families.insert(id, (), Arc::clone(family));
        }
        Ok(found)
    }

    /// A family as it is now, and whether `token` was revoked by itself. `None` if it does not exist.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn family_state(
        &self,
        family: FamilyId,
        token: Option<TokenId>,
    ) -> Result<Option<FamilyState>> {
        let token = token.map(|id| id.to_string()).unwrap_or_default();
        let key = (family.to_string(), token);
        let Some(row) = self.lookups.family_states.call(key).await? else {
            return Ok(None);
        };
        let Some(family) = self.token_family(family).await? else {
            return Ok(None);
        };
        let number = |column, value| {
            u32::try_from(value).map_err(|_| cell("token_families", column, &row.id).unexpected())
        };
        Ok(Some(FamilyState {
            family,
            is_open: row.open,
            is_in_session: row.in_session,
            token_is_revoked: row.token_revoked,
            counter: number("counter", row.counter)?,
            used_counter: number("used_counter", row.used_counter)?,
            epoch: epoch_number(row.epoch)?,
            versions: Versions {
                holder: (
                    row.account_version,
                    row.user_version,
                    row.user_updated_at,
                    (row.application_version, row.application_updated_at),
                ),
                application: (row.application_version, row.application_updated_at),
            },
        }))
    }

    /// The account and the user of a family, in the versions that [`Store::family_state`] found, or in later ones.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn holder_of(&self, state: &FamilyState) -> Result<Option<Arc<UserAccount>>> {
        let id = state.family.subject.account_id;
        if let Some(found) = self.caches.holders.get(&id, state.versions.holder) {
            return Ok(Some(found));
        }
        let Some(found) = self.lookups.user_accounts.call(id.to_string()).await? else {
            return Ok(None);
        };
        let (account, user) = (&found.person.account, &found.person.user);
        let version = (
            account.version,
            user.version,
            user.updated_at.millis(),
            found.application_version,
        );
        let person = Arc::new(found.person);
        self.caches.holders.insert(id, version, Arc::clone(&person));
        Ok(Some(person))
    }

    /// The application of a family, in the version that [`Store::family_state`] found, or in a later one.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn application_of(
        &self,
        state: &FamilyState,
    ) -> Result<Option<RegisteredApplication>> {
        self.registered_version(&state.family.application, state.versions.application)
            .await
    }

    /// An application's own token as it is now. `None` if the application does not exist.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn client_token_state(
        &self,
        application: &Did,
        token: TokenId,
    ) -> Result<Option<ClientTokenState>> {
        let key = (application.to_string(), token.to_string());
        let found = self.lookups.client_states.call(key).await?;
        found
            .map(|row| {
                Ok(ClientTokenState {
                    version: row.version,
                    grants_not_before: moment(row.grants_not_before),
                    token_is_revoked: row.token_revoked,
                    epoch: epoch_number(row.epoch)?,
                })
            })
            .transpose()
    }
}
