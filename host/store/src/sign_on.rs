//! SAML messages: those that wait for their browser, and those that count once.

use crate::sql::{self, Connection};

use crate::rows::{cell, from_json, to_json};
use crate::{Result, Store};
use assent_model::clock::Timestamp;
use assent_model::id::SignOnId;
use assent_model::saml::{MessageClaim, PendingSignOn, SignOnRequest};

/// Claims a message. `false` if it was used before.
async fn claim(db: &mut Connection, once: MessageClaim) -> Result<bool> {
    let result = sql::query(
        "INSERT INTO replay_cache (id, expires_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING",
    )
    .bind(once.digest.to_text())
    .bind(once.until.millis())
    .execute(db)
    .await?;
    Ok(result > 0)
}

impl Store {
    /// Claims a message, so that another with its `ID` is known to be a replay. `false` if this is one.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn claim_message(&self, once: MessageClaim) -> Result<bool> {
        self.write(move |db| Box::pin(async move { claim(db, once).await }))
            .await
    }

    /// Claims an AuthnRequest, and keeps it until the browser comes with its cookies. `false`, and nothing kept, if it
    /// is a replay.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn store_sign_on_request(
        &self,
        kept: PendingSignOn,
        once: MessageClaim,
    ) -> Result<bool> {
        self.write(move |db| {
            let kept = kept.clone();
            Box::pin(async move {
                if !claim(db, once).await? {
                    return Ok(false);
                }
                sql::query(
                    "INSERT INTO sign_on_requests (id, request, expires_at) VALUES ($1, $2, $3)",
                )
                .bind(kept.id.to_string())
                .bind(to_json(&kept.request)?)
                .bind(kept.expires_at.millis())
                .execute(db)
                .await?;
                Ok(true)
            })
        })
        .await
    }

    /// Claims a request that waits, for the one browser that goes on with it. `None` if there is none, or one came
    /// before.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn claim_sign_on_request(
        &self,
        id: SignOnId,
        now: Timestamp,
    ) -> Result<Option<SignOnRequest>> {
        self.write(move |db| {
            Box::pin(async move {
                let row: Option<(String,)> = sql::query_as(
                    "UPDATE sign_on_requests SET used_at = $2
                     WHERE id = $1 AND used_at IS NULL AND expires_at > $2 RETURNING request",
                )
                .bind(id.to_string())
                .bind(now.millis())
                .fetch_optional(db)
                .await?;
                row.map(|(request,)| from_json(&request, cell("sign_on_requests", "request", "")))
                    .transpose()
            })
        })
        .await
    }
}
