//! The identifiers of users at the authenticators of vendors.

use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::error::must_be_found;
use crate::{Result, Store, UserGuard};
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
}

/// Sets a user's identifier for a channel.
pub(super) async fn set(
    db: &mut Connection,
    guard: UserGuard,
    identifier: &ExternalAuthenticator,
) -> Result<()> {
    let user = guard.lock(db).await?;
    let set = sql::query(
        "INSERT INTO external_authenticators (user_id, channel, identifier)
         SELECT users.id, $2, $3 FROM users WHERE users.id = $1
         ON CONFLICT (user_id, channel) DO UPDATE SET identifier = excluded.identifier",
    )
    .bind(user.to_string())
    .bind(&identifier.channel)
    .bind(&identifier.identifier)
    .execute(db)
    .await?;
    must_be_found(set, "user")
}

/// Removes a user's identifier for a channel.
pub(super) async fn remove(db: &mut Connection, guard: UserGuard, channel: &str) -> Result<()> {
    let user = guard.lock(db).await?;
    let removed =
        sql::query("DELETE FROM external_authenticators WHERE user_id = $1 AND channel = $2")
            .bind(user.to_string())
            .bind(channel.to_owned())
            .execute(db)
            .await?;
    must_be_found(removed, "external authenticator")
}
