//! The identifiers of users at the authenticators of vendors.

use crate::engine::sql;
use crate::tables::users;
use crate::{Result, Store, UserGuard, audit};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::delivery::ExternalAuthenticator;
use assent_model::id::UserId;

impl Store {
    /// The user's identifiers, each with the name of its channel.
    pub async fn external_authenticators(
        &self,
        user: UserId,
    ) -> Result<Vec<ExternalAuthenticator>> {
        let rows: Vec<(String, String)> = sql::query_as(
            "SELECT channel, identifier FROM external_authenticators WHERE user_id = $1 ORDER BY channel",
        )
        .bind(user.to_string())
        .fetch_all(&self.readers)
        .await?;
        Ok(rows
            .into_iter()
            .map(|(channel, identifier)| ExternalAuthenticator {
                channel,
                identifier,
            })
            .collect())
    }

    /// Sets a user's identifier for a channel, with which the user can approve. An invited user becomes active, which
    /// `activated` records. Returns `false` and changes nothing if the user does not exist.
    ///
    /// # Errors
    /// [`StoreError::Stale`](crate::StoreError::Stale) if the user's version does not match `guard`.
    pub async fn set_external_authenticator(
        &self,
        guard: impl Into<UserGuard>,
        identifier: ExternalAuthenticator,
        entries: Vec<Entry>,
        activated: Option<Entry>,
        now: Timestamp,
    ) -> Result<bool> {
        let guard = guard.into();
        let input = (identifier, entries, activated);
        self.write(input, move |db, (identifier, entries, activated)| {
            Box::pin(async move {
                let user = guard.lock(db).await?;
                let set = sql::query(
                    "INSERT INTO external_authenticators (user_id, channel, identifier)
                     SELECT users.id, $2, $3 FROM users WHERE users.id = $1
                     ON CONFLICT (user_id, channel) DO UPDATE SET identifier = excluded.identifier",
                )
                .bind(user.to_string())
                .bind(&identifier.channel)
                .bind(&identifier.identifier)
                .execute(&mut *db)
                .await?;
                if set == 0 {
                    return Ok(false);
                }
                audit::append(db, entries).await?;
                users::activate(db, user, activated.as_ref(), now).await?;
                Ok(true)
            })
        })
        .await
    }

    /// Removes a user's identifier for a channel. Returns whether there was one.
    ///
    /// # Errors
    /// [`StoreError::Stale`](crate::StoreError::Stale) if the user's version does not match `guard`.
    pub async fn remove_external_authenticator(
        &self,
        guard: impl Into<UserGuard>,
        channel: &str,
        entries: Vec<Entry>,
    ) -> Result<bool> {
        let guard = guard.into();
        let input = (channel.to_owned(), entries);
        self.write(input, move |db, (channel, entries)| {
            Box::pin(async move {
                let user = guard.lock(db).await?;
                let removed = sql::query(
                    "DELETE FROM external_authenticators WHERE user_id = $1 AND channel = $2",
                )
                .bind(user.to_string())
                .bind(channel)
                .execute(&mut *db)
                .await?;
                if removed == 0 {
                    return Ok(false);
                }
                audit::append(db, entries).await?;
                Ok(true)
            })
        })
        .await
    }
}
