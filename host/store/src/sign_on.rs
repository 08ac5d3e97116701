//! SAML messages: those that wait for their browser, and those that count once, as client assertions do.

use crate::rows::{cell, from_json, to_json};
use crate::sql;
use crate::{ReplayCheck, Result, Store, replay_cache};
use assent_model::clock::Timestamp;
use assent_model::id::SignOnId;
use assent_model::saml::{MessageClaim, PendingSignOn, SignOnRequest};
use assent_model::secret::Digest;

impl Store {
    /// Claims a client assertion, whose digest is of the client and the `jti`, so that another with this `jti` is known
    /// to be a replay (RFC 7523 section 3).
    ///
    /// # Errors
    /// If the database fails.
    pub async fn claim_assertion(
        &self,
        assertion: Digest,
        until: Timestamp,
    ) -> Result<ReplayCheck> {
        self.claim_message(MessageClaim {
            digest: assertion,
            until,
        })
        .await
    }

    /// Claims a message, so that another with its `ID` is known to be a replay.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn claim_message(&self, once: MessageClaim) -> Result<ReplayCheck> {
        self.replay_claims.call(once).await
    }

    /// Claims an AuthnRequest, and keeps it until the browser comes with its cookies. A replay is not
    /// kept.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn store_sign_on_request(
        &self,
        kept: PendingSignOn,
        once: MessageClaim,
    ) -> Result<ReplayCheck> {
        self.write(move |db| {
            let kept = kept.clone();
            Box::pin(async move {
                if replay_cache::claim(db, once).await? == ReplayCheck::Replayed {
                    return Ok(ReplayCheck::Replayed);
                }
                sql::query(
                    "INSERT INTO sign_on_requests (id, request, expires_at) VALUES ($1, $2, $3)",
                )
                .bind(kept.id.to_string())
                .bind(to_json(&kept.request)?)
                .bind(kept.expires_at.millis())
                .execute(db)
                .await?;
                Ok(ReplayCheck::FirstUse)
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
                row.map(|(request,)| {
                    from_json(
                        &request,
                        cell("sign_on_requests", "request", &id.to_string()),
                    )
                })
                .transpose()
            })
        })
        .await
    }
}
