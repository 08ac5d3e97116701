//! The outbox of approval requests. A request has a row from its transaction until it was sent through a channel. The
//! row of a request that a cooldown holds (see `cooldown`) is due at the end of the cooldown. The instance that
//! wrote the row sends the request at once. If that instance stops before that, another one sends it after the lease.
//! So a request is sent at least once.

use std::time::Duration;

use crate::engine::rows::{cell, parse};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::{Result, Store};
use assent_model::clock::Timestamp;
use assent_model::id::ApprovalId;

/// How long the instance that sends a request has the exclusive right to send it. It extends the lease meanwhile.
pub const DISPATCH_LEASE: Duration = Duration::from_secs(6);

/// Adds the row of a request that reaches devices now, or at the end of a cooldown. The statement is the same for a
/// request that reaches no device, so that its time does not reveal which names exist.
pub(crate) async fn insert(
    db: &mut Connection,
    approval: ApprovalId,
    requested_at: Timestamp,
) -> Result<()> {
    sql::query(
        "INSERT INTO approval_dispatches (approval_id, leased_until)
         SELECT id, COALESCE((SELECT cooldown_until FROM approval_cooldowns
                              WHERE approval_cooldowns.user_id = approvals.held_for), $2)
         FROM approvals WHERE id = $1 AND (user_id IS NOT NULL OR held_for IS NOT NULL)",
    )
    .bind(approval.to_string())
    .bind((requested_at + DISPATCH_LEASE).millis())
    .execute(db)
    .await?;
    Ok(())
}

/// Makes a request due at `now`, so that any instance sends it.
pub(crate) async fn make_due(db: &mut Connection, approval: &str, now: Timestamp) -> Result<()> {
    sql::query("UPDATE approval_dispatches SET leased_until = $2 WHERE approval_id = $1")
        .bind(approval.to_owned())
        .bind(now.millis())
        .execute(db)
        .await?;
    Ok(())
}

/// Postpones the due requests that a user's cooldown still holds to the end of the cooldown. Removes held requests that
/// have ended.
pub(crate) async fn postpone_held(db: &mut Connection, user: &str, now: Timestamp) -> Result<()> {
    let statements = [
        "UPDATE approval_dispatches
         SET leased_until = (SELECT cooldown_until FROM approval_cooldowns WHERE user_id = $1)
         WHERE leased_until <= $2 AND approval_id IN (SELECT id FROM approvals WHERE held_for = $1)
           AND EXISTS (SELECT 1 FROM approval_cooldowns WHERE user_id = $1 AND cooldown_until > $2)",
        "DELETE FROM approval_dispatches
         WHERE leased_until <= $2 AND approval_id IN (SELECT id FROM approvals WHERE held_for = $1)",
    ];
    for statement in statements {
        sql::query(statement)
            .bind(user.to_owned())
            .bind(now.millis())
            .execute(&mut *db)
            .await?;
    }
    Ok(())
}

/// Deletes the row of a request that was sent.
pub(crate) async fn delete(db: &mut Connection, approval: String) -> Result<()> {
    sql::query("DELETE FROM approval_dispatches WHERE approval_id = $1")
        .bind(approval)
        .execute(db)
        .await?;
    Ok(())
}

impl Store {
    /// Leases up to `most` requests that no instance sends, the oldest first, without those that a cooldown holds.
    pub async fn claim_dispatches(&self, most: usize, now: Timestamp) -> Result<Vec<ApprovalId>> {
        self.write((), move |db, ()| {
            Box::pin(async move {
                let rows: Vec<(String,)> = sql::query_as(
                    "UPDATE approval_dispatches SET leased_until = $1
                     WHERE approval_id IN (SELECT due.approval_id FROM approval_dispatches AS due
                                           JOIN approvals ON approvals.id = due.approval_id
                                           WHERE due.leased_until <= $2 AND approvals.held_for IS NULL
                                           ORDER BY due.leased_until LIMIT $3)
                       AND leased_until <= $2
                     RETURNING approval_id",
                )
                .bind((now + DISPATCH_LEASE).millis())
                .bind(now.millis())
                .bind(i64::try_from(most).unwrap_or(i64::MAX))
                .fetch_all(db)
                .await?;
                rows.into_iter()
                    .map(|(id,)| parse(&id, cell("approval_dispatches", "approval_id", &id)))
                    .collect()
            })
        })
        .await
    }

    /// Extends the lease of the instance that sends a request.
    pub async fn extend_dispatch(&self, approval: ApprovalId, now: Timestamp) -> Result<()> {
        self.set_dispatch_lease(approval, now + DISPATCH_LEASE)
            .await
    }

    /// Releases the lease of an unsent request, so that another instance sends it at once.
    pub async fn release_dispatch(&self, approval: ApprovalId) -> Result<()> {
        self.set_dispatch_lease(approval, Timestamp::from_millis(0))
            .await
    }

    async fn set_dispatch_lease(&self, approval: ApprovalId, until: Timestamp) -> Result<()> {
        self.write((), move |db, ()| {
            Box::pin(async move {
                sql::query(
                    "UPDATE approval_dispatches SET leased_until = $2 WHERE approval_id = $1",
                )
                .bind(approval.to_string())
                .bind(until.millis())
                .execute(db)
                .await?;
                Ok(())
            })
        })
        .await
    }

    /// Deletes the row of a request that was sent or has ended.
    pub async fn end_dispatch(&self, approval: ApprovalId) -> Result<()> {
        self.write((), move |db, ()| Box::pin(delete(db, approval.to_string())))
            .await
    }
}
