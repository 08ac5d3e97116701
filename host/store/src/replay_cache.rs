//! The replay cache: what is valid once, and was used.

use crate::sql::{self, Connection};
use crate::{ReplayCheck, Result, Store};
use assent_model::clock::Timestamp;
use assent_model::secret::Digest;

/// Claims what has this digest. The cache knows it until it would not be accepted any more anyway.
pub(crate) async fn claim(
    db: &mut Connection,
    digest: Digest,
    until: Timestamp,
) -> Result<ReplayCheck> {
    let claimed = sql::query(
        "INSERT INTO replay_cache (id, expires_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING",
    )
    .bind(digest.to_text())
    .bind(until.millis())
    .execute(db)
    .await?;
    Ok(match claimed {
        0 => ReplayCheck::Replayed,
        _ => ReplayCheck::FirstUse,
    })
}

impl Store {
    /// Claims a client assertion, whose digest is of the client and the `jti`, so that another with this `jti` is known
    /// to be a replay
    /// (RFC 7523 section 3).
    ///
    /// # Errors
    /// If the database fails.
    pub async fn claim_assertion(
        &self,
        assertion: Digest,
        until: Timestamp,
    ) -> Result<ReplayCheck> {
        self.write(move |db| Box::pin(async move { claim(db, assertion, until).await }))
            .await
    }
}
