//! The rows of approvals: their queries, and their ends without a decision. Each end is one conditional statement, so
//! that only one of several concurrent changes succeeds.

use crate::engine::rows::{cell, digest, from_json, moment, parse};
use crate::engine::sql;
use crate::tables::administration::action_approvals::OutlineRow;
use crate::tables::approvals::{conflict, delivery};
use crate::tables::backchannel::request::BackchannelOutlineRow;
use crate::tables::caller_checks::CallerCheckOutlineRow;
use crate::{Result, Store, StoreError, audit};
use assent_model::approval::{
    Approval, ApprovalStage, ApprovalSubject, Approver, FailureReason, MatchingNumber, RequestKind,
};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::id::{
    ActionApprovalId, ApprovalId, BackchannelRequestId, CallerCheckId, DeviceId, LoginId, UserId,
};
use assent_model::statement::Decision;

crate::engine::sql::row! {
    pub(crate) struct ApprovalRow of approvals {
        id: String,
        login_id: Option<String>,
        action_approval_id: Option<String>,
        pub(crate) backchannel_id: Option<String>,
        second_of: Option<String>,
        caller_check_id: Option<String>,
        user_id: Option<String>,
        name_digest: String,
        browser: String,
        scanned_by: Option<String>,
        same_browser: i64,
        kind: String,
        number: Option<String>,
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
        pub(crate) backchannel: BackchannelOutlineRow,
        caller_check: CallerCheckOutlineRow,
    }
}

/// Reads approvals, each with the outline of its protected action, back-channel request or check of a caller.
macro_rules! approvals_where {
    ($condition:literal) => {
        sql::statement!(
            "SELECT ",
            ApprovalRow::COLUMNS,
            ApprovalRow::SOURCE,
            " WHERE ",
            $condition
        )
    };
}

impl ApprovalRow {
    /// The tables of the columns.
    pub(crate) const SOURCE: &str =
        " FROM approvals LEFT JOIN action_approvals ON action_approvals.id = approvals.action_approval_id
          LEFT JOIN backchannel_requests
                 ON backchannel_requests.id = COALESCE(approvals.backchannel_id, approvals.second_of)
          LEFT JOIN caller_checks ON caller_checks.id = approvals.caller_check_id";

    fn stage(&self) -> Result<ApprovalStage> {
        Ok(match (self.state.as_str(), self.decided_at) {
            ("requested", None) => ApprovalStage::Requested,
            ("approved", Some(at)) => ApprovalStage::Approved {
                by: self.approver()?,
                at: moment(at),
            },
            ("denied", ..) => ApprovalStage::Denied,
            ("expired", ..) => ApprovalStage::Expired,
            ("cancelled", ..) if self.conflicted == conflict::SHOWN => ApprovalStage::Conflicted,
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
        if let Some(request) = &self.second_of {
            return self.backchannel.second_subject(request);
        }
        match (
            &self.login_id,
            &self.action_approval_id,
            &self.backchannel_id,
            &self.caller_check_id,
        ) {
            (Some(login), None, None, None) => {
                let login = parse(login, cell("approvals", "login_id", &self.id))?;
                Ok(ApprovalSubject::SignIn(login))
            }
            (None, Some(action), None, None) => Ok(ApprovalSubject::ProtectedAction {
                id: parse(action, cell("approvals", "action_approval_id", &self.id))?,
                outline: self.outline.outline(action)?,
            }),
            (None, None, Some(request), None) => self.backchannel.subject(request),
            (None, None, None, Some(check)) => self.caller_check.subject(check),
            _ => Err(cell("approvals", "login_id", &self.id).unexpected()),
        }
    }

    fn approver(&self) -> Result<Approver> {
        let is_passkey = self.kind == RequestKind::Passkey.as_str();
        let device_id = |device| parse(device, cell("approvals", "device_id", &self.id));
        match (is_passkey, &self.device_id, &self.amr, &self.channel) {
            (false, Some(device), Some(amr), None) => Ok(Approver::Device {
                id: device_id(device)?,
                amr: from_json(amr, cell("approvals", "amr", &self.id))?,
            }),
            (false, None, None, Some(channel)) => Ok(Approver::Channel(channel.clone())),
            (true, Some(device), None, None) => Ok(Approver::Passkey(device_id(device)?)),
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
            browser: digest(&row.browser, cell("approvals", "browser", &row.id))?,
            scanned_by: row
                .scanned_by
                .as_deref()
                .map(|id| parse(id, cell("approvals", "scanned_by", &row.id)))
                .transpose()?,
            is_same_browser: row.same_browser != 0,
            number: row
                .number
                .as_deref()
                .map(|number| {
                    MatchingNumber::parse(number)
                        .ok_or(cell("approvals", "number", &row.id).unexpected())
                })
                .transpose()?,
            shown: from_json(&row.prompt, cell("approvals", "prompt", &row.id))?,
            requested_at: moment(row.requested_at),
            expires_at: moment(row.expires_at),
            attempts_left: u32::try_from(row.attempts_left).unwrap_or(0),
            stage: row.stage()?,
        })
    }
}

impl Store {
    /// Up to `limit` requests of applications on users' devices that were cancelled, or have expired at `now`, and are
    /// not recorded. Retention deletes requests soon, so they are few.
    pub async fn unrecorded_ends(&self, now: Timestamp, limit: u32) -> Result<Vec<Approval>> {
        sql::query_as::<ApprovalRow>(approvals_where!(
            "approvals.action_approval_id IS NULL AND approvals.second_of IS NULL AND approvals.user_id IS NOT NULL
             AND approvals.end_recorded = 0
             AND (approvals.state = 'cancelled' OR approvals.state = 'requested' AND approvals.expires_at <= $1)
             ORDER BY approvals.id LIMIT $2"
        ))
        .bind(now.millis())
        .bind(limit)
        .fetch_values(&self.readers)
        .await
    }

    /// The approval with this id.
    pub async fn approval(&self, id: ApprovalId) -> Result<Option<Approval>> {
        sql::query_as::<ApprovalRow>(approvals_where!("approvals.id = $1"))
            .bind(id.to_string())
            .fetch_value(self.readers.lookups())
            .await
    }

    /// The decision that this device made about a request.
    pub async fn decision_of_device(
        &self,
        id: ApprovalId,
        device: DeviceId,
    ) -> Result<Option<Decision>> {
        let row: Option<(String, i64)> =
            sql::query_as("SELECT state, reported FROM approvals WHERE id = $1 AND device_id = $2")
                .bind(id.to_string())
                .bind(device.to_string())
                .fetch_optional(self.readers.lookups())
                .await?;
        Ok(
            row.and_then(|(state, reported)| match (state.as_str(), reported) {
                (_, 1) => Some(Decision::Report),
                ("approved", _) => Some(Decision::Approve),
                ("denied", _) => Some(Decision::Deny),
                _ => None,
            }),
        )
    }

    /// The latest request of a login.
    pub async fn approval_of_login(&self, login: LoginId) -> Result<Option<Approval>> {
        sql::query_as::<ApprovalRow>(approvals_where!(
            "approvals.login_id = $1 ORDER BY approvals.id DESC LIMIT 1"
        ))
        .bind(login.to_string())
        .fetch_value(self.readers.lookups())
        .await
    }

    /// The request of a protected action.
    pub async fn approval_of_action(&self, action: ActionApprovalId) -> Result<Option<Approval>> {
        sql::query_as::<ApprovalRow>(approvals_where!("approvals.action_approval_id = $1"))
            .bind(action.to_string())
            .fetch_value(self.readers.lookups())
            .await
    }

    /// The approval of a back-channel request by its user. A second approval may be necessary too: see
    /// [`Store::approval_of_request`].
    pub async fn approval_of_backchannel(
        &self,
        request: BackchannelRequestId,
    ) -> Result<Option<Approval>> {
        sql::query_as::<ApprovalRow>(approvals_where!("approvals.backchannel_id = $1"))
            .bind(request.to_string())
            .fetch_value(self.readers.lookups())
            .await
    }

    /// The approval of a check of a caller.
    pub async fn approval_of_caller_check(&self, check: CallerCheckId) -> Result<Option<Approval>> {
        sql::query_as::<ApprovalRow>(approvals_where!("approvals.caller_check_id = $1"))
            .bind(check.to_string())
            .fetch_value(self.readers.lookups())
            .await
    }

    /// The pending requests of a user at `now`, the oldest first, without second approvals of requests that ended.
    pub async fn pending_approvals(&self, user: UserId, now: Timestamp) -> Result<Vec<Approval>> {
        sql::query_as::<ApprovalRow>(approvals_where!(
            "approvals.named_user = $1 AND approvals.user_id = $1 AND approvals.state = 'requested'
             AND approvals.expires_at > $2
             AND (approvals.second_of IS NULL
                  OR EXISTS (SELECT 1 FROM approvals AS own
                             WHERE own.backchannel_id = approvals.second_of
                               AND own.state IN ('requested', 'approved')))
             ORDER BY approvals.requested_at, approvals.id"
        ))
        .bind(user.to_string())
        .bind(now.millis())
        .fetch_values(&self.readers)
        .await
    }

    /// Another unexpired request of this user with this number: pending, replaced or cancelled.
    pub async fn approval_with_number(
        &self,
        user: UserId,
        but: ApprovalId,
        number: MatchingNumber,
        now: Timestamp,
    ) -> Result<Option<Approval>> {
        sql::query_as::<ApprovalRow>(
            approvals_where!("approvals.named_user = $1 AND approvals.user_id = $1 AND approvals.expires_at > $2
               AND approvals.id <> $3 AND approvals.number = $4
               AND approvals.state IN ('requested', 'replaced', 'cancelled') AND approvals.reported = 0"),
        )
        .bind(user.to_string())
        .bind(now.millis())
        .bind(but.to_string())
        .bind(number.to_string())
        .fetch_value(self.readers.lookups())
        .await
    }

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
}
