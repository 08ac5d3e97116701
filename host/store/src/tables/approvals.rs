//! Approvals. Each change is one conditional statement, so that only one of several concurrent changes succeeds.

pub(crate) mod answer;
pub(crate) mod approval;
pub(crate) mod conflict;
pub(crate) mod cooldown;
pub(crate) mod creation;
pub(crate) mod decision;
pub(crate) mod delivery;
pub(crate) mod dispatch;
pub(crate) mod held_requests;
pub(crate) mod repeat;
pub(crate) mod report;
pub(crate) mod request;
pub(crate) mod rulings;

use crate::engine::sql;
use crate::{Result, Store, audit};
use assent_model::approval::Approval;
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::id::ApprovalId;

impl Store {
    /// Cancels a request, because the user gave up in the browser. Nothing happens if the request was decided before.
    pub async fn cancel_approval(&self, id: ApprovalId, now: Timestamp) -> Result<()> {
        self.write((), move |db, ()| {
            Box::pin(async move {
                sql::query(
                    "UPDATE approvals SET state = 'cancelled', decided_at = $2
                     WHERE id = $1 AND state IN ('requested', 'withdrawn', 'reported')",
                )
                .bind(id.to_string())
                .bind(now.millis())
                .execute(&mut *db)
                .await?;
                delivery::approval_ended(db, &id.to_string()).await
            })
        })
        .await
    }

    /// Ends a pending request that cannot be approved any more. It can still be reported. Nothing happens if it was
    /// decided before.
    pub async fn withdraw_approval(&self, id: ApprovalId, now: Timestamp) -> Result<()> {
        self.write((), move |db, ()| {
            Box::pin(async move {
                sql::query(
                    "UPDATE approvals SET state = 'cancelled', decided_at = $2 WHERE id = $1 AND state = 'requested'",
                )
                .bind(id.to_string())
                .bind(now.millis())
                .execute(&mut *db)
                .await?;
                delivery::approval_ended(db, &id.to_string()).await
            })
        })
        .await
    }

    /// Records that a sign-in was cancelled or that its request expired, once. A pending request that has expired at
    /// `now` gets the state `expired`.
    pub async fn record_end(&self, id: ApprovalId, entry: Entry, now: Timestamp) -> Result<()> {
        self.write(entry, move |db, entry| {
            Box::pin(async move {
                let recorded = sql::query(
                    "UPDATE approvals SET end_recorded = 1,
                                          decided_at = CASE WHEN state = 'requested' THEN expires_at
                                                            ELSE decided_at END,
                                          state = CASE WHEN state = 'requested' THEN 'expired' ELSE state END
                     WHERE id = $1 AND end_recorded = 0
                       AND (state = 'cancelled' OR state = 'requested' AND expires_at <= $2)",
                )
                .bind(id.to_string())
                .bind(now.millis())
                .execute(&mut *db)
                .await?;
                audit::append_if(db, recorded > 0, std::slice::from_ref(entry)).await?;
                Ok(())
            })
        })
        .await
    }

    /// Up to `limit` requests for sign-ins on users' devices that were cancelled, or have expired at `now`, and are not
    /// recorded. Retention deletes requests soon, so they are few.
    pub async fn unrecorded_ends(&self, now: Timestamp, limit: u32) -> Result<Vec<Approval>> {
        self.approvals_ended(now, limit).await
    }
}
