//! The rulings of vendors that make the decision themselves.

use super::decision::{AuditNote, lock_user_of, record_decision};
use crate::engine::rows::{cell, parse};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::tables::approvals::delivery;
use crate::{Result, Store};
use assent_model::clock::Timestamp;
use assent_model::delivery::Ruling;
use assent_model::id::DeliveryId;

/// The outcome of a vendor's ruling on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum RulingOutcome {
    /// It counts.
    Counted,
    /// It came too late: the request was decided before or expired, or its user or vendor may not decide it any more.
    Late,
}

impl Store {
    /// Records a vendor's ruling on a delivered request. It counts under the conditions of a device's answer: the
    /// request is pending, and its user may sign in there. The identifier of the delivery must also still belong to the
    /// user. The delivery is deleted, whether the ruling counts or not.
    pub async fn rule_on_approval(
        &self,
        delivery: DeliveryId,
        ruling: Ruling,
        noted: AuditNote,
        now: Timestamp,
    ) -> Result<RulingOutcome> {
        self.write(noted, move |db, noted| {
            Box::pin(record_ruling(db, delivery, ruling, noted, now))
        })
        .await
    }
}

async fn record_ruling(
    db: &mut Connection,
    delivery: DeliveryId,
    ruling: Ruling,
    noted: &AuditNote,
    now: Timestamp,
) -> Result<RulingOutcome> {
    let state = match ruling {
        Ruling::Approved => "approved",
        Ruling::Denied => "denied",
    };
    let approval: Option<(String,)> =
        sql::query_as("SELECT approval_id FROM approval_deliveries WHERE id = $1")
            .bind(delivery.to_string())
            .fetch_optional(&mut *db)
            .await?;
    if let Some((approval,)) = approval {
        lock_user_of(
            db,
            parse(
                &approval,
                cell("approval_deliveries", "approval_id", &delivery.to_string()),
            )?,
            now,
        )
        .await?;
    }
    let decided: Option<(String, String)> = sql::query_as(
        "UPDATE approvals
         SET state = $2, decided_at = $3,
             channel = (SELECT channel FROM approval_deliveries AS delivery WHERE delivery.id = $1)
         WHERE id = (SELECT approval_id FROM approval_deliveries AS delivery
                     WHERE delivery.id = $1 AND delivery.device_id IS NULL)
           AND state = 'requested' AND expires_at > $3
           AND EXISTS (SELECT 1 FROM users WHERE users.id = approvals.user_id AND users.state = 'active')
           AND NOT EXISTS (SELECT 1 FROM accounts
                           WHERE accounts.user_id = approvals.user_id
                             AND accounts.application_id = approvals.application_id
                             AND accounts.state IN ('suspended', 'terminated'))
           AND EXISTS (SELECT 1 FROM approval_deliveries AS delivery
                       JOIN external_authenticators AS known
                         ON known.channel = delivery.channel AND known.identifier = delivery.identifier
                       WHERE delivery.id = $1 AND known.user_id = approvals.user_id)
         RETURNING id, user_id",
    )
    .bind(delivery.to_string())
    .bind(state)
    .bind(now.millis())
    .fetch_optional(&mut *db)
    .await?;
    delivery::delete(&mut *db, delivery).await?;
    let Some((id, user)) = decided else {
        return Ok(RulingOutcome::Late);
    };
    delivery::approval_ended(db, &id).await?;
    record_decision(db, &user, ruling == Ruling::Approved, noted, now).await?;
    Ok(RulingOutcome::Counted)
}
