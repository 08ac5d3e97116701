//! The effects that all decisions on a request have.

use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::tables::approvals::{cooldown, creation};
use crate::{Result, audit};
use assent_model::approval::CooldownPolicy;
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::id::ApprovalId;

/// The records of an answer that counts.
#[derive(Clone, Debug)]
pub struct AuditNote {
    /// The entry for the audit log.
    pub entry: Entry,
    /// The cooldown that a denial begins, with its entry for the audit log.
    pub cooldown: (CooldownPolicy, Entry),
}

/// Locks the user of a request, so that a new request sees the cooldown that a denial or report begins.
pub(super) async fn lock_user_of(
    db: &mut Connection,
    id: ApprovalId,
    now: Timestamp,
) -> Result<()> {
    let user: Option<(Option<String>,)> =
        sql::query_as("SELECT user_id FROM approvals WHERE id = $1")
            .bind(id.to_string())
            .fetch_optional(&mut *db)
            .await?;
    match user {
        Some((Some(user),)) => creation::lock_subject(db, &user, now).await,
        _ => Ok(()),
    }
}

/// Records a decision that counts: an approval resets the denials, and denials and reports begin cooldowns.
pub(super) async fn record_decision(
    db: &mut Connection,
    user: &str,
    approved: bool,
    noted: &AuditNote,
    now: Timestamp,
) -> Result<()> {
    audit::append(db, std::slice::from_ref(&noted.entry)).await?;
    if approved {
        return cooldown::reset_denials(db, user).await;
    }
    let (pause, entry) = &noted.cooldown;
    cooldown::count_denial(db, user, pause, entry, now).await
}
