//! Signing keys, sealed.

use super::rows::{moment, parse};
use super::{Result, Store, StoreError};
use crate::model::key::{KeyPurpose, SealedKey};

#[derive(sqlx::FromRow)]
struct KeyRow {
    id: String,
    sealed: String,
    created_at: i64,
}

impl Store {
    /// The key for this purpose.
    pub async fn key(&self, purpose: KeyPurpose) -> Result<Option<SealedKey>> {
        let row: Option<KeyRow> = sqlx::query_as("SELECT id, sealed, created_at FROM signing_keys WHERE purpose = $1")
            .bind(purpose.as_str())
            .fetch_optional(&self.readers)
            .await?;
        row.map(|row| key(row, purpose)).transpose()
    }

    /// Keeps a key, unless there is one for its purpose: hosts that start at once agree on the first. Answers the key
    /// that is kept.
    pub async fn keep_key(&self, fresh: SealedKey) -> Result<SealedKey> {
        self.write(move |db| {
            let fresh = fresh.clone();
            Box::pin(async move {
                sqlx::query(
                    "INSERT INTO signing_keys (id, purpose, sealed, created_at) VALUES ($1, $2, $3, $4)
                     ON CONFLICT (purpose) DO NOTHING",
                )
                .bind(fresh.id.to_string())
                .bind(fresh.purpose.as_str())
                .bind(fresh.sealed.clone())
                .bind(fresh.created_at.millis())
                .execute(&mut *db)
                .await?;
                let row: Option<KeyRow> =
                    sqlx::query_as("SELECT id, sealed, created_at FROM signing_keys WHERE purpose = $1")
                        .bind(fresh.purpose.as_str())
                        .fetch_optional(db)
                        .await?;
                key(row.ok_or(StoreError::Corrupt("a key that was just kept"))?, fresh.purpose)
            })
        })
        .await
    }
}

fn key(row: KeyRow, purpose: KeyPurpose) -> Result<SealedKey> {
    Ok(SealedKey { id: parse(&row.id, "a key's id")?, purpose, sealed: row.sealed, created_at: moment(row.created_at) })
}
