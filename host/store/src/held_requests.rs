//! Requests with a typed name that a cooldown holds. They are sent to the devices when the cooldown ends or the user
//! lifts it, if their login page still waits. A report drops those of its user: the user reported the sender.

use crate::changes::pending as changes;
use crate::rows::{cell, parse};
use crate::sql::{self, Connection};
use crate::{Result, Store, approval_requests, dispatches};
use assent_model::change::Change;
use assent_model::clock::Timestamp;

/// For how many users held requests are released in one round.
const USERS: i64 = 64;

/// Releases the held requests of a user without a running cooldown, and has any instance send them at once. A request
/// stays held where the user may not sign in any more, as its page would show for a name that nobody has. The user is
/// locked.
pub(crate) async fn release(db: &mut Connection, user: &str, now: Timestamp) -> Result<()> {
    let released: Vec<(String,)> = sql::query_as(
        "UPDATE approvals SET user_id = held_for, held_for = NULL
         WHERE held_for = $1 AND state = 'requested' AND expires_at > $2
           AND NOT EXISTS (SELECT 1 FROM approval_cooldowns AS pause
                           WHERE pause.user_id = $1 AND pause.cooldown_until > $2)
           AND EXISTS (SELECT 1 FROM users WHERE users.id = $1 AND users.state = 'active')
           AND NOT EXISTS (SELECT 1 FROM accounts
                           WHERE accounts.user_id = $1 AND accounts.application_id = approvals.application_id
                             AND accounts.state IN ('suspended', 'terminated'))
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
        dispatches::make_due(db, &id, now).await?;
    }
    let user = parse(user, cell("approvals", "held_for", user))?;
    changes::record(db, Change::Inbox(user))
}

/// Drops the held requests of a user: their pages wait to the end, and no device receives them.
pub(crate) async fn drop_all(db: &mut Connection, user: &str) -> Result<()> {
    sql::query("UPDATE approvals SET held_for = NULL WHERE held_for = $1")
        .bind(user.to_owned())
        .execute(db)
        .await?;
    Ok(())
}

impl Store {
    /// Releases the held requests whose cooldown has ended. Where another denial made it longer, they wait for its new
    /// end.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn release_held_requests(&self, now: Timestamp) -> Result<()> {
        let users: Vec<(String,)> = sql::query_as(
            "SELECT DISTINCT approvals.held_for FROM approval_dispatches
             JOIN approvals ON approvals.id = approval_dispatches.approval_id
             WHERE approval_dispatches.leased_until <= $1 AND approvals.held_for IS NOT NULL LIMIT $2",
        )
        .bind(now.millis())
        .bind(USERS)
        .fetch_all(&self.readers)
        .await?;
        for (user,) in users {
            self.approval_writer
                .write(move |db| {
                    let user = user.clone();
                    Box::pin(async move {
                        approval_requests::lock_subject(db, &user, now).await?;
                        release(db, &user, now).await?;
                        dispatches::postpone_held(db, &user, now).await
                    })
                })
                .await?;
        }
        Ok(())
    }
}
