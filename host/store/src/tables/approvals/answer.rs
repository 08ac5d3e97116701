//! The answers of devices, and the rulings of vendors that make the decision themselves.

use crate::engine::rows::{cell, parse, to_json};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::tables::approvals::{cooldown, delivery, receipts, report, request};
use crate::tables::backchannel::{deliveries, second_approval, withdrawal};
use crate::tables::devices;
use crate::tables::devices::{locks, passkeys};
use crate::{Result, Store, audit};
use assent_model::approval::{CooldownPolicy, RequestKind};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::delivery::Ruling;
use assent_model::id::{ApprovalId, DeliveryId, DeviceId};
use assent_model::passkey::PasskeyUse;
use assent_model::receipt::content::NewReceipt;
use assent_model::report::NewReport;
use assent_model::secret::Digest;
use assent_model::session::Amr;

/// The condition for a request whose user may sign in to the application.
const MAY_SIGN_IN: &str =
    "EXISTS (SELECT 1 FROM users WHERE users.id = approvals.user_id AND users.state = 'active')
           AND NOT EXISTS (SELECT 1 FROM accounts
                           WHERE accounts.user_id = approvals.user_id
                             AND accounts.application_id = approvals.application_id
                             AND accounts.state IN ('suspended', 'terminated'))";

/// A device's verified answer.
#[derive(Clone, Debug)]
pub enum DeviceAnswer {
    /// The user approved.
    Approve {
        /// The authentication methods that the proof shows.
        amr: Vec<Amr>,
        /// The valid assertion of the device's passkey. If the device has a passkey, an approval without an assertion
        /// does not count.
        passkey: Option<Box<PasskeyUse>>,
    },
    /// The user denied.
    Deny,
    /// The user reports that the request was not theirs, with the report for administrators. All of the user's pending
    /// requests end.
    Report(Box<NewReport>),
    /// The user approved, but typed another number, with this digest. The same number counts once per device, no matter
    /// how often its proof arrives.
    NumberMismatch(Digest),
}

/// The records of an answer that counts.
#[derive(Clone, Debug)]
pub struct AuditNote {
    /// The entry for the audit log.
    pub entry: Entry,
    /// The cooldown that a denial begins, with its entry for the audit log.
    pub cooldown: (CooldownPolicy, Entry),
    /// The receipt of the answer, if receipts are kept.
    pub receipt: Option<NewReceipt>,
}

impl AuditNote {
    /// Adds the receipt, and its digest to the entry.
    #[must_use]
    pub fn with_receipt(mut self, receipt: Option<NewReceipt>) -> Self {
        if let Some(receipt) = &receipt {
            self.entry = self.entry.with("receipt", receipt.digest().to_text());
        }
        self.receipt = receipt;
        self
    }
}

/// The outcome of a device's answer, or of a vendor's ruling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerOutcome {
    /// It counts.
    Counted,
    /// The number was wrong.
    NumberMismatch {
        /// How often the user may still type a number.
        attempts_left: u32,
    },
    /// The device has a passkey, and the assertion is missing or rejected.
    NoPasskey,
    /// It came too late: the request was decided before or expired, or its device or user may not decide it any more.
    Late,
}

impl Store {
    /// Records the verified answer of this device. It counts only if the request is pending, the device belongs to its
    /// user and is not revoked, and the user may sign in there. The user can still report a replaced, cancelled, denied
    /// or failed request until it expires.
    pub async fn answer_approval(
        &self,
        id: ApprovalId,
        device: DeviceId,
        answer: DeviceAnswer,
        note: AuditNote,
        now: Timestamp,
    ) -> Result<AnswerOutcome> {
        self.write((answer, note), move |db, (answer, note)| {
            Box::pin(record_answer(db, id, device, answer, note, now))
        })
        .await
    }

    /// Records a vendor's ruling on a delivered request. It counts under the conditions of a device's answer: the
    /// request is pending, and its user may sign in there. The identifier of the delivery must also still belong to the
    /// user. The delivery is deleted, whether the ruling counts or not.
    pub async fn rule_on_approval(
        &self,
        delivery: DeliveryId,
        ruling: Ruling,
        note: AuditNote,
        now: Timestamp,
    ) -> Result<AnswerOutcome> {
        self.write(note, move |db, note| {
            Box::pin(record_ruling(db, delivery, ruling, note, now))
        })
        .await
    }
}

async fn record_answer(
    db: &mut Connection,
    id: ApprovalId,
    device: DeviceId,
    answer: &DeviceAnswer,
    note: &AuditNote,
    now: Timestamp,
) -> Result<AnswerOutcome> {
    let (state, amr, report) = match answer {
        DeviceAnswer::NumberMismatch(number) => {
            return record_number_mismatch(db, id, device, number, note, now).await;
        }
        DeviceAnswer::Approve { amr, passkey } => {
            if !passkeys::may_approve(db, device, passkey.as_deref()).await? {
                return Ok(AnswerOutcome::NoPasskey);
            }
            ("approved", Some(to_json(amr)?), None)
        }
        DeviceAnswer::Deny => ("denied", None, None),
        DeviceAnswer::Report(report) => ("reported", None, Some(report)),
    };
    let is_approved = amr.is_some();
    locks::lock_device(db, device).await?;
    lock_subjects_of(db, id, now).await?;
    // A report keeps the state of a request that ended before, because the page shows that state already.
    let counted: Option<(String, String, Option<String>)> = sql::query_as(sql::statement!(
        "UPDATE approvals SET state = CASE WHEN state = 'requested' THEN $2 ELSE state END,
                              decided_at = $3, device_id = $4, amr = $5, reported = $6
         WHERE id = $1 AND reported = 0 AND expires_at > $3
           AND (state = 'requested'
                OR $6 = 1 AND state IN ('replaced', 'cancelled', 'denied', 'number_mismatch'))
           AND EXISTS (SELECT 1 FROM devices
                       WHERE devices.id = $4 AND devices.user_id = approvals.user_id AND devices.revoked_at IS NULL)
           AND ",
        second_approval::MAY_DECIDE,
        " AND ",
        MAY_SIGN_IN,
        " RETURNING user_id, kind, application_id"
    ))
    .bind(id.to_string())
    .bind(state)
    .bind(now.millis())
    .bind(device.to_string())
    .bind(amr)
    .bind(report.is_some())
    .fetch_optional(&mut *db)
    .await?;
    let Some((user, kind, application)) = counted else {
        return Ok(AnswerOutcome::Late);
    };
    delivery::approval_ended(db, &id.to_string()).await?;
    devices::record_use(db, device, now).await?;
    if let Some(report) = report {
        end_reported(db, &user, &kind, device, now).await?;
        report::insert(db, report, &user, device, now).await?;
    }
    // A denial pauses the application that asked, and no request of others. The user began the request of a device.
    let is_kind = |one: RequestKind| one.as_str() == kind;
    let is_own = is_kind(RequestKind::Backchannel) || is_kind(RequestKind::DeviceAuthorization);
    if is_kind(RequestKind::SecondApproval) {
        second_approval::answered(db, id, is_approved, now).await?;
    } else if is_own && !is_approved {
        second_approval::end_with(db, &id.to_string(), now).await?;
    }
    if (is_own || is_kind(RequestKind::SecondApproval)) && report.is_none() {
        if let (true, false, Some(application)) = (is_own, is_approved, &application) {
            withdrawal::withdraw_pending(db, &user, application, now).await?;
        }
        deliveries::decided(db, id, now).await?;
        record_evidence(db, note, now).await?;
        return Ok(AnswerOutcome::Counted);
    }
    record_decision(db, &user, is_approved, note, now).await?;
    Ok(AnswerOutcome::Counted)
}

/// Ends the other pending requests of a user who reported one, and drops those that a cooldown holds. If the reported
/// request came from a known browser, an attacker uses that browser, so none of the user's browsers stays known.
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
        delivery::approval_ended(db, &other).await?;
    }
    cooldown::drop_held(db, user).await?;
    if kind == RequestKind::KnownBrowser.as_str() {
        sql::query("UPDATE users SET known_browsers_not_before = $2 + 1 WHERE id = $1")
            .bind(user.to_owned())
            .bind(now.millis())
            .execute(db)
            .await?;
    }
    Ok(())
}

async fn record_number_mismatch(
    db: &mut Connection,
    id: ApprovalId,
    device: DeviceId,
    number: &Digest,
    note: &AuditNote,
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
    // It counts against the request only: a cooldown would let an attacker lock the user out with wrong numbers.
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
        let entry = note.entry.clone().with("attempts_left", attempts_left);
        audit::append(db, &[entry]).await?;
    }
    if attempts_left == 0 {
        delivery::approval_ended(db, &id.to_string()).await?;
        second_approval::end_with(db, &id.to_string(), now).await?;
    }
    Ok(AnswerOutcome::NumberMismatch { attempts_left })
}

/// Locks the user of a request, so that a new request sees the cooldown that a denial or report begins. If it is a
/// second approval, locks its back-channel request too, so that of several answers one counts.
async fn lock_subjects_of(db: &mut Connection, id: ApprovalId, now: Timestamp) -> Result<()> {
    let found: Option<(Option<String>, Option<String>)> =
        sql::query_as("SELECT user_id, second_of FROM approvals WHERE id = $1")
            .bind(id.to_string())
            .fetch_optional(&mut *db)
            .await?;
    let (user, request) = found.unwrap_or_default();
    if let Some(user) = user {
        request::lock_subject(db, &user, now).await?;
    }
    match request {
        Some(request) => second_approval::lock_request(db, &request).await,
        None => Ok(()),
    }
}

/// Records a decision that counts: an approval resets the denials, and denials and reports begin cooldowns.
async fn record_decision(
    db: &mut Connection,
    user: &str,
    approved: bool,
    note: &AuditNote,
    now: Timestamp,
) -> Result<()> {
    record_evidence(db, note, now).await?;
    if approved {
        return cooldown::reset_denials(db, user).await;
    }
    let (pause, entry) = &note.cooldown;
    cooldown::count_denial(db, user, pause, entry, now).await
}

/// Records the audit entry and the receipt of a decision that counts.
async fn record_evidence(db: &mut Connection, note: &AuditNote, now: Timestamp) -> Result<()> {
    audit::append(db, std::slice::from_ref(&note.entry)).await?;
    match &note.receipt {
        Some(receipt) => receipts::insert(db, receipt, now).await,
        None => Ok(()),
    }
}

async fn record_ruling(
    db: &mut Connection,
    delivery: DeliveryId,
    ruling: Ruling,
    note: &AuditNote,
    now: Timestamp,
) -> Result<AnswerOutcome> {
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
        lock_subjects_of(
            db,
            parse(
                &approval,
                cell("approval_deliveries", "approval_id", &delivery.to_string()),
            )?,
            now,
        )
        .await?;
    }
    let decided: Option<(String, String)> = sql::query_as(sql::statement!(
        "UPDATE approvals
         SET state = $2, decided_at = $3,
             channel = (SELECT channel FROM approval_deliveries AS delivery WHERE delivery.id = $1)
         WHERE id = (SELECT approval_id FROM approval_deliveries AS delivery
                     WHERE delivery.id = $1 AND delivery.device_id IS NULL)
           AND state = 'requested' AND expires_at > $3
           AND EXISTS (SELECT 1 FROM approval_deliveries AS delivery
                       JOIN external_authenticators AS known
                         ON known.channel = delivery.channel AND known.identifier = delivery.identifier
                       WHERE delivery.id = $1 AND known.user_id = approvals.user_id)
           AND ",
        MAY_SIGN_IN,
        " RETURNING id, user_id"
    ))
    .bind(delivery.to_string())
    .bind(state)
    .bind(now.millis())
    .fetch_optional(&mut *db)
    .await?;
    delivery::delete(&mut *db, delivery).await?;
    let Some((id, user)) = decided else {
        return Ok(AnswerOutcome::Late);
    };
    delivery::approval_ended(db, &id).await?;
    record_decision(db, &user, ruling == Ruling::Approved, note, now).await?;
    Ok(AnswerOutcome::Counted)
}
