//! Approvals. Each change is one conditional statement, so that whatever races, one wins.

use crate::sql::{self, Connection};

use crate::action_approvals::OutlineRow;
use crate::rows::{cell, digest, from_json, moment, parse, to_json};
use crate::{
    Result, Store, StoreError, approval_conflicts, approval_requests, audit, cooldowns, deliveries,
    devices, passkeys,
};
use assent_model::approval::{
    Approval, ApprovalStage, ApprovalSubject, Approver, CooldownPolicy, FailureReason,
    MatchingNumber, RequestKind,
};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::delivery::Ruling;
use assent_model::id::{ActionApprovalId, ApprovalId, DeliveryId, DeviceId, LoginId, UserId};
use assent_model::passkey::PasskeyUse;
use assent_model::secret::Digest;
use assent_model::session::Amr;

crate::sql::row! {
    struct ApprovalRow of approvals {
        id: String,
        login_id: Option<String>,
        action_approval_id: Option<String>,
        user_id: Option<String>,
        name_digest: String,
        scanned_by: Option<String>,
        number: String,
        prompt: String,
        requested_at: i64,
        expires_at: i64,
        attempts_left: i64,
        state: String,
        decided_at: Option<i64>,
        device_id: Option<String>,
        amr: Option<String>,
        channel: Option<String>,
        conflicted: i64,
        outline: OutlineRow,
    }
}

/// Reads approvals, each with the outline of its protected action.
macro_rules! approvals_where {
    ($condition:literal) => {
        sql::statement!(
            "SELECT ",
            ApprovalRow::COLUMNS,
            " FROM approvals LEFT JOIN action_approvals ON action_approvals.id = approvals.action_approval_id
             WHERE ",
            $condition
        )
    };
}

impl ApprovalRow {
    fn stage(&self) -> Result<ApprovalStage> {
        Ok(match (self.state.as_str(), self.decided_at) {
            ("requested", None) => ApprovalStage::Requested,
            ("approved", Some(at)) => ApprovalStage::Approved {
                by: self.approver()?,
                at: moment(at),
            },
            ("denied", ..) => ApprovalStage::Denied,
            ("expired", ..) => ApprovalStage::Expired,
            ("cancelled", ..) if self.conflicted == approval_conflicts::SHOWN => {
                ApprovalStage::Conflicted
            }
            ("cancelled", ..) => ApprovalStage::Cancelled,
            ("replaced", ..) => ApprovalStage::Replaced,
            ("withdrawn", ..) => ApprovalStage::Withdrawn,
            ("reported", ..) => ApprovalStage::Reported,
            ("number_mismatch", ..) => ApprovalStage::Failed(FailureReason::NumberMismatch),
            _ => return Err(cell("approvals", "state", &self.id).unexpected()),
        })
    }
}

impl ApprovalRow {
    fn subject(&self) -> Result<ApprovalSubject> {
        match (&self.login_id, &self.action_approval_id) {
            (Some(login), None) => {
                let login = parse(login, cell("approvals", "login_id", &self.id))?;
                Ok(ApprovalSubject::SignIn(login))
            }
            (None, Some(action)) => Ok(ApprovalSubject::ProtectedAction {
                id: parse(action, cell("approvals", "action_approval_id", &self.id))?,
                outline: self.outline.outline(action)?,
            }),
            _ => Err(cell("approvals", "login_id", &self.id).unexpected()),
        }
    }

    fn approver(&self) -> Result<Approver> {
        match (&self.device_id, &self.amr, &self.channel) {
            (Some(device), Some(amr), None) => Ok(Approver::Device {
                id: parse(device, cell("approvals", "device_id", &self.id))?,
                amr: from_json(amr, cell("approvals", "amr", &self.id))?,
            }),
            (None, None, Some(channel)) => Ok(Approver::Channel(channel.clone())),
            _ => Err(cell("approvals", "device_id", &self.id).unexpected()),
        }
    }
}

impl TryFrom<ApprovalRow> for Approval {
    type Error = StoreError;
    fn try_from(row: ApprovalRow) -> Result<Self> {
        Ok(Self {
            id: parse(&row.id, cell("approvals", "id", &row.id))?,
            subject: row.subject()?,
            user_id: row
                .user_id
                .as_deref()
                .map(|id| parse(id, cell("approvals", "user_id", &row.id)))
                .transpose()?,
            name_digest: digest(&row.name_digest, cell("approvals", "name_digest", &row.id))?,
            scanned_by: row
                .scanned_by
                .as_deref()
                .map(|id| parse(id, cell("approvals", "scanned_by", &row.id)))
                .transpose()?,
            number: MatchingNumber::parse(&row.number)
                .ok_or(cell("approvals", "number", &row.id).unexpected())?,
            shown: from_json(&row.prompt, cell("approvals", "prompt", &row.id))?,
            requested_at: moment(row.requested_at),
            expires_at: moment(row.expires_at),
            attempts_left: u32::try_from(row.attempts_left).unwrap_or(0),
            stage: row.stage()?,
        })
    }
}

/// A device's verified answer.
#[derive(Clone, Debug)]
pub enum DeviceAnswer {
    /// The person approved.
    Approve {
        /// The device whose proof was verified.
        device: DeviceId,
        /// What the proof shows.
        amr: Vec<Amr>,
        /// The good assertion of the device's passkey that came with it; where it has one, it counts with one alone.
        passkey: Option<Box<PasskeyUse>>,
    },
    /// The person denied.
    Deny {
        /// The device whose proof was verified.
        device: DeviceId,
    },
    /// The person says that it was not theirs: every open request of theirs ends.
    Report {
        /// The device whose proof was verified.
        device: DeviceId,
    },
    /// The person approved, but typed another number. It counts once for a device, however often its proof comes.
    NumberMismatch {
        /// The device whose proof was verified.
        device: DeviceId,
        /// The digest of what was typed.
        number: Digest,
    },
}

/// What is noted of an answer, if it counts.
#[derive(Clone, Debug)]
pub struct AuditNote {
    /// What the audit log is told of it.
    pub entry: Entry,
    /// The pause that it begins if it is a denial, with what the audit log is told of that.
    pub cooldown: (CooldownPolicy, Entry),
}

/// What came of a device's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerOutcome {
    /// It counts.
    Counted,
    /// The number was wrong; it may be typed that often again.
    NumberMismatch {
        /// How often a number may still be typed.
        attempts_left: u32,
    },
    /// The device has a passkey, and it was not used, or not as it goes on from its last use.
    NoPasskey,
    /// It came too late: the request was decided before, is over, or its device or user is no longer good.
    Late,
}

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
    /// The approval with this id.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn approval(&self, id: ApprovalId) -> Result<Option<Approval>> {
        let row: Option<ApprovalRow> = sql::query_as(approvals_where!("approvals.id = $1"))
            .bind(id.to_string())
            .fetch_optional(&self.readers)
            .await?;
        row.map(Approval::try_from).transpose()
    }

    /// The latest request of a login.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn approval_of_login(&self, login: LoginId) -> Result<Option<Approval>> {
        let row: Option<ApprovalRow> = sql::query_as(approvals_where!(
            "approvals.login_id = $1 ORDER BY approvals.id DESC LIMIT 1"
        ))
        .bind(login.to_string())
        .fetch_optional(&self.readers)
        .await?;
        row.map(Approval::try_from).transpose()
    }

    /// The request of a protected action.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn approval_of_action(&self, action: ActionApprovalId) -> Result<Option<Approval>> {
        let row: Option<ApprovalRow> =
            sql::query_as(approvals_where!("approvals.action_approval_id = $1"))
                .bind(action.to_string())
                .fetch_optional(&self.readers)
                .await?;
        row.map(Approval::try_from).transpose()
    }

    /// The pending requests of a user at `now`, the oldest first.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn pending_approvals(&self, user: UserId, now: Timestamp) -> Result<Vec<Approval>> {
        let rows: Vec<ApprovalRow> = sql::query_as(approvals_where!(
            "approvals.named_user = $1 AND approvals.user_id = $1 AND approvals.state = 'requested'
             AND approvals.expires_at > $2 ORDER BY approvals.requested_at, approvals.id"
        ))
        .bind(user.to_string())
        .bind(now.millis())
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter().map(Approval::try_from).collect()
    }

    /// Another unexpired request of this user that has this number: pending, replaced or cancelled.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn approval_with_number(
        &self,
        user: UserId,
        but: ApprovalId,
        number: MatchingNumber,
        now: Timestamp,
    ) -> Result<Option<Approval>> {
        let row: Option<ApprovalRow> = sql::query_as(
            approvals_where!("approvals.named_user = $1 AND approvals.user_id = $1 AND approvals.expires_at > $2
               AND approvals.id <> $3 AND approvals.number = $4
               AND approvals.state IN ('requested', 'replaced', 'cancelled') AND approvals.reported = 0"),
        )
        .bind(user.to_string())
        .bind(now.millis())
        .bind(but.to_string())
        .bind(number.to_string())
        .fetch_optional(&self.readers)
        .await?;
        row.map(Approval::try_from).transpose()
    }

    /// Takes a device's verified answer. It counts only while the request is open, the device is not revoked and
    /// belongs to the requested user, and that user may sign in there. The user can still report a replaced, cancelled,
    /// denied or failed request until it expires.
    ///
    /// # Errors
    /// If the database fails, or the audit log cannot be extended.
    pub async fn answer_approval(
        &self,
        id: ApprovalId,
        verdict: DeviceAnswer,
        noted: AuditNote,
        now: Timestamp,
    ) -> Result<AnswerOutcome> {
        self.write(move |db| {
            let (verdict, noted) = (verdict.clone(), noted.clone());
            Box::pin(async move {
                let decision = match verdict {
                    DeviceAnswer::NumberMismatch { device, number } => {
                        return record_number_mismatch(db, id, device, number, noted, now).await;
                    }
                    DeviceAnswer::Approve {
                        device,
                        amr,
                        passkey,
                    } => {
                        if !passkeys::may_approve(db, device, passkey.as_deref()).await? {
                            return Ok(AnswerOutcome::NoPasskey);
                        }
                        (device, Decision::Approved(to_json(&amr)?))
                    }
                    DeviceAnswer::Deny { device } => (device, Decision::Denied),
                    DeviceAnswer::Report { device } => (device, Decision::Reported),
                };
                record_answer(db, id, decision, noted, now).await
            })
        })
        .await
    }

    /// Takes what a vendor said of a request. It counts only for the approval that the request was begun for, while the
    /// request is not done with, by the address that it still knows the person by, and where a device's answer would:
    /// once, for the person's newest open request, while they may sign in. The request is done with then, whether it
    /// counted or not.
    ///
    /// # Errors
    /// If the database fails, or the audit log cannot be extended.
    pub async fn rule_on_approval(
        &self,
        delivery: DeliveryId,
        ruling: Ruling,
        noted: AuditNote,
        now: Timestamp,
    ) -> Result<RulingOutcome> {
        self.write(move |db| {
            let noted = noted.clone();
            Box::pin(async move { record_ruling(db, delivery, ruling, noted, now).await })
        })
        .await
    }

    /// The person gave up in the browser. Nothing happens if the request was decided before.
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
                deliveries::wake(db, &id.to_string()).await
            })
        })
        .await
    }

    /// Ends a pending request that can't be approved any more. It can still be reported. Nothing happens if it was
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
                deliveries::wake(db, &id.to_string()).await
            })
        })
        .await
    }
}

/// What a device decided.
enum Decision {
    /// By these methods, in JSON.
    Approved(String),
    Denied,
    Reported,
}

async fn record_answer(
    db: &mut Connection,
    id: ApprovalId,
    (device, decided): (DeviceId, Decision),
    noted: AuditNote,
    now: Timestamp,
) -> Result<AnswerOutcome> {
    let (state, amr) = match &decided {
        Decision::Approved(amr) => ("approved", Some(amr.clone())),
        Decision::Denied => ("denied", None),
        Decision::Reported => ("reported", None),
    };
    let is_report = matches!(decided, Decision::Reported);
    devices::lock_device(db, device).await?;
    lock_user_of(db, id, now).await?;
    // A report keeps the state of a request that ended before: its page shows that already.
    let counted: Option<(String, String)> = sql::query_as(
        "UPDATE approvals SET state = CASE WHEN state = 'requested' THEN $2 ELSE state END,
                              decided_at = $3, device_id = $4, amr = $5, reported = $6
         WHERE id = $1 AND reported = 0 AND expires_at > $3
           AND (state = 'requested'
                OR $6 = 1 AND state IN ('replaced', 'cancelled', 'denied', 'number_mismatch'))
           AND EXISTS (SELECT 1 FROM devices
                       WHERE devices.id = $4 AND devices.user_id = approvals.user_id AND devices.revoked_at IS NULL)
           AND EXISTS (SELECT 1 FROM users WHERE users.id = approvals.user_id AND users.state = 'active')
           AND NOT EXISTS (SELECT 1 FROM accounts
                           WHERE accounts.user_id = approvals.user_id
                             AND accounts.application_id = approvals.application_id
                             AND accounts.state IN ('suspended', 'terminated'))
         RETURNING user_id, kind",
    )
    .bind(id.to_string())
    .bind(state)
    .bind(now.millis())
    .bind(device.to_string())
    .bind(amr)
    .bind(i64::from(is_report))
    .fetch_optional(&mut *db)
    .await?;
    let Some((user, kind)) = counted else {
        return Ok(AnswerOutcome::Late);
    };
    deliveries::wake(db, &id.to_string()).await?;
    devices::record_use(db, device, now).await?;
    if is_report {
        end_reported(db, &user, &kind, device, now).await?;
    }
    record_decision(
        db,
        &user,
        matches!(decided, Decision::Approved(_)),
        noted,
        now,
    )
    .await?;
    Ok(AnswerOutcome::Counted)
}

/// Locks the user of a request, so that a new request sees the cooldown that a denial or report begins.
async fn lock_user_of(db: &mut Connection, id: ApprovalId, now: Timestamp) -> Result<()> {
    let user: Option<(Option<String>,)> =
        sql::query_as("SELECT user_id FROM approvals WHERE id = $1")
            .bind(id.to_string())
            .fetch_optional(&mut *db)
            .await?;
    match user {
        Some((Some(user),)) => approval_requests::lock_subject(db, &user, now).await,
        _ => Ok(()),
    }
}

/// Ends the other pending requests of a user who reported one. If the reported one came from a known browser, another
/// person uses that browser, so none of the user's browsers stays known.
async fn end_reported(
    db: &mut Connection,
    user: &str,
    kind: &str,
    device: DeviceId,
    now: Timestamp,
) -> Result<()> {
    let others: Vec<(String,)> = sql::query_as(
        "UPDATE approvals SET state = 'reported', decided_at = $2, device_id = $3, reported = 1
         WHERE user_id = $1 AND state = 'requested' AND expires_at > $2 RETURNING id",
    )
    .bind(user.to_owned())
    .bind(now.millis())
    .bind(device.to_string())
    .fetch_all(&mut *db)
    .await?;
    for (other,) in others {
        deliveries::wake(db, &other).await?;
    }
    if kind == RequestKind::KnownBrowser.as_str() {
        sql::query("UPDATE users SET known_browsers_not_before = $2 + 1 WHERE id = $1")
            .bind(user.to_owned())
            .bind(now.millis())
            .execute(db)
            .await?;
    }
    Ok(())
}

/// Notes a decision that counts: an approval forgets the denials before it, denials and reports begin cooldowns.
async fn record_decision(
    db: &mut Connection,
    user: &str,
    approved: bool,
    noted: AuditNote,
    now: Timestamp,
) -> Result<()> {
    audit::append(db, &[noted.entry]).await?;
    if approved {
        return cooldowns::reset_denials(db, user).await;
    }
    let (pause, entry) = noted.cooldown;
    cooldowns::count_denial(db, user, &pause, entry, now).await
}

async fn record_ruling(
    db: &mut Connection,
    delivery: DeliveryId,
    ruling: Ruling,
    noted: AuditNote,
    now: Timestamp,
) -> Result<RulingOutcome> {
    let state = match ruling {
        Ruling::Approved => "approved",
        Ruling::Denied => "denied",
    };
    let asked: Option<(String,)> =
        sql::query_as("SELECT approval_id FROM approval_deliveries WHERE id = $1")
            .bind(delivery.to_string())
            .fetch_optional(&mut *db)
            .await?;
    if let Some((asked,)) = asked {
        lock_user_of(
            db,
            parse(
                &asked,
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
    deliveries::delete(&mut *db, delivery).await?;
    let Some((id, user)) = decided else {
        return Ok(RulingOutcome::Late);
    };
    deliveries::wake(db, &id).await?;
    record_decision(db, &user, ruling == Ruling::Approved, noted, now).await?;
    Ok(RulingOutcome::Counted)
}

async fn record_number_mismatch(
    db: &mut Connection,
    id: ApprovalId,
    device: DeviceId,
    number: Digest,
    noted: AuditNote,
    now: Timestamp,
) -> Result<AnswerOutcome> {
    let first = sql::query(
        "INSERT INTO number_match_failures (approval_id, device_id, number)
         SELECT approvals.id, $2, $3 FROM approvals
         WHERE approvals.id = $1 AND approvals.state = 'requested' AND approvals.expires_at > $4
         ON CONFLICT (approval_id, device_id, number) DO NOTHING",
    )
    .bind(id.to_string())
    .bind(device.to_string())
    .bind(number.to_text())
    .bind(now.millis())
    .execute(&mut *db)
    .await?;
    // It counts against the request only: a cooldown would let an attacker lock the user out by showing numbers.
    let left: Option<(i64,)> = sql::query_as(
        "UPDATE approvals SET attempts_left = attempts_left - $3,
                              state = CASE WHEN attempts_left <= $3 THEN 'number_mismatch' ELSE state END,
                              decided_at = CASE WHEN attempts_left <= $3 THEN $2 ELSE decided_at END
         WHERE id = $1 AND state = 'requested' AND expires_at > $2 RETURNING attempts_left",
    )
    .bind(id.to_string())
    .bind(now.millis())
    .bind(i64::try_from(first).unwrap_or(1))
    .fetch_optional(&mut *db)
    .await?;
    let Some((left,)) = left else {
        return Ok(AnswerOutcome::Late);
    };
    let attempts_left = u32::try_from(left).unwrap_or(0);
    if first > 0 {
        audit::append(db, &[noted.entry.with("attempts_left", attempts_left)]).await?;
    }
    if attempts_left == 0 {
        deliveries::wake(db, &id.to_string()).await?;
    }
    Ok(AnswerOutcome::NumberMismatch { attempts_left })
}
