//! The retry of a refresh, of which there is at most one.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::family::revoke;
use super::issuance::next_counter;
use super::issuance_requests::{NewAccess, Rotation};
use crate::engine::batch::bulk_sql::{BulkSql, first_of_each};
use crate::engine::locked_rows::LockedRow;
use crate::engine::rows::epoch_number;
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::engine::transactions::SharedWrite;
use crate::{Result, Store, audit};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::id::FamilyId;

/// Revokes the access token of the first response, unless it was used or revoked.
const REVOKE_FIRST: &str = "INSERT INTO revoked_tokens (id, expires_at)
    SELECT access_token, access_expires_at FROM token_families
    WHERE id = $1 AND counter = $2 AND retry_at = $3 AND used_counter < counter AND revoked_at IS NULL
    ON CONFLICT (id) DO NOTHING";

/// Checks the conditions again, with the row locked, because another transaction may have used the first response in
/// between.
const ANSWER: &str = "UPDATE token_families
    SET counter = counter + 1, retry_at = -1, access_token = $4, access_expires_at = $5
    WHERE id = $1 AND counter = $2 AND retry_at = $3 AND used_counter < counter AND revoked_at IS NULL
    RETURNING (SELECT MAX(epoch) FROM token_epochs)";

/// The use of an access token that a refresh returned.
#[derive(Clone, Copy)]
struct TokenUse {
    family: FamilyId,
    counter: u32,
}

static USE: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "UPDATE token_families SET used_counter = v.column2 FROM (VALUES {($, $)}) AS v
         WHERE token_families.id = v.column1 AND counter = v.column2 AND used_counter < v.column2
         RETURNING token_families.id, used_counter",
        0,
    )
});

impl SharedWrite for TokenUse {
    type Output = bool;
    const RANK: u8 = 3;

    fn locked_row(&self) -> Option<LockedRow> {
        Some(LockedRow::Family(self.family))
    }

    async fn execute(db: &mut Connection, uses: &[&Self]) -> Result<Vec<bool>> {
        let row = |used: &Self| (used.family.to_string(), i64::from(used.counter));
        let first = first_of_each(uses, row);
        let mut query = sql::query_as::<(String, i64)>(USE.sql_for(first.len()));
        for used in USE.padded(&first) {
            query = query.bind(used.family.to_string()).bind(used.counter);
        }
        let changed = query.fetch_all(db).await?.into_iter();
        let mut changed: HashSet<(String, i64)> = changed.collect();
        Ok(uses.iter().map(|used| changed.remove(&row(used))).collect())
    }
}

impl Store {
    /// Records that the access token of the last refresh was used, so that the refresh cannot be retried. Returns
    /// whether it was the last refresh, and the first use.
    pub async fn record_token_use(&self, family: FamilyId, counter: u32) -> Result<bool> {
        self.writer.share(TokenUse { family, counter }).await
    }

    /// Answers the retry of a refresh after the loss of its response. The retry was requested at `retry_at`, with the
    /// token of this number. `access` and a refresh token replace those of the first response, if none of these was
    /// used. Otherwise the family is revoked.
    pub async fn answer_retry(
        &self,
        family: FamilyId,
        counter: u32,
        retry_at: Timestamp,
        access: NewAccess,
        reuse: Entry,
        now: Timestamp,
    ) -> Result<Rotation> {
        self.writer
            .write_to_row(
                Some(LockedRow::Family(family)),
                None,
                reuse,
                move |db, reuse| {
                    Box::pin(async move {
                        let first = next_counter(counter, family)?;
                        if let Some(epoch) =
                            replace_first(db, family, first, retry_at, access).await?
                        {
                            return Ok(Rotation::Rotated {
                                counter: next_counter(first, family)?,
                                epoch,
                            });
                        }
                        revoke(db, family, now).await?;
                        audit::append(db, std::slice::from_ref(reuse)).await?;
                        Ok(Rotation::Reused)
                    })
                },
            )
            .await
    }

    /// Withdraws an unanswered retry, so that another one is possible.
    pub async fn withdraw_retry(
        &self,
        family: FamilyId,
        counter: u32,
        retry_at: Timestamp,
    ) -> Result<()> {
        self.writer.write_to_row(Some(LockedRow::Family(family)), None, (), move |db, ()| {
            Box::pin(async move {
                sql::query(
                    "UPDATE token_families SET retry_at = 0 WHERE id = $1 AND counter = $2 AND retry_at = $3",
                )
                .bind(family.to_string())
                .bind(next_counter(counter, family)?)
                .bind(retry_at.millis())
                .execute(db)
                .await?;
                Ok(())
            })
        })
        .await
    }
}

/// Replaces the tokens of the first response. Returns the epoch of the new ones; `None` if the first ones were used.
async fn replace_first(
    db: &mut Connection,
    family: FamilyId,
    first: u32,
    retry_at: Timestamp,
    access: NewAccess,
) -> Result<Option<u32>> {
    let revoked = sql::query(REVOKE_FIRST)
        .bind(family.to_string())
        .bind(first)
        .bind(retry_at.millis())
        .execute(&mut *db)
        .await?;
    if revoked == 0 {
        return Ok(None);
    }
    let answered: Option<(i64,)> = sql::query_as(ANSWER)
        .bind(family.to_string())
        .bind(first)
        .bind(retry_at.millis())
        .bind(access.id.to_string())
        .bind(access.expires_at.millis())
        .fetch_optional(db)
        .await?;
    answered.map(|(epoch,)| epoch_number(epoch)).transpose()
}
