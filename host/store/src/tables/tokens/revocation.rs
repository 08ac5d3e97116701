//! Revocation of one access token, and of a whole family.

use super::family::revoke;
use crate::engine::locked_rows::LockedRow;
use crate::engine::sql;
use crate::{Result, Store};
use assent_model::clock::Timestamp;
use assent_model::id::{FamilyId, TokenId};

impl Store {
    /// Revokes all tokens of a family.
    pub async fn revoke_family(&self, family: FamilyId, now: Timestamp) -> Result<()> {
        self.writer
            .write_to_row(Some(LockedRow::Family(family)), None, (), move |db, ()| {
                Box::pin(revoke(db, family, now))
            })
            .await
    }

    /// Makes a code that was not exchanged yet invalid.
    pub async fn spend_code(&self, family: FamilyId, now: Timestamp) -> Result<()> {
        self.writer
            .write_to_row(Some(LockedRow::Family(family)), None, (), move |db, ()| {
                Box::pin(async move {
                    sql::query(
                        "UPDATE token_families SET revoked_at = $2
                     WHERE id = $1 AND revoked_at IS NULL AND exchanged_at IS NULL",
                    )
                    .bind(family.to_string())
                    .bind(now.millis())
                    .execute(db)
                    .await?;
                    Ok(())
                })
            })
            .await
    }

    /// Revokes one access token. The database remembers it until `expires_at`.
    pub async fn revoke_access(&self, id: TokenId, expires_at: Timestamp) -> Result<()> {
        self.write((), move |db, ()| {
            Box::pin(async move {
                sql::query(
                    "INSERT INTO revoked_tokens (id, expires_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING",
                )
                .bind(id.to_string())
                .bind(expires_at.millis())
                .execute(db)
                .await?;
                Ok(())
            })
        })
        .await
    }
}
