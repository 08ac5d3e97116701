//! Requests with a typed name that a cooldown holds. They are sent to the devices when the cooldown ends or the user
//! lifts it, if the login page is still waiting.

use crate::Result;
use crate::engine::deferred;
use crate::engine::rows::{cell, parse};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::tables::approvals::dispatch;
use assent_model::change::Change;
use assent_model::clock::Timestamp;

/// Releases the held requests of a user without a running cooldown, so that any instance sends them at once. The user
/// is locked.
pub(crate) async fn release(db: &mut Connection, user: &str, now: Timestamp) -> Result<()> {
    let released: Vec<(String,)> = sql::query_as(
        "UPDATE approvals SET user_id = held_for, held_for = NULL
         WHERE held_for = $1 AND state = 'requested' AND expires_at > $2
           AND NOT EXISTS (SELECT 1 FROM approval_cooldowns AS pause
                           WHERE pause.user_id = $1 AND pause.cooldown_until > $2)
         RETURNING id",
    )
    .bind(user.to_owned())
    .bind(now.millis())
    .fetch_all(&mut *db)
    .await?;
    if released.is_empty() {
        return Ok(());
    }
    for (id,) in released {
        dispatch::make_due(db, &id, now).await?;
    }
    let user = parse(user, cell("approvals", "held_for", user))?;
    deferred::record_change(db, Change::Inbox(user))
}

/// Drops the held requests of a user who reported another one or may not sign in any more. Their pages wait until the
/// requests expire, and no device receives them.
pub(crate) async fn drop_all(db: &mut Connection, user: &str) -> Result<()> {
    sql::query("UPDATE approvals SET held_for = NULL WHERE held_for = $1")
        .bind(user.to_owned())
        .execute(db)
        .await?;
    Ok(())
}

/// Drops the held requests of a user for an application in which the user may not sign in any more.
pub(crate) async fn drop_of_application(
    db: &mut Connection,
    user: &str,
    application: &str,
) -> Result<()> {
    sql::query("UPDATE approvals SET held_for = NULL WHERE held_for = $1 AND application_id = $2")
        .bind(user.to_owned())
        .bind(application.to_owned())
        .execute(db)
        .await?;
    Ok(())
}
