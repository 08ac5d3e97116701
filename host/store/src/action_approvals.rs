//! Approvals of protected actions. The request and the answer are those of an approval; the row here says for what it counts.

use std::time::Duration;

use sqlx::AnyConnection;

use crate::rows::{cell, digest, moment, parse};
use crate::{Result, Store, StoreError};
use assent_model::action_approval::ActionApproval;
use assent_model::clock::Timestamp;
use assent_model::id::{ActionApprovalId, ApprovalId};

#[derive(sqlx::FromRow)]
struct ActionApprovalRow {
    id: String,
    actor: String,
    session_id: String,
    browser: String,
    action_digest: String,
    requested_at: i64,
    expires_at: i64,
    claimed_at: Option<i64>,
}

impl TryFrom<ActionApprovalRow> for ActionApproval {
    type Error = StoreError;
    fn try_from(row: ActionApprovalRow) -> Result<Self> {
        let place = |column| cell("action_approvals", column, &row.id);
        Ok(Self {
            id: parse(&row.id, place("id"))?,
            actor: parse(&row.actor, place("actor"))?,
            session: parse(&row.session_id, place("session_id"))?,
            browser: digest(&row.browser, place("browser"))?,
            action_digest: digest(&row.action_digest, place("action_digest"))?,
            requested_at: moment(row.requested_at),
            expires_at: moment(row.expires_at),
            claimed_at: row.claimed_at.map(moment),
        })
    }
}

/// Adds a row, to which the approval request refers.
pub(crate) async fn insert(db: &mut AnyConnection, action: &ActionApproval) -> Result<()> {
    sqlx::query(
        "INSERT INTO action_approvals (id, actor, session_id, browser, action_digest, requested_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(action.id.to_string())
    .bind(action.actor.to_string())
    .bind(action.session.to_string())
    .bind(action.browser.to_text())
    .bind(action.action_digest.to_text())
    .bind(action.requested_at.millis())
    .bind(action.expires_at.millis())
    .execute(db)
    .await?;
    Ok(())
}

impl Store {
    /// The approval of a protected action with this id, unless it expired at `now`.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn action_approval(
        &self,
        id: ActionApprovalId,
        now: Timestamp,
    ) -> Result<Option<ActionApproval>> {
        let row: Option<ActionApprovalRow> =
            sqlx::query_as("SELECT * FROM action_approvals WHERE id = $1 AND expires_at > $2")
                .bind(id.to_string())
                .bind(now.millis())
                .fetch_optional(&self.readers)
                .await?;
        row.map(ActionApproval::try_from).transpose()
    }

    /// Uses the approval of a protected action, once, if its device gave it within the last `fresh`. Returns the approval.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn claim_action_approval(
        &self,
        id: ActionApprovalId,
        fresh: Duration,
        now: Timestamp,
    ) -> Result<Option<ApprovalId>> {
        self.write(move |db| {
            Box::pin(async move {
                // The device that approved is locked: it may be revoked at this moment.
                sqlx::query(
                    "UPDATE devices SET name = name
                     WHERE id = (SELECT device_id FROM approvals WHERE action_approval_id = $1)",
                )
                .bind(id.to_string())
                .execute(&mut *db)
                .await?;
                let claimed = sqlx::query(
                    "UPDATE action_approvals SET claimed_at = $2
                     WHERE id = $1 AND claimed_at IS NULL AND expires_at > $2
                       AND EXISTS (SELECT 1 FROM approvals
                                   WHERE approvals.action_approval_id = action_approvals.id
                                     AND approvals.state = 'approved' AND approvals.device_id IS NOT NULL
                                     AND approvals.decided_at >= $3)",
                )
                .bind(id.to_string())
                .bind(now.millis())
                .bind((now - fresh).millis())
                .execute(&mut *db)
                .await?;
                if claimed.rows_affected() == 0 {
                    return Ok(None);
                }
                let (approval,): (String,) =
                    sqlx::query_as("SELECT id FROM approvals WHERE action_approval_id = $1")
                        .bind(id.to_string())
                        .fetch_one(db)
                        .await?;
                parse(&approval, cell("approvals", "id", "")).map(Some)
            })
        })
        .await
    }
}
