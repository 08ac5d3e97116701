//! SAML messages: those that wait for their browser, and those that count once.

use sqlx::AnyConnection;

use super::rows::{from_json, to_json};
use super::{Result, Store};
use crate::clock::Timestamp;
use crate::id::SignOnId;
use crate::model::saml::{KeptRequest, Once, SignOnRequest};

/// Claims a message. `false` if it was used before.
async fn claim(db: &mut AnyConnection, once: Once) -> Result<bool> {
    let result =
        sqlx::query("INSERT INTO used_assertions (id, expires_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING")
            .bind(once.digest.to_text())
            .bind(once.until.millis())
            .execute(db)
            .await?;
    Ok(result.rows_affected() > 0)
}

impl Store {
    /// Claims a message, so that another with its `ID` is known to be a replay. `false` if this is one.
    pub async fn claim_message(&self, once: Once) -> Result<bool> {
        self.write(move |db| Box::pin(async move { claim(db, once).await })).await
    }

    /// Claims an AuthnRequest, and keeps it until the browser comes with its cookies. `false`, and nothing kept, if it
    /// is a replay.
    pub async fn keep_sign_on(&self, kept: KeptRequest, once: Once) -> Result<bool> {
        self.write(move |db| {
            let kept = kept.clone();
            Box::pin(async move {
                if !claim(db, once).await? {
                    return Ok(false);
                }
                sqlx::query("INSERT INTO sign_on_requests (id, request, expires_at) VALUES ($1, $2, $3)")
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
    pub async fn take_sign_on(&self, id: SignOnId, now: Timestamp) -> Result<Option<SignOnRequest>> {
        self.write(move |db| {
            Box::pin(async move {
                let row: Option<(String,)> = sqlx::query_as(
                    "UPDATE sign_on_requests SET used_at = $2
                     WHERE id = $1 AND used_at IS NULL AND expires_at > $2 RETURNING request",
                )
                .bind(id.to_string())
                .bind(now.millis())
                .fetch_optional(db)
                .await?;
                row.map(|(request,)| from_json(&request, "a request for sign-on")).transpose()
            })
        })
        .await
    }
}
