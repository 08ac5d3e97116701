//! Approvals. Each change is one conditional statement, so that only one of several concurrent changes succeeds.

pub(crate) mod answers;
pub(crate) mod approval_conflicts;
pub(crate) mod approval_requests;
pub(crate) mod cooldowns;
pub(crate) mod decision;
pub(crate) mod deliveries;
pub(crate) mod dispatches;
mod ends;
pub(crate) mod held_requests;
pub(crate) mod reading;
pub(crate) mod repeats;
pub(crate) mod reports;
pub(crate) mod requested_approvals;
pub(crate) mod rulings;

use crate::engine::sql;
use crate::{Result, Store};
use assent_model::clock::Timestamp;
use assent_model::id::ApprovalId;

impl Store {
    /// Cancels a request, because the user gave up in the browser. Nothing happens if the request was decided before.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn cancel_approval(&self, id: ApprovalId, now: Timestamp) -> Result<()> {
        self.write(move |db| {
            Box::pin(async move {
                sql::query(
                    "UPDATE approvals SET state = 'cancelled', decided_at = $2
                     WHERE id = $1 AND state IN ('requested', 'withdrawn', 'reported')",
                )
                .bind(id.to_string())
                .bind(now.millis())
                .execute(&mut *db)
                .await?;
                deliveries::approval_ended(db, &id.to_string()).await
            })
        })
        .await
    }

    /// Ends a pending request that cannot be approved any more. It can still be reported. Nothing happens if it was
    /// decided before.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn withdraw_approval(&self, id: ApprovalId, now: Timestamp) -> Result<()> {
        self.write(move |db| {
            Box::pin(async move {
                sql::query(
                    "UPDATE approvals SET state = 'cancelled', decided_at = $2 WHERE id = $1 AND state = 'requested'",
                )
                .bind(id.to_string())
                .bind(now.millis())
                .execute(&mut *db)
                .await?;
                deliveries::approval_ended(db, &id.to_string()).await
            })
        })
        .await
    }
}
