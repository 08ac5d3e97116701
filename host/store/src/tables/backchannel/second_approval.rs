//! Second approvals of back-channel requests (four eyes). Each user who may give it has a row of `approvals`, and the
//! first answer counts. The row of the request's own user serializes the answers: each of them locks that row first.

use crate::engine::rows::{cell, parse, to_json};
use crate::engine::sql::Connection;
use crate::engine::{deferred, sql};
use crate::tables::approvals::request::BackchannelDraft;
use crate::tables::approvals::{delivery, dispatch};
use crate::{Result, Store};
use assent_model::approval::{Approval, ApprovalStage, RequestKind};
use assent_model::backchannel::{BackchannelRequest, SecondApprovers};
use assent_model::change::Change;
use assent_model::clock::Timestamp;
use assent_model::id::{ApprovalId, Did, UserId};

/// The most users who are asked for one second approval.
pub const MOST_SECOND_APPROVERS: i64 = 20;
/// The most open second approvals for which one application asks one user. Who has more is not asked.
const MOST_OPEN: i64 = 20;

/// The condition that a `second` approval of the request `asked` counts now: its user is another one, a member of the
/// group, may sign in, and has not lost the device.
macro_rules! second_counts {
    () => {
        "second.state = 'approved' AND second.user_id <> asked.user_id
         AND EXISTS (SELECT 1 FROM group_members
                     WHERE group_members.group_id = asked.second_group AND group_members.user_id = second.user_id)
         AND EXISTS (SELECT 1 FROM users WHERE users.id = second.user_id AND users.state = 'active')
         AND EXISTS (SELECT 1 FROM devices
                     WHERE devices.id = second.device_id AND devices.user_id = second.user_id
                       AND devices.revoked_at IS NULL)
         AND NOT EXISTS (SELECT 1 FROM accounts
                         WHERE accounts.user_id = second.user_id AND accounts.application_id = asked.application_id
                           AND accounts.state IN ('suspended', 'terminated'))"
    };
}
pub(crate) use second_counts;

/// The condition under which the answer of a second approver counts, if `approvals` is the row of one: the user is
/// another one and a member of the group, and the request has not ended.
pub(crate) const MAY_DECIDE: &str = "(approvals.second_of IS NULL
      OR EXISTS (SELECT 1 FROM backchannel_requests AS asked
                 JOIN approvals AS own ON own.backchannel_id = asked.id
                 JOIN group_members ON group_members.group_id = asked.second_group
                 WHERE asked.id = approvals.second_of AND asked.user_id <> approvals.user_id
                   AND asked.claimed_at IS NULL AND group_members.user_id = approvals.user_id
                   AND (own.state IN ('requested', 'approved') OR approvals.state <> 'requested')))";

/// The statement that ends the pending approvals with this condition about `$1` at `$2`.
macro_rules! ended_where {
    ($condition:literal) => {
        concat!(
            "UPDATE approvals SET state = 'withdrawn', decided_at = $2, held_for = NULL
             WHERE state = 'requested' AND ",
            $condition,
            " RETURNING id, user_id"
        )
    };
}

/// A user who may give a second approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondApprover {
    /// The user.
    pub user: UserId,
    /// The name.
    pub name: String,
}

/// The second approval of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedSecond {
    /// The approval.
    pub approval: ApprovalId,
    /// The user who approved.
    pub user: UserId,
}

/// Adds the requests of a new back-channel request to those who may give its second approval. The statements are the
/// same if no device receives them, so that their time does not reveal to the application whether its request does.
pub(crate) async fn insert_all(
    db: &mut Connection,
    draft: &BackchannelDraft,
    is_asked: bool,
) -> Result<()> {
    for second in &draft.seconds {
        insert(db, draft, second, is_asked).await?;
    }
    Ok(())
}

async fn insert(
    db: &mut Connection,
    draft: &BackchannelDraft,
    second: &Approval,
    is_asked: bool,
) -> Result<()> {
    let asked = second
        .user_id
        .filter(|_| is_asked)
        .map(|user| user.to_string());
    let (reached, held): (Option<String>, Option<String>) = sql::query_as(
        "INSERT INTO approvals (id, second_of, user_id, held_for, name_digest, prompt, requested_at, expires_at,
                                attempts_left, state, application_id, kind, browser, named_user)
         SELECT $1, $2, CASE WHEN recipient.is_held = 1 THEN NULL ELSE $3 END,
                CASE WHEN recipient.is_held = 1 THEN $3 ELSE NULL END, $4, $5, $6, $7, $8, 'requested', $9, $10, $11,
                $12
         FROM (SELECT CASE WHEN EXISTS (SELECT 1 FROM approval_cooldowns AS pause
                                        WHERE pause.user_id = $3 AND pause.cooldown_until > $6) THEN 1
                           ELSE 0 END AS is_held) AS recipient
         RETURNING user_id, held_for",
    )
    .bind(second.id.to_string())
    .bind(draft.request.id.to_string())
    .bind(asked.clone())
    .bind(second.name_digest.to_text())
    .bind(to_json(&second.shown)?)
    .bind(second.requested_at.millis())
    .bind(second.expires_at.millis())
    .bind(second.attempts_left)
    .bind(draft.request.application.to_string())
    .bind(RequestKind::SecondApproval.as_str())
    .bind(second.browser.to_text())
    .bind(asked)
    .fetch_one(&mut *db)
    .await?;
    dispatch::insert(db, second.id, second.requested_at).await?;
    if held.is_none() {
        // Any instance sends it at once. A held one is due at the end of the cooldown.
        dispatch::make_due(db, &second.id.to_string(), second.requested_at).await?;
    }
    // A request that reaches no device has the same number of changes.
    let change = match reached {
        Some(user) => Change::Inbox(parse(&user, cell("approvals", "user_id", &user))?),
        None => Change::Approval(second.id),
    };
    deferred::record_change(db, change)
}

/// Locks the request to which this second approval belongs, by the row of its own user's approval.
pub(crate) async fn lock_request(db: &mut Connection, request: &str) -> Result<()> {
    sql::query("UPDATE approvals SET state = state WHERE backchannel_id = $1")
        .bind(request.to_owned())
        .execute(db)
        .await?;
    Ok(())
}

/// Ends the pending second approvals of a request.
pub(crate) async fn end_of(db: &mut Connection, request: &str, now: Timestamp) -> Result<()> {
    end(db, ended_where!("second_of = $1"), request, now).await
}

/// Ends the pending second approvals of the request whose own approval is this one, because it cannot be approved any
/// more.
pub(crate) async fn end_with(db: &mut Connection, own: &str, now: Timestamp) -> Result<()> {
    let statement =
        ended_where!("second_of = (SELECT backchannel_id FROM approvals AS own WHERE own.id = $1)");
    end(db, statement, own, now).await
}

/// Ends the pending approvals of a statement, and the deliveries of their requests, and notifies the devices that show
/// them.
async fn end(
    db: &mut Connection,
    statement: &'static str,
    subject: &str,
    now: Timestamp,
) -> Result<()> {
    let ended: Vec<(String, Option<String>)> = sql::query_as(statement)
        .bind(subject.to_owned())
        .bind(now.millis())
        .fetch_all(&mut *db)
        .await?;
    for (id, user) in ended {
        delivery::approval_ended(db, &id).await?;
        if let Some(user) = user {
            let user = parse(&user, cell("approvals", "user_id", &id))?;
            deferred::record_change(db, Change::Inbox(user))?;
        }
    }
    Ok(())
}

/// Ends the requests that the answer of a second approver makes useless: those to the other users who could have given
/// it, and, without an approval, that to the request's own user. The request is locked.
pub(crate) async fn answered(
    db: &mut Connection,
    second: ApprovalId,
    is_approved: bool,
    now: Timestamp,
) -> Result<()> {
    let answered = second.to_string();
    let others = ended_where!(
        "id <> $1 AND second_of = (SELECT second_of FROM approvals AS answered WHERE answered.id = $1)"
    );
    end(db, others, &answered, now).await?;
    if !is_approved {
        let own = ended_where!(
            "backchannel_id = (SELECT second_of FROM approvals AS answered WHERE answered.id = $1)"
        );
        end(db, own, &answered, now).await?;
    }
    // The polls of the application wait for the approval of its user.
    let own: Option<(String,)> = sql::query_as(
        "SELECT own.id FROM approvals AS own JOIN approvals AS answered ON answered.second_of = own.backchannel_id
         WHERE answered.id = $1",
    )
    .bind(answered)
    .fetch_optional(&mut *db)
    .await?;
    match own {
        Some((own,)) => {
            let own = parse(&own, cell("approvals", "id", &own))?;
            deferred::record_change(db, Change::Approval(own))
        }
        None => Ok(()),
    }
}

impl Store {
    /// The users who may give the second approval of a new request of this application at `now`: members of the group
    /// with a device, except the user for whom it asks, in the order of their ids. They are
    /// [`MOST_SECOND_APPROVERS`] at most.
    pub async fn second_approvers(
        &self,
        approvers: &SecondApprovers,
        application: &Did,
        now: Timestamp,
    ) -> Result<Vec<SecondApprover>> {
        let rows: Vec<(String, String)> = sql::query_as(
            "SELECT users.id, users.name FROM group_members JOIN users ON users.id = group_members.user_id
             WHERE group_members.group_id = $1 AND users.id <> $2 AND users.state = 'active'
               AND EXISTS (SELECT 1 FROM devices WHERE devices.user_id = users.id AND devices.revoked_at IS NULL)
               AND NOT EXISTS (SELECT 1 FROM accounts
                               WHERE accounts.user_id = users.id AND accounts.application_id = $3
                                 AND accounts.state IN ('suspended', 'terminated'))
               AND (SELECT COUNT(*) FROM approvals
                    WHERE approvals.named_user = users.id AND approvals.kind = 'second_approval'
                      AND approvals.application_id = $3 AND approvals.state = 'requested'
                      AND approvals.expires_at > $4) < $5
             ORDER BY users.id LIMIT $6",
        )
        .bind(approvers.group.to_string())
        .bind(approvers.first.user.to_string())
        .bind(application.to_string())
        .bind(now.millis())
        .bind(MOST_OPEN)
        .bind(MOST_SECOND_APPROVERS)
        .fetch_all(self.readers.lookups())
        .await?;
        let rows = rows.into_iter();
        rows.map(|(id, name)| {
            Ok(SecondApprover {
                user: parse(&id, cell("users", "id", &id))?,
                name,
            })
        })
        .collect()
    }

    /// The approval of a back-channel request, as the application may see it. If a second approver must approve too, it
    /// is approved only after both did, and denied after one of them denied. A second approval that does not count any
    /// more leaves it pending until its expiry.
    pub async fn approval_of_request(
        &self,
        request: &BackchannelRequest,
    ) -> Result<Option<Approval>> {
        let own = self.approval_of_backchannel(request.id).await?;
        // A claim found the second approval.
        let needs_second = request.second.is_some() && !request.is_claimed;
        let (Some(own), true) = (&own, needs_second) else {
            return Ok(own);
        };
        let (denied,): (i64,) = sql::query_as(
            "SELECT COUNT(*) FROM approvals WHERE second_of = $1 AND state = 'denied'",
        )
        .bind(request.id.to_string())
        .fetch_one(self.readers.lookups())
        .await?;
        let stage = match &own.stage {
            _ if denied > 0 => ApprovalStage::Denied,
            ApprovalStage::Approved { .. } if self.counted_second(request).await?.is_none() => {
                ApprovalStage::Requested
            }
            stage => stage.clone(),
        };
        Ok(Some(Approval {
            stage,
            ..own.clone()
        }))
    }

    /// The second approval of a request that counts now, or counted when the request was claimed; `None` if there is
    /// none.
    pub async fn counted_second(
        &self,
        request: &BackchannelRequest,
    ) -> Result<Option<CountedSecond>> {
        let found: Option<(String, String)> = sql::query_as(concat!(
            "SELECT second.id, second.user_id FROM backchannel_requests AS asked
             JOIN approvals AS second ON second.second_of = asked.id
             WHERE asked.id = $1 AND second.state = 'approved' AND (asked.claimed_at IS NOT NULL OR ",
            second_counts!(),
            ")"
        ))
        .bind(request.id.to_string())
        .fetch_optional(self.readers.lookups())
        .await?;
        found
            .map(|(id, user)| {
                Ok(CountedSecond {
                    approval: parse(&id, cell("approvals", "id", &id))?,
                    user: parse(&user, cell("approvals", "user_id", &id))?,
                })
            })
            .transpose()
    }
}
