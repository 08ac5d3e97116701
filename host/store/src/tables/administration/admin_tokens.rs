//! Operator tokens: short-lived tokens for an operator with access to the machine.

use crate::engine::rows::{cell, digest, moment};
use crate::engine::sql;
use crate::{Result, Store, audit};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::id::TokenId;
use assent_model::secret::Digest;

impl Store {
    /// Adds an operator token.
    pub async fn insert_admin_token(
        &self,
        id: TokenId,
        digest: Digest,
        now: Timestamp,
        until: Timestamp,
        entry: Entry,
    ) -> Result<()> {
        self.write(entry, move |db, entry| {
            Box::pin(async move {
                sql::query("INSERT INTO admin_tokens (id, digest, created_at, expires_at) VALUES ($1, $2, $3, $4)")
                    .bind(id.to_string())
                    .bind(digest.to_text())
                    .bind(now.millis())
                    .bind(until.millis())
                    .execute(&mut *db)
                    .await?;
                audit::append(db, std::slice::from_ref(entry)).await
            })
        })
        .await
    }

    /// The digest and the end of the operator token with this id.
    pub async fn admin_token(&self, id: TokenId) -> Result<Option<(Digest, Timestamp)>> {
        let row: Option<(String, i64)> =
            sql::query_as("SELECT digest, expires_at FROM admin_tokens WHERE id = $1")
                .bind(id.to_string())
                .fetch_optional(&self.readers)
                .await?;
        row.map(|(text, until)| {
            let digest = digest(&text, cell("admin_tokens", "digest", &id.to_string()))?;
            Ok((digest, moment(until)))
        })
        .transpose()
    }
}
