//! What can change of the validity of a token, and the contents in the versions that it was read with.

use std::sync::Arc;

use super::epochs::epoch_number;
use super::family::TokenFamily;
use crate::accounts::UserAccount;
use crate::batch::loader::Row;
use crate::rows::cell;
use crate::{Result, Store};
use assent_model::application::RegisteredApplication;
use assent_model::id::{Did, FamilyId, TokenId};

/// `open` is 1 if neither the family is revoked nor the consent withdrawn; `in_session` if the family does not end with
/// a session that the user ended.
pub(crate) const FAMILY_STATE: &str = "SELECT f.id, v.column2 AS token,
        f.counter, f.used_counter,
        CASE WHEN f.revoked_at IS NULL AND a.grants_not_before <= f.created_at THEN 1 ELSE 0 END AS open,
        CASE WHEN f.offline = 1 OR COALESCE(s.signed_out, 0) = 0 THEN 1 ELSE 0 END AS in_session,
        CASE WHEN r.id IS NULL THEN 0 ELSE 1 END AS token_revoked,
        a.version AS account_version, u.version AS user_version, u.updated_at AS user_updated_at,
        p.version AS application_version, p.updated_at AS application_updated_at,
        (SELECT MAX(epoch) FROM token_epochs) AS epoch
    FROM (VALUES {($, $)}) AS v
    JOIN token_families f ON f.id = v.column1
    JOIN accounts a ON a.id = f.account_id
    JOIN users u ON u.id = a.user_id
    JOIN applications p ON p.id = f.application_id
    LEFT JOIN sessions s ON s.id = f.session_id
    LEFT JOIN revoked_tokens r ON r.id = v.column2";

pub(crate) const CLIENT_STATE: &str = "SELECT p.id, v.column2 AS token, p.version, p.updated_at,
        CASE WHEN r.id IS NULL THEN 0 ELSE 1 END AS token_revoked,
        (SELECT MAX(epoch) FROM token_epochs) AS epoch
    FROM (VALUES {($, $)}) AS v
    JOIN applications p ON p.id = v.column1
    LEFT JOIN revoked_tokens r ON r.id = v.column2";

/// A family and one of its tokens at the time of the request.
#[derive(Clone, Debug)]
pub struct FamilyState {
    /// What never changes.
    pub family: Arc<TokenFamily>,
    /// Neither the family is revoked nor the consent withdrawn.
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

/// The versions of an account and of its user, and when the user was changed last: a fail-over may lose a version,
/// whose number the next change uses again.
pub(crate) type HolderVersion = (i64, i64, i64);

/// The versions of the rows that a family refers to.
#[derive(Clone, Copy, Debug)]
struct Versions {
    holder: HolderVersion,
    application: (i64, i64),
}

/// An application's own token at the time of the request.
#[derive(Clone, Debug)]
pub struct ClientTokenState {
    /// The application.
    pub application: RegisteredApplication,
    /// The version of its settings.
    pub version: i64,
    /// The token was revoked.
    pub token_is_revoked: bool,
    /// The epoch in which tokens are valid.
    pub epoch: u32,
}

crate::sql::row! {
    #[derive(Clone)]
    pub(crate) struct FamilyStateRow {
        id: String,
        token: String,
        counter: i64,
        used_counter: i64,
        open: bool,
        in_session: bool,
        token_revoked: bool,
        account_version: i64,
        user_version: i64,
        user_updated_at: i64,
        application_version: i64,
        application_updated_at: i64,
        epoch: i64,
    }
}

impl Row for FamilyStateRow {
    type Key = (String, String);
    type Value = Self;
    fn key(&self) -> Self::Key {
        (self.id.clone(), self.token.clone())
    }
}

crate::sql::row! {
    #[derive(Clone)]
    pub(crate) struct ClientStateRow {
        id: String,
        token: String,
        version: i64,
        updated_at: i64,
        token_revoked: bool,
        epoch: i64,
    }
}

impl Row for ClientStateRow {
    type Key = (String, String);
    type Value = Self;
    fn key(&self) -> Self::Key {
        (self.id.clone(), self.token.clone())
    }
}

impl Store {
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
                holder: (row.account_version, row.user_version, row.user_updated_at),
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
        let found = self.account_with_user(id).await?.map(Arc::new);
        if let Some(found) = &found {
            let (account, user) = (&found.account, &found.user);
            let version = (account.version, user.version, user.updated_at.millis());
            self.caches.holders.insert(id, version, Arc::clone(found));
        }
        Ok(found)
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
        let Some(row) = self.lookups.client_states.call(key).await? else {
            return Ok(None);
        };
        let version = (row.version, row.updated_at);
        let Some(application) = self.registered_version(application, version).await? else {
            return Ok(None);
        };
        Ok(Some(ClientTokenState {
            application,
            version: row.version,
            token_is_revoked: row.token_revoked,
            epoch: epoch_number(row.epoch)?,
        }))
    }
}
