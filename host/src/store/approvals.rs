//! Approvals. Each change is one conditional statement, so that whatever races, one wins.

use sqlx::AnyConnection;

use super::rows::{digest, from_json, moment, parse, to_json};
use super::{Result, Store, StoreError, deliveries};
use crate::clock::Timestamp;
use crate::id::{ApprovalId, DeliveryId, DeviceId, UserId};
use crate::model::approval::{Approval, ApprovalStage, Approver, FailureReason, MatchingNumber};
use crate::model::delivery::Ruling;
use crate::model::session::Amr;
use crate::secret::Digest;

#[derive(sqlx::FromRow)]
struct ApprovalRow {
    id: String,
    login_id: String,
    user_id: Option<String>,
    name_digest: String,
    number: String,
    shown: String,
    requested_at: i64,
    expires_at: i64,
    attempts_left: i64,
    state: String,
    decided_at: Option<i64>,
    device_id: Option<String>,
    amr: Option<String>,
    channel: Option<String>,
}

impl ApprovalRow {
    fn stage(&self) -> Result<ApprovalStage> {
        Ok(match (self.state.as_str(), self.decided_at) {
            ("requested", None) => ApprovalStage::Requested,
            ("approved", Some(at)) => ApprovalStage::Approved { by: self.approver()?, at: moment(at) },
            ("denied", ..) => ApprovalStage::Denied,
            ("expired", ..) => ApprovalStage::Expired,
            ("cancelled", ..) => ApprovalStage::Cancelled,
            ("replaced", ..) => ApprovalStage::Replaced,
            ("wrong_number", ..) => ApprovalStage::Failed(FailureReason::WrongNumber),
            _ => return Err(StoreError::Corrupt("an approval's state")),
        })
    }
}

impl ApprovalRow {
    fn approver(&self) -> Result<Approver> {
        match (&self.device_id, &self.amr, &self.channel) {
            (Some(device), Some(amr), None) => Ok(Approver::Device {
                id: parse(device, "an approval's device")?,
                amr: from_json(amr, "an approval's methods")?,
            }),
            (None, None, Some(channel)) => Ok(Approver::Channel(channel.clone())),
            _ => Err(StoreError::Corrupt("who approved")),
        }
    }
}

impl TryFrom<ApprovalRow> for Approval {
    type Error = StoreError;
    fn try_from(row: ApprovalRow) -> Result<Self> {
        Ok(Self {
            id: parse(&row.id, "an approval's id")?,
            login_id: parse(&row.login_id, "an approval's login")?,
            user_id: row.user_id.as_deref().map(|id| parse(id, "an approval's user")).transpose()?,
            name_digest: digest(&row.name_digest, "an approval's name")?,
            number: MatchingNumber::parse(&row.number).ok_or(StoreError::Corrupt("an approval's number"))?,
            shown: from_json(&row.shown, "what an approval shows")?,
            requested_at: moment(row.requested_at),
            expires_at: moment(row.expires_at),
            attempts_left: u32::try_from(row.attempts_left).unwrap_or(0),
            stage: row.stage()?,
        })
    }
}

/// A device's verified answer.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// The person approved.
    Approve {
        /// The device whose proof was verified.
        device: DeviceId,
        /// What the proof shows.
        amr: Vec<Amr>,
    },
    /// The person denied.
    Deny {
        /// The device whose proof was verified.
        device: DeviceId,
    },
    /// The person approved, but typed another number. It counts once for a device, however often its proof comes.
    WrongNumber {
        /// The device whose proof was verified.
        device: DeviceId,
        /// The digest of what was typed.
        number: Digest,
    },
}

/// What came of a device's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It counts.
    Counted,
    /// The number was wrong; it may be typed that often again.
    WrongNumber {
        /// How often a number may still be typed.
        attempts_left: u32,
    },
    /// It came too late: the request was decided before, is over, or its device or user is no longer good.
    Late,
}

impl Store {
    /// Asks: adds the approval, which its login then waits for, in place of an open one for the same name. `false` if
    /// the login was answered or already waits for another.
    pub async fn request_approval(&self, approval: Approval) -> Result<bool> {
        self.asks
            .write(move |db| {
                let approval = approval.clone();
                Box::pin(async move { request(db, &approval).await })
            })
            .await
    }

    /// The approval with this id.
    pub async fn approval(&self, id: ApprovalId) -> Result<Option<Approval>> {
        let row: Option<ApprovalRow> = sqlx::query_as("SELECT * FROM approvals WHERE id = $1")
            .bind(id.to_string())
            .fetch_optional(&self.readers)
            .await?;
        row.map(Approval::try_from).transpose()
    }

    /// The request that waits for a person at `now`: the newest. Name and e-mail address may each have an open one, and
    /// were the older of the two ended, its browser would learn that both belong to one person.
    pub async fn open_approval(&self, user: UserId, now: Timestamp) -> Result<Option<Approval>> {
        let row: Option<ApprovalRow> = sqlx::query_as(
            "SELECT * FROM approvals WHERE user_id = $1 AND state = 'requested' AND expires_at > $2
             ORDER BY id DESC LIMIT 1",
        )
        .bind(user.to_string())
        .bind(now.millis())
        .fetch_optional(&self.readers)
        .await?;
        row.map(Approval::try_from).transpose()
    }

    /// Takes a device's verified answer. It counts only while the request is the person's newest open one, the device is not revoked and
    /// belongs to the person who was asked, and that person may sign in.
    pub async fn answer_approval(&self, id: ApprovalId, verdict: Verdict, now: Timestamp) -> Result<Answer> {
        self.write(move |db| {
            let verdict = verdict.clone();
            Box::pin(async move {
                match verdict {
                    Verdict::Approve { device, amr } => {
                        decide(db, id, "approved", device, Some(to_json(&amr)?), now).await
                    }
                    Verdict::Deny { device } => decide(db, id, "denied", device, None, now).await,
                    Verdict::WrongNumber { device, number } => wrong_number(db, id, device, number, now).await,
                }
            })
        })
        .await
    }

    /// Takes what a vendor said of a request. It counts only for the approval that the request was begun for, while the
    /// request is not done with, by the address that it still knows the person by, and where a device's answer would: once,
    /// for the person's newest open request, while they may sign in. The request is done with then, whether it counted or not.
    pub async fn rule_on_approval(&self, delivery: DeliveryId, ruling: Ruling, now: Timestamp) -> Result<bool> {
        self.write(move |db| Box::pin(async move { rule(db, delivery, ruling, now).await })).await
    }

    /// The person gave up in the browser. Nothing happens if the request was decided before.
    pub async fn cancel_approval(&self, id: ApprovalId, now: Timestamp) -> Result<()> {
        self.write(move |db| {
            Box::pin(async move {
                sqlx::query(
                    "UPDATE approvals SET state = 'cancelled', decided_at = $2
                     WHERE id = $1 AND state IN ('requested', 'replaced')",
                )
                .bind(id.to_string())
                .bind(now.millis())
                .execute(&mut *db)
                .await?;
                deliveries::wake(db, &id.to_string()).await
            })
        })
        .await
    }
}

async fn request(db: &mut AnyConnection, approval: &Approval) -> Result<bool> {
    let claimed: Option<(String,)> = sqlx::query_as(
        "UPDATE logins SET approval_id = $2 WHERE id = $1 AND answered_at IS NULL AND approval_id IS NULL RETURNING id",
    )
    .bind(approval.login_id.to_string())
    .bind(approval.id.to_string())
    .fetch_optional(&mut *db)
    .await?;
    if claimed.is_none() {
        return Ok(false);
    }
    // Another host may ask for the same name between the two statements. It is then replaced in its turn.
    for _ in 0..20 {
        replace_open(db, approval).await?;
        if insert(db, approval).await? {
            return Ok(true);
        }
    }
    Err(StoreError::Taken("the open request"))
}

/// Ends the open request for the name, if there is one.
async fn replace_open(db: &mut AnyConnection, approval: &Approval) -> Result<()> {
    let ended: Option<(String,)> = sqlx::query_as(
        "UPDATE approvals SET state = CASE WHEN expires_at <= $2 THEN 'expired' ELSE 'replaced' END, decided_at = $2
         WHERE name_digest = $1 AND state = 'requested' RETURNING id",
    )
    .bind(approval.name_digest.to_text())
    .bind(approval.requested_at.millis())
    .fetch_optional(&mut *db)
    .await?;
    match ended {
        Some((id,)) => deliveries::wake(db, &id).await,
        None => Ok(()),
    }
}

/// Adds the request. `false` if there is an open one for the name.
async fn insert(db: &mut AnyConnection, approval: &Approval) -> Result<bool> {
    let result = sqlx::query(
        "INSERT INTO approvals (id, login_id, user_id, name_digest, number, shown, requested_at, expires_at,
                                attempts_left, state)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'requested')
         ON CONFLICT (name_digest) WHERE state = 'requested' DO NOTHING",
    )
    .bind(approval.id.to_string())
    .bind(approval.login_id.to_string())
    .bind(approval.user_id.map(|id| id.to_string()))
    .bind(approval.name_digest.to_text())
    .bind(approval.number.to_string())
    .bind(to_json(&approval.shown)?)
    .bind(approval.requested_at.millis())
    .bind(approval.expires_at.millis())
    .bind(i64::from(approval.attempts_left))
    .execute(db)
    .await?;
    Ok(result.rows_affected() > 0)
}

async fn decide(
    db: &mut AnyConnection,
    id: ApprovalId,
    state: &'static str,
    device: DeviceId,
    amr: Option<String>,
    now: Timestamp,
) -> Result<Answer> {
    let decided: Option<(String,)> = sqlx::query_as(
        "UPDATE approvals SET state = $2, decided_at = $3, device_id = $4, amr = $5
         WHERE id = $1 AND state = 'requested' AND expires_at > $3
           AND EXISTS (SELECT 1 FROM devices
                       WHERE devices.id = $4 AND devices.user_id = approvals.user_id AND devices.revoked_at IS NULL)
           AND EXISTS (SELECT 1 FROM users WHERE users.id = approvals.user_id AND users.state = 'active')
           AND NOT EXISTS (SELECT 1 FROM approvals AS newer
                           WHERE newer.user_id = approvals.user_id AND newer.state = 'requested'
                             AND newer.expires_at > $3 AND newer.id > approvals.id)
         RETURNING id",
    )
    .bind(id.to_string())
    .bind(state)
    .bind(now.millis())
    .bind(device.to_string())
    .bind(amr)
    .fetch_optional(&mut *db)
    .await?;
    match decided {
        Some((id,)) => deliveries::wake(db, &id).await.map(|()| Answer::Counted),
        None => Ok(Answer::Late),
    }
}

async fn rule(db: &mut AnyConnection, delivery: DeliveryId, ruling: Ruling, now: Timestamp) -> Result<bool> {
    let state = match ruling {
        Ruling::Approved => "approved",
        Ruling::Denied => "denied",
    };
    let decided: Option<(String,)> = sqlx::query_as(
        "UPDATE approvals
         SET state = $2, decided_at = $3,
             channel = (SELECT channel FROM approval_deliveries AS delivery WHERE delivery.id = $1)
         WHERE id = (SELECT approval_id FROM approval_deliveries AS delivery
                     WHERE delivery.id = $1 AND delivery.device_id IS NULL)
           AND state = 'requested' AND expires_at > $3
           AND EXISTS (SELECT 1 FROM users WHERE users.id = approvals.user_id AND users.state = 'active')
           AND EXISTS (SELECT 1 FROM approval_deliveries AS delivery
                       JOIN approval_addresses AS known
                         ON known.channel = delivery.channel AND known.address = delivery.address
                       WHERE delivery.id = $1 AND known.user_id = approvals.user_id)
           AND NOT EXISTS (SELECT 1 FROM approvals AS newer
                           WHERE newer.user_id = approvals.user_id AND newer.state = 'requested'
                             AND newer.expires_at > $3 AND newer.id > approvals.id)
         RETURNING id",
    )
    .bind(delivery.to_string())
    .bind(state)
    .bind(now.millis())
    .fetch_optional(&mut *db)
    .await?;
    deliveries::delete(&mut *db, delivery).await?;
    match decided {
        Some((id,)) => deliveries::wake(db, &id).await.map(|()| true),
        None => Ok(false),
    }
}

async fn wrong_number(
    db: &mut AnyConnection,
    id: ApprovalId,
    device: DeviceId,
    number: Digest,
    now: Timestamp,
) -> Result<Answer> {
    let first = sqlx::query(
        "INSERT INTO wrong_numbers (approval_id, device_id, number)
         SELECT approvals.id, $2, $3 FROM approvals
         WHERE approvals.id = $1 AND approvals.state = 'requested' AND approvals.expires_at > $4
         ON CONFLICT (approval_id, device_id, number) DO NOTHING",
    )
    .bind(id.to_string())
    .bind(device.to_string())
    .bind(number.to_text())
    .bind(now.millis())
    .execute(&mut *db)
    .await?
    .rows_affected();
    let left: Option<(i64,)> = sqlx::query_as(
        "UPDATE approvals SET attempts_left = attempts_left - $3,
                              state = CASE WHEN attempts_left <= $3 THEN 'wrong_number' ELSE state END,
                              decided_at = CASE WHEN attempts_left <= $3 THEN $2 ELSE decided_at END
         WHERE id = $1 AND state = 'requested' AND expires_at > $2 RETURNING attempts_left",
    )
    .bind(id.to_string())
    .bind(now.millis())
    .bind(i64::try_from(first).unwrap_or(1))
    .fetch_optional(&mut *db)
    .await?;
    let Some((left,)) = left else { return Ok(Answer::Late) };
    let attempts_left = u32::try_from(left).unwrap_or(0);
    if attempts_left == 0 {
        deliveries::wake(db, &id.to_string()).await?;
    }
    Ok(Answer::WrongNumber { attempts_left })
}
