//! Approvals of protected actions. The request and the answer are those of an approval; a row here names the action
//! that it permits.
//!
//! A row has the action and the digest of its summary only as long as the approval can be given or used.

use std::time::Duration;

use crate::engine::sql;
use crate::engine::sql::Connection;

use crate::engine::rows::{cell, digest, moment, parse};
use crate::{Result, Store, StoreError};
use assent_model::action_approval::{
    ActionApproval, ActionOutline, ActionProposal, ActionRequester,
};
use assent_model::administration::ProtectedActionKind;
use assent_model::clock::Timestamp;
use assent_model::id::{ActionApprovalId, ApprovalId, UserId};
use assent_model::secret::Digest;

crate::engine::sql::row! {
    struct ActionApprovalRow of action_approvals {
        id: String,
        actor: String,
        session_id: Option<String>,
        browser: String,
        action_digest: String,
        outline: OutlineRow,
        action: Option<String>,
        summary_digest: Option<String>,
        names: Option<String>,
        requested_at: i64,
        expires_at: i64,
        claimed_at: Option<i64>,
    }
}

crate::engine::sql::row! {
    /// The columns of an [`ActionOutline`]; NULL for an approval without a protected action.
    pub(crate) struct OutlineRow of action_approvals {
        action_kind: Option<String>,
        target_user: Option<String>,
        target_application: Option<String>,
    }
}

impl OutlineRow {
    /// The outline in the row with this id.
    pub(crate) fn outline(&self, id: &str) -> Result<ActionOutline> {
        let place = |column| cell("action_approvals", column, id);
        let kind = self.action_kind.as_deref();
        let target_user = self.target_user.as_deref();
        let target_application = self.target_application.as_deref();
        Ok(ActionOutline {
            kind: kind
                .and_then(ProtectedActionKind::parse)
                .ok_or(place("action_kind").unexpected())?,
            target_user: target_user
                .map(|user| parse(user, place("target_user")))
                .transpose()?,
            target_application: target_application
                .map(|application| parse(application, place("target_application")))
                .transpose()?,
        })
    }
}

impl TryFrom<ActionApprovalRow> for ActionApproval {
    type Error = StoreError;
    fn try_from(row: ActionApprovalRow) -> Result<Self> {
        let place = |column| cell("action_approvals", column, &row.id);
        let proposal = match (row.action, &row.summary_digest, &row.names) {
            (Some(action), Some(summary), Some(names)) => Some(ActionProposal {
                action,
                summary_digest: digest(summary, place("summary_digest"))?,
                names: names
                    .split_whitespace()
                    .map(|name| digest(name, place("names")))
                    .collect::<Result<_>>()?,
            }),
            _ => None,
        };
        Ok(Self {
            id: parse(&row.id, place("id"))?,
            actor: parse(&row.actor, place("actor"))?,
            requester: match &row.session_id {
                Some(session) => ActionRequester::Session(parse(session, place("session_id"))?),
                None => ActionRequester::Token,
            },
            browser: digest(&row.browser, place("browser"))?,
            action_digest: digest(&row.action_digest, place("action_digest"))?,
            outline: row.outline.outline(&row.id)?,
            proposal,
            requested_at: moment(row.requested_at),
            expires_at: moment(row.expires_at),
            claimed_at: row.claimed_at.map(moment),
        })
    }
}

/// Adds a row, to which the approval request refers.
pub(crate) async fn insert(db: &mut Connection, action: &ActionApproval) -> Result<()> {
    let ActionOutline {
        kind,
        target_user,
        target_application,
    } = &action.outline;
    let proposal = action.proposal.as_ref();
    let session = match action.requester {
        ActionRequester::Session(session) => Some(session.to_string()),
        ActionRequester::Token => None,
    };
    sql::query(
        "INSERT INTO action_approvals (id, actor, session_id, browser, action_digest, action_kind, target_user,
                                       target_application, action, summary_digest, names, requested_at,
                                       expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
    )
    .bind(action.id.to_string())
    .bind(action.actor.to_string())
    .bind(session)
    .bind(action.browser.to_text())
    .bind(action.action_digest.to_text())
    .bind(kind.as_str())
    .bind(target_user.map(|user| user.to_string()))
    .bind(target_application.as_ref().map(ToString::to_string))
    .bind(proposal.map(|proposal| proposal.action.clone()))
    .bind(proposal.map(|proposal| proposal.summary_digest.to_text()))
    .bind(proposal.map(|proposal| {
        let names: Vec<String> = proposal.names.iter().map(|name| name.to_text()).collect();
        names.join(" ")
    }))
    .bind(action.requested_at.millis())
    .bind(action.expires_at.millis())
    .execute(db)
    .await?;
    Ok(())
}

/// Removes the actions of approvals that cannot be given or used any more. The digests of the names remain, because an
/// answer that came just in time may be stored later, and its receipt needs them.
pub(crate) async fn clear_ended(db: &mut Connection, now: Timestamp) -> Result<()> {
    sql::query(
        "UPDATE action_approvals SET action = NULL, summary_digest = NULL
         WHERE action IS NOT NULL
           AND (expires_at <= $1
                OR NOT EXISTS (SELECT 1 FROM approvals
                               WHERE approvals.action_approval_id = action_approvals.id
                                 AND (approvals.state = 'approved'
                                      OR approvals.state = 'requested' AND approvals.expires_at > $1)))",
    )
    .bind(now.millis())
    .execute(db)
    .await?;
    Ok(())
}

/// Deletes the approvals that a user requested and those that concern the user. Deletes approvals also if their action
/// contains a name of the user, because another user could get the name. `names` are the user's sign-in names.
pub(crate) async fn erase_user(
    db: &mut Connection,
    user: UserId,
    names: &[String],
    now: Timestamp,
) -> Result<()> {
    clear_ended(db, now).await?;
    sql::query("DELETE FROM action_approvals WHERE actor = $1 OR target_user = $1")
        .bind(user.to_string())
        .execute(&mut *db)
        .await?;
    for name in names {
        for statement in [
            // An answer to an expired request may be stored later. Without the row it is too late, and has no receipt.
            "DELETE FROM action_approvals
             WHERE names LIKE '%' || $1 || '%'
               AND (action IS NOT NULL
                    OR EXISTS (SELECT 1 FROM approvals
                               WHERE approvals.action_approval_id = action_approvals.id
                                 AND approvals.state = 'requested'))",
            "UPDATE action_approvals SET names = NULL WHERE names LIKE '%' || $1 || '%'",
        ] {
            sql::query(statement)
                .bind(Digest::sha256(name.as_bytes()).to_text())
                .execute(&mut *db)
                .await?;
        }
    }
    Ok(())
}

/// Adds the new name of a user to the rows with this former name, so that the erasure finds them.
pub(crate) async fn rename_user(db: &mut Connection, former: Digest, name: Digest) -> Result<()> {
    sql::query(
        "UPDATE action_approvals SET names = names || ' ' || $2
         WHERE names LIKE '%' || $1 || '%' AND names NOT LIKE '%' || $2 || '%'",
    )
    .bind(former.to_text())
    .bind(name.to_text())
    .execute(db)
    .await?;
    Ok(())
}

/// The action and the summary of a request that uses an approval. Both must be those that were approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimedAction {
    /// The digest of the action in its command.
    pub action: Digest,
    /// The digest of the summary.
    pub summary: Digest,
}

impl Store {
    /// The approval of a protected action with this id, unless it expired at `now`.
    pub async fn action_approval(
        &self,
        id: ActionApprovalId,
        now: Timestamp,
    ) -> Result<Option<ActionApproval>> {
        sql::query_as::<ActionApprovalRow>(sql::statement!(
            "SELECT ",
            ActionApprovalRow::COLUMNS,
            " FROM action_approvals WHERE id = $1 AND expires_at > $2"
        ))
        .bind(id.to_string())
        .bind(now.millis())
        .fetch_value(&self.readers)
        .await
    }

    /// Removes the actions of approvals that cannot be given or used any more.
    pub(crate) async fn clear_ended_actions(&self, now: Timestamp) -> Result<()> {
        self.write((), move |db, ()| Box::pin(clear_ended(db, now)))
            .await
    }

    /// Uses the approval of a protected action, once. The approval must be for this action, and its device must have
    /// given it within the last `fresh`. Removes the action from the row, and returns the approval.
    pub async fn claim_action_approval(
        &self,
        id: ActionApprovalId,
        claimed: ClaimedAction,
        fresh: Duration,
        now: Timestamp,
    ) -> Result<Option<ApprovalId>> {
        self.write((), move |db, ()| {
            Box::pin(async move {
                // The device that approved is locked, because it may be revoked at the same time.
                sql::query(
                    "UPDATE devices SET name = name
                     WHERE id = (SELECT device_id FROM approvals WHERE action_approval_id = $1)",
                )
                .bind(id.to_string())
                .execute(&mut *db)
                .await?;
                let updated = sql::query(
                    "UPDATE action_approvals SET claimed_at = $2, action = NULL, summary_digest = NULL, names = NULL
                     WHERE id = $1 AND claimed_at IS NULL AND expires_at > $2
                       AND action_digest = $4 AND summary_digest = $5
                       AND EXISTS (SELECT 1 FROM approvals
                                   WHERE approvals.action_approval_id = action_approvals.id
                                     AND approvals.state = 'approved' AND approvals.device_id IS NOT NULL
                                     AND approvals.decided_at >= $3)",
                )
                .bind(id.to_string())
                .bind(now.millis())
                .bind((now - fresh).millis())
                .bind(claimed.action.to_text())
                .bind(claimed.summary.to_text())
                .execute(&mut *db)
                .await?;
                if updated == 0 {
                    return Ok(None);
                }
                let (approval,): (String,) =
                    sql::query_as("SELECT id FROM approvals WHERE action_approval_id = $1")
                        .bind(id.to_string())
                        .fetch_one(db)
                        .await?;
                parse(&approval, cell("approvals", "id", &approval)).map(Some)
            })
        })
        .await
    }
}
