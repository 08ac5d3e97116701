//! Client assertions that were used.

use crate::sql;
use crate::{Result, Store};
use assent_model::clock::Timestamp;
use assent_model::secret::Digest;

impl Store {
    /// Claims a client assertion, which is known by this digest of its client and its `jti`. `false` if it was used
    /// before.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn claim_assertion(&self, assertion: Digest, until: Timestamp) -> Result<bool> {
        self.write(move |db| {
            Box::pin(async move {
                let result = sql::query(
                    "INSERT INTO replay_cache (id, expires_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING",
                )
                .bind(assertion.to_text())
                .bind(until.millis())
                .execute(db)
                .await?;
                Ok(result > 0)
            })
        })
        .await
    }
}
