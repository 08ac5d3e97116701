//! The end of a back-channel request that its application withdraws.

use crate::engine::sql;
use crate::tables::approvals::delivery;
use crate::{Result, Store};
use assent_model::clock::Timestamp;
use assent_model::id::BackchannelRequestId;

impl Store {
    /// Ends a request that its application withdraws. A pending one disappears from the devices, and an approved one
    /// can no longer be claimed. Returns `false` if the application received its tokens before, or the request does not
    /// exist; then nothing happens.
    pub async fn withdraw_backchannel_request(
        &self,
        id: BackchannelRequestId,
        now: Timestamp,
    ) -> Result<bool> {
        self.write((), move |db, ()| {
            Box::pin(async move {
                let withdrawn = sql::query(
                    "UPDATE backchannel_requests SET claimed_at = $2 WHERE id = $1 AND claimed_at IS NULL",
                )
                .bind(id.to_string())
                .bind(now.millis())
                .execute(&mut *db)
                .await?;
                if withdrawn == 0 {
                    return Ok(false);
                }
                let pending: Option<(String,)> = sql::query_as(
                    "UPDATE approvals SET state = 'cancelled', decided_at = $2
                     WHERE backchannel_id = $1 AND state = 'requested' RETURNING id",
                )
                .bind(id.to_string())
                .bind(now.millis())
                .fetch_optional(&mut *db)
                .await?;
                if let Some((approval,)) = pending {
                    delivery::approval_ended(db, &approval).await?;
                }
                Ok(true)
            })
        })
        .await
    }
}
