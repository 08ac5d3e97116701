//! Receipts: the signed evidence of answers to approval requests.

use crate::engine::rows::{cell, moment, parse};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::{Result, Store, StoreError};
use assent_model::clock::Timestamp;
use assent_model::id::{ApprovalId, Did, UserId};
use assent_model::receipt::content::NewReceipt;
use assent_model::secret::Digest;

/// A stored receipt.
#[derive(Clone, Debug)]
pub struct StoredReceipt {
    /// The identifier of the approval request.
    pub request: ApprovalId,
    /// The user who answered.
    pub user: UserId,
    /// The time of the answer.
    pub decided_at: Timestamp,
    /// The receipt: a JWS in the compact form.
    pub text: String,
}

crate::engine::sql::row! {
    struct ReceiptRow of receipts {
        id: String,
        user_id: String,
        decided_at: i64,
        receipt: String,
    }
}

impl TryFrom<ReceiptRow> for StoredReceipt {
    type Error = StoreError;
    fn try_from(row: ReceiptRow) -> Result<Self> {
        Ok(Self {
            request: parse(&row.id, cell("receipts", "id", &row.id))?,
            user: parse(&row.user_id, cell("receipts", "user_id", &row.id))?,
            decided_at: moment(row.decided_at),
            text: row.receipt,
        })
    }
}

/// Stores the receipt of an answer that counts, after the answer. A report of a denied request replaces the receipt of
/// the denial. An application sees a report as a request that expired, so it may read only receipts of approvals.
pub(crate) async fn insert(
    db: &mut Connection,
    receipt: &NewReceipt,
    now: Timestamp,
) -> Result<()> {
    sql::query(
        "INSERT INTO receipts (id, user_id, about_user, names, application_id, decided_at, receipt)
         SELECT approvals.id, approvals.user_id,
                COALESCE(action_approvals.target_user,
                         CASE WHEN caller_checks.asked_by_kind = 'user' THEN caller_checks.asked_by END,
                         (SELECT asked.user_id FROM backchannel_requests AS asked
                          WHERE asked.id = approvals.second_of)),
                NULLIF(action_approvals.names, ''),
                CASE WHEN (approvals.backchannel_id IS NOT NULL OR approvals.second_of IS NOT NULL)
                          AND approvals.state = 'approved'
                     THEN approvals.application_id END,
                $2, $3
         FROM approvals LEFT JOIN action_approvals ON action_approvals.id = approvals.action_approval_id
         LEFT JOIN caller_checks ON caller_checks.id = approvals.caller_check_id
         WHERE approvals.id = $1 AND approvals.user_id IS NOT NULL
         ON CONFLICT (id) DO UPDATE SET application_id = excluded.application_id, decided_at = excluded.decided_at,
                                        receipt = excluded.receipt",
    )
    .bind(receipt.request.to_string())
    .bind(now.millis())
    .bind(&receipt.text)
    .execute(db)
    .await?;
    Ok(())
}

/// Deletes the receipts of a user, those of second approvals and protected actions that concern the user or have one of
/// the names, and those of checks of callers that the user began as an administrator.
pub(crate) async fn erase_user(db: &mut Connection, user: UserId, names: &[String]) -> Result<()> {
    sql::query("DELETE FROM receipts WHERE user_id = $1 OR about_user = $1")
        .bind(user.to_string())
        .execute(&mut *db)
        .await?;
    for name in names {
        sql::query("DELETE FROM receipts WHERE names LIKE '%' || $1 || '%'")
            .bind(Digest::sha256(name.as_bytes()).to_text())
            .execute(&mut *db)
            .await?;
    }
    Ok(())
}

/// Adds the new name of a user to the receipts with this former name, so that the erasure finds them.
pub(crate) async fn rename_user(db: &mut Connection, former: Digest, name: Digest) -> Result<()> {
    sql::query(
        "UPDATE receipts SET names = names || ' ' || $2
         WHERE names LIKE '%' || $1 || '%' AND names NOT LIKE '%' || $2 || '%'",
    )
    .bind(former.to_text())
    .bind(name.to_text())
    .execute(db)
    .await?;
    Ok(())
}

impl Store {
    /// The receipt of this request.
    pub async fn receipt(&self, request: ApprovalId) -> Result<Option<StoredReceipt>> {
        sql::query_as::<ReceiptRow>(sql::statement!(
            "SELECT ",
            ReceiptRow::COLUMNS,
            " FROM receipts WHERE id = $1"
        ))
        .bind(request.to_string())
        .fetch_value(&self.readers)
        .await
    }

    /// The receipt of this back-channel request, if this application asked and the user approved.
    pub async fn receipt_for_application(
        &self,
        request: ApprovalId,
        application: &Did,
    ) -> Result<Option<StoredReceipt>> {
        sql::query_as::<ReceiptRow>(sql::statement!(
            "SELECT ",
            ReceiptRow::COLUMNS,
            " FROM receipts WHERE id = $1 AND application_id = $2"
        ))
        .bind(request.to_string())
        .bind(application.to_string())
        .fetch_value(self.readers.lookups())
        .await
    }
}
