//! AccessLookup and refresh tokens.

mod lookup;

use crate::sql::{self, Connection};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::id::TokenId;
use assent_model::token::IssuedPair;

use crate::{Result, Store, audit, codes};

use crate::batch::issuance_queues::Rotation;
use crate::batch::token_inserts;
use crate::rows::{cell, parse};

pub(crate) use lookup::{
    ACCESS_TOKEN_BY_ID, AccessLookup, AccessRow, REFRESH_TOKEN_BY_ID, RefreshLookup, RefreshRow,
};
pub use lookup::{ActiveAccessToken, RefreshTokenState, TokenFamily};

impl Store {
    /// The access token with this id, if neither it nor its family is revoked or over at `now`. Whether the person and
    /// the account may still be used is not looked at.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn open_access(
        &self,
        id: TokenId,
        now: Timestamp,
    ) -> Result<Option<ActiveAccessToken>> {
        let found = self.lookups.access_tokens.call(id.to_string()).await?;
        Ok(found
            .and_then(|AccessLookup(found)| found)
            .filter(|found| found.grant.expires_at > now))
    }

    /// Notes that an access token was used, so that the refresh that gave it can't be repeated any more.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn record_token_use(&self, id: TokenId, now: Timestamp) -> Result<()> {
        self.write(move |db| {
            Box::pin(async move {
                sql::query(
                    "UPDATE access_tokens SET used_at = $2 WHERE id = $1 AND used_at IS NULL",
                )
                .bind(id.to_string())
                .bind(now.millis())
                .execute(db)
                .await?;
                Ok(())
            })
        })
        .await
    }

    /// The refresh token with this id, good or not, unless its family is revoked or over.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn refresh_token(
        &self,
        id: TokenId,
        now: Timestamp,
    ) -> Result<Option<RefreshTokenState>> {
        let found = self
            .lookups
            .refresh_tokens
            .call(id.to_string())
            .await?
            .filter(|refresh| refresh.open);
        Ok(found.map(
            |RefreshLookup {
                 unused,
                 grant,
                 family,
                 ..
             }| RefreshTokenState {
                is_active: unused && grant.expires_at > now,
                grant,
                family,
            },
        ))
    }

    /// Answers the one repeat of a use whose answer was lost: `pair` takes the place of the first answer, if neither of
    /// its tokens was ever used. If one was, or the family was revoked meanwhile, the family is revoked.
    ///
    /// # Errors
    /// If the database fails, or the audit log cannot be extended.
    pub async fn repeat_rotation(
        &self,
        id: TokenId,
        pair: IssuedPair,
        reuse: Entry,
        now: Timestamp,
    ) -> Result<Rotation> {
        self.write(move |db| {
            let (pair, reuse) = (pair.clone(), reuse.clone());
            Box::pin(async move {
                let first: Option<(String, Option<String>)> = sql::query_as(
                    "UPDATE refresh_tokens SET retry_state = 2
                     WHERE id = $1 AND retry_state = 1 AND revoked_at IS NULL
                       AND EXISTS (SELECT 1 FROM codes WHERE codes.id = refresh_tokens.family_id
                                   AND codes.revoked_at IS NULL)
                       AND EXISTS (SELECT 1 FROM access_tokens a WHERE a.id = refresh_tokens.rotated_to_access
                                   AND a.used_at IS NULL AND a.revoked_at IS NULL)
                       AND NOT EXISTS (SELECT 1 FROM refresh_tokens r WHERE r.id = refresh_tokens.rotated_to_refresh
                                       AND (r.used_at IS NOT NULL OR r.revoked_at IS NOT NULL))
                     RETURNING rotated_to_access, rotated_to_refresh",
                )
                .bind(id.to_string())
                .fetch_optional(&mut *db)
                .await?;
                let Some((access, refresh)) = first else {
                    revoke_family_of(db, id, now).await?;
                    audit::append(db, &[reuse]).await?;
                    return Ok(Rotation::Refused);
                };
                // Looked at once more as they are revoked: another transaction may have used one in between.
                let statement = "UPDATE access_tokens SET revoked_at = $2
                                 WHERE id = $1 AND used_at IS NULL AND revoked_at IS NULL";
                let mut unused = revoke_one(db, statement, access, now).await?;
                if let Some(refresh) = refresh {
                    let statement = "UPDATE refresh_tokens SET revoked_at = $2
                                     WHERE id = $1 AND used_at IS NULL AND revoked_at IS NULL";
                    unused &= revoke_one(db, statement, refresh, now).await?;
                }
                if !unused {
                    revoke_family_of(db, id, now).await?;
                    audit::append(db, &[reuse]).await?;
                    return Ok(Rotation::Refused);
                }
                token_inserts::insert(db, &[&pair]).await?;
                Ok(Rotation::Rotated)
            })
        })
        .await
    }

    /// Takes a repeat back that was not answered: another one may come.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn withdraw_repeat(&self, id: TokenId) -> Result<()> {
        self.write(move |db| {
            Box::pin(async move {
                sql::query(
                    "UPDATE refresh_tokens SET retry_state = 0 WHERE id = $1 AND retry_state = 1",
                )
                .bind(id.to_string())
                .execute(db)
                .await?;
                Ok(())
            })
        })
        .await
    }

    /// Revokes an access token alone.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn revoke_access(&self, id: TokenId, now: Timestamp) -> Result<()> {
        self.write(move |db| {
            Box::pin(async move {
                let statement =
                    "UPDATE access_tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL";
                revoke_one(db, statement, id.to_string(), now)
                    .await
                    .map(drop)
            })
        })
        .await
    }
}

/// Whether there was one to revoke.
async fn revoke_one(
    db: &mut Connection,
    statement: &'static str,
    id: String,
    now: Timestamp,
) -> Result<bool> {
    Ok(sql::query(statement)
        .bind(id)
        .bind(now.millis())
        .execute(db)
        .await?
        > 0)
}

pub(crate) async fn revoke_family_of(
    db: &mut Connection,
    id: TokenId,
    now: Timestamp,
) -> Result<()> {
    let family: Option<(String,)> =
        sql::query_as("SELECT family_id FROM refresh_tokens WHERE id = $1")
            .bind(id.to_string())
            .fetch_optional(&mut *db)
            .await?;
    match family {
        Some((family,)) => {
            codes::revoke(
                db,
                parse(
                    &family,
                    cell("refresh_tokens", "family_id", &id.to_string()),
                )?,
                now,
            )
            .await
        }
        None => Ok(()),
    }
}
