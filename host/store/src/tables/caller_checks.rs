//! The rows of checks of callers. The approval of a check refers to its row.

use crate::engine::rows::{cell, moment, parse};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::{Result, Store, StoreError};
use assent_model::approval::ApprovalSubject;
use assent_model::audit::Actor;
use assent_model::caller_check::CallerCheck;
use assent_model::id::CallerCheckId;

crate::engine::sql::row! {
    struct CallerCheckRow of caller_checks {
        id: String,
        user_id: String,
        asked_by_kind: String,
        asked_by: Option<String>,
        requested_at: i64,
        expires_at: i64,
        outline: CallerCheckOutlineRow,
    }
}

crate::engine::sql::row! {
    /// What the device shows of a check; NULL for an approval with another subject.
    pub(crate) struct CallerCheckOutlineRow of caller_checks {
        administrator_name: Option<String>,
    }
}

impl CallerCheckOutlineRow {
    /// The subject of the approval of the check with this id.
    pub(crate) fn subject(&self, id: &str) -> Result<ApprovalSubject> {
        let name = self.administrator_name.clone();
        let unexpected = || cell("caller_checks", "administrator_name", id).unexpected();
        Ok(ApprovalSubject::CallerCheck {
            id: parse(id, cell("caller_checks", "id", id))?,
            administrator: name.ok_or_else(unexpected)?,
        })
    }
}

impl TryFrom<CallerCheckRow> for CallerCheck {
    type Error = StoreError;
    fn try_from(row: CallerCheckRow) -> Result<Self> {
        let place = |column| cell("caller_checks", column, &row.id);
        Ok(Self {
            id: parse(&row.id, place("id"))?,
            user: parse(&row.user_id, place("user_id"))?,
            asked_by: Actor::parse(&row.asked_by_kind, row.asked_by.as_deref())
                .ok_or_else(|| place("asked_by").unexpected())?,
            administrator: row
                .outline
                .administrator_name
                .ok_or_else(|| place("administrator_name").unexpected())?,
            requested_at: moment(row.requested_at),
            expires_at: moment(row.expires_at),
        })
    }
}

/// Adds a row, to which the approval request refers.
pub(crate) async fn insert(db: &mut Connection, check: &CallerCheck) -> Result<()> {
    sql::query(
        "INSERT INTO caller_checks (id, user_id, asked_by_kind, asked_by, administrator_name, requested_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(check.id.to_string())
    .bind(check.user.to_string())
    .bind(check.asked_by.kind())
    .bind(check.asked_by.id())
    .bind(&check.administrator)
    .bind(check.requested_at.millis())
    .bind(check.expires_at.millis())
    .execute(db)
    .await?;
    Ok(())
}

impl Store {
    /// The check with this id. It may have expired.
    pub async fn caller_check(&self, id: CallerCheckId) -> Result<Option<CallerCheck>> {
        sql::query_as::<CallerCheckRow>(sql::statement!(
            "SELECT ",
            CallerCheckRow::COLUMNS,
            " FROM caller_checks WHERE id = $1"
        ))
        .bind(id.to_string())
        .fetch_value(self.readers.lookups())
        .await
    }
}
