//! Token epochs: only tokens of the newest epoch are valid.

use crate::engine::rows::epoch_number;
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::{Result, Store, audit};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;

/// The rows that begin with an approval or a link, and must not return with a backup.
const ENDED: [&str; 6] = [
    "DELETE FROM admin_tokens",
    "DELETE FROM enrolments WHERE used_at IS NULL",
    "DELETE FROM logins WHERE answered_at IS NULL",
    "DELETE FROM action_approvals WHERE claimed_at IS NULL",
    "DELETE FROM backchannel_requests WHERE claimed_at IS NULL",
    "DELETE FROM device_authorizations",
];

impl Store {
    /// Begins a new epoch, which invalidates all earlier access and refresh tokens. It also ends all sessions, operator
    /// tokens, unused authorization codes and enrolment links, open logins and unused approvals. Returns the number of
    /// the epoch.
    pub async fn begin_token_epoch(&self, now: Timestamp, entry: Entry) -> Result<u32> {
        self.write(entry, move |db, entry| {
            Box::pin(async move {
                let epoch = begin_epoch(db, now).await?;
                sql::query(
                    "UPDATE sessions SET ended_at = $1, signed_out = 1 WHERE ended_at IS NULL",
                )
                .bind(now.millis())
                .execute(&mut *db)
                .await?;
                // Unused codes are revoked, because their tokens would belong to the new epoch.
                sql::query(
                    "UPDATE token_families SET revoked_at = $1
                     WHERE exchanged_at IS NULL AND revoked_at IS NULL",
                )
                .bind(now.millis())
                .execute(&mut *db)
                .await?;
                for statement in ENDED {
                    sql::query(statement).execute(&mut *db).await?;
                }
                audit::append(db, std::slice::from_ref(entry)).await?;
                Ok(epoch)
            })
        })
        .await
    }
}

/// Begins a new epoch. Returns its number.
pub(crate) async fn begin_epoch(db: &mut Connection, now: Timestamp) -> Result<u32> {
    let (epoch,): (i64,) = sql::query_as(
        "INSERT INTO token_epochs (epoch, began_at)
         SELECT CASE WHEN MAX(epoch) >= $1 THEN MAX(epoch) + 1 ELSE $1 END, $2 FROM token_epochs
         RETURNING epoch",
    )
    .bind(now.seconds())
    .bind(now.millis())
    .fetch_one(db)
    .await?;
    epoch_number(epoch)
}
