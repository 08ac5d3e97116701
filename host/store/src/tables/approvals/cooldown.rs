//! Cooldowns: a running cooldown holds the requests with a typed name of the user. They are sent to the devices when
//! the cooldown ends or the user lifts it, if the login page is still waiting. Cooldowns are in the database, so that
//! each instance knows them and they survive restarts.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use crate::engine::batch::bulk_sql::{BulkSql, MOST};
use crate::engine::rows::{cell, moment, parse};
use crate::engine::sql::Connection;
use crate::engine::{deferred, sql};
use crate::tables::approvals::{dispatch, request};
use crate::{Result, Store, audit};
use assent_model::approval::CooldownPolicy;
use assent_model::audit::Entry;
use assent_model::change::Change;
use assent_model::clock::Timestamp;
use assent_model::id::{IdError, UserId};

static OF_USERS: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "SELECT user_id, cooldown_until FROM approval_cooldowns WHERE cooldown_until > $1 AND user_id IN ({$})",
        1,
    )
});

/// A cooldown that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunningCooldown {
    /// The user.
    pub user: UserId,
    /// When it ends.
    pub until: Timestamp,
}

/// A place in the list of cooldowns.
pub type CooldownCursor = RunningCooldown;

impl fmt::Display for RunningCooldown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.until.millis(), self.user)
    }
}

impl FromStr for RunningCooldown {
    type Err = IdError;
    fn from_str(text: &str) -> std::result::Result<Self, IdError> {
        let (until, user) = text.split_once(' ').ok_or(IdError)?;
        Ok(Self {
            user: user.parse()?,
            until: moment(until.parse().map_err(|_| IdError)?),
        })
    }
}

/// The number of users for which one round releases held requests.
const RELEASED_USERS: i64 = 64;

/// Counts a denial or report of this user, and begins the due cooldown. `entry` is for the audit log; this function
/// adds the end of the cooldown.
pub(crate) async fn count_denial(
    db: &mut Connection,
    user: &str,
    pause: &CooldownPolicy,
    entry: &Entry,
    now: Timestamp,
) -> Result<()> {
    let (denials,): (i64,) = sql::query_as(
        "INSERT INTO approval_cooldowns (user_id, denials, denied_at, cooldown_until) VALUES ($1, 1, $2, 0)
         ON CONFLICT (user_id) DO UPDATE SET
             denials = CASE WHEN approval_cooldowns.denied_at <= $3 THEN 1
                            WHEN approval_cooldowns.denials = 1 AND approval_cooldowns.denied_at <= $4 THEN 1
                            ELSE approval_cooldowns.denials + 1 END,
             denied_at = excluded.denied_at
         RETURNING denials",
    )
    .bind(user.to_owned())
    .bind(now.millis())
    .bind((now - pause.forgotten_after).millis())
    .bind((now - pause.within).millis())
    .fetch_one(&mut *db)
    .await?;
    let Some(length) = pause.length(u32::try_from(denials).unwrap_or(u32::MAX)) else {
        return Ok(());
    };
    // A later end is not moved forward.
    let (until,): (i64,) = sql::query_as(
        "UPDATE approval_cooldowns SET cooldown_until = CASE WHEN cooldown_until > $2 THEN cooldown_until ELSE $2 END
         WHERE user_id = $1 RETURNING cooldown_until",
    )
    .bind(user.to_owned())
    .bind((now + length).millis())
    .fetch_one(&mut *db)
    .await?;
    let entry = entry
        .clone()
        .about(parse(user, cell("approval_cooldowns", "user_id", user))?)
        .with("until", moment(until).seconds());
    audit::append(db, &[entry]).await
}

/// Resets a user's denials, because the user approved. A running cooldown stays: the user may approve a QR sign-in or a
/// protected action while an attacker continues to send requests.
pub(crate) async fn reset_denials(db: &mut Connection, user: &str) -> Result<()> {
    sql::query("UPDATE approval_cooldowns SET denials = 0 WHERE user_id = $1")
        .bind(user.to_owned())
        .execute(db)
        .await?;
    Ok(())
}

impl Store {
    /// Releases the held requests after the end of their cooldown. If another denial extended it, they wait for its new
    /// end.
    pub async fn release_held_requests(&self, now: Timestamp) -> Result<()> {
        let users: Vec<(String,)> = sql::query_as(
            "SELECT DISTINCT approvals.held_for FROM approval_dispatches
             JOIN approvals ON approvals.id = approval_dispatches.approval_id
             WHERE approval_dispatches.leased_until <= $1 AND approvals.held_for IS NOT NULL LIMIT $2",
        )
        .bind(now.millis())
        .bind(RELEASED_USERS)
        .fetch_all(&self.readers)
        .await?;
        for (user,) in users {
            self.approval_writer
                .write(user, move |db, user| {
                    Box::pin(async move {
                        request::lock_subject(db, user, now).await?;
                        release_held(db, user, now).await?;
                        dispatch::postpone_held(db, user, now).await
                    })
                })
                .await?;
        }
        Ok(())
    }

    /// When the cooldown that holds a user's typed requests ends; `None` if there is no cooldown at `now`.
    pub async fn cooldown_until(&self, user: UserId, now: Timestamp) -> Result<Option<Timestamp>> {
        let row: Option<(i64,)> = sql::query_as(
            "SELECT cooldown_until FROM approval_cooldowns WHERE user_id = $1 AND cooldown_until > $2",
        )
        .bind(user.to_string())
        .bind(now.millis())
        .fetch_optional(&self.readers)
        .await?;
        Ok(row.map(|(until,)| moment(until)))
    }

    /// Deletes the denials of users with the last denial at `before` or earlier, and without a cooldown at `now`.
    /// Returns the number of users.
    pub(crate) async fn delete_expired_cooldowns(
        &self,
        before: Timestamp,
        now: Timestamp,
    ) -> Result<u64> {
        self.write((), move |db, ()| {
            Box::pin(async move {
                let swept = sql::query(
                    "DELETE FROM approval_cooldowns WHERE denied_at <= $1 AND cooldown_until <= $2",
                )
                .bind(before.millis())
                .bind(now.millis())
                .execute(db)
                .await?;
                Ok(swept)
            })
        })
        .await
    }

    /// Ends a user's cooldown, resets the denials, and releases the held requests. Returns whether there was a cooldown
    /// at `now`.
    pub async fn lift_cooldown(&self, user: UserId, entry: Entry, now: Timestamp) -> Result<bool> {
        self.write(entry, move |db, entry| Box::pin(lift(db, user, entry, now)))
            .await
    }

    /// When the running cooldown of each of these users ends. A user without one is missing.
    pub async fn cooldowns_of(
        &self,
        users: &[UserId],
        now: Timestamp,
    ) -> Result<HashMap<UserId, Timestamp>> {
        let mut found = HashMap::new();
        for users in users.chunks(MOST) {
            let mut query = sql::query_as::<(String, i64)>(OF_USERS.sql_for(users.len()));
            query = query.bind(now.millis());
            for user in OF_USERS.padded(users) {
                query = query.bind(user.to_string());
            }
            for (id, until) in query.fetch_all(&self.readers).await? {
                let user = parse(&id, cell("approval_cooldowns", "user_id", &id))?;
                found.insert(user, moment(until));
            }
        }
        Ok(found)
    }

    /// Up to `limit` cooldowns that run at `now` and follow `after`, in the order of their ends.
    pub async fn running_cooldowns(
        &self,
        after: Option<CooldownCursor>,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<RunningCooldown>> {
        let (until, user) = match after {
            Some(after) => (
                after.until.millis().max(now.millis()),
                after.user.to_string(),
            ),
            // This text is greater than each id.
            None => (now.millis(), "g".to_owned()),
        };
        let rows: Vec<(String, i64)> = sql::query_as(
            "SELECT user_id, cooldown_until FROM approval_cooldowns WHERE (cooldown_until, user_id) > ($1, $2)
             ORDER BY cooldown_until, user_id LIMIT $3",
        )
        .bind(until)
        .bind(user)
        .bind(limit)
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .map(|(id, until)| {
                Ok(RunningCooldown {
                    user: parse(&id, cell("approval_cooldowns", "user_id", &id))?,
                    until: moment(until),
                })
            })
            .collect()
    }
}

/// Ends a user's cooldown: see [`Store::lift_cooldown`].
pub(crate) async fn lift(
    db: &mut Connection,
    user: UserId,
    entry: &Entry,
    now: Timestamp,
) -> Result<bool> {
    request::lock_subject(db, &user.to_string(), now).await?;
    let lifted =
        sql::query("DELETE FROM approval_cooldowns WHERE user_id = $1 AND cooldown_until > $2")
            .bind(user.to_string())
            .bind(now.millis())
            .execute(&mut *db)
            .await?;
    if lifted == 0 {
        return Ok(false);
    }
    release_held(db, &user.to_string(), now).await?;
    audit::append(db, std::slice::from_ref(entry)).await?;
    Ok(true)
}

/// Releases the held requests of a user without a running cooldown, so that any instance sends them at once. The user
/// is locked. A request of an application stays, if the user refused another one of it after this one.
pub(crate) async fn release_held(db: &mut Connection, user: &str, now: Timestamp) -> Result<()> {
    let released: Vec<(String,)> = sql::query_as(
        "UPDATE approvals SET user_id = held_for, held_for = NULL
         WHERE held_for = $1 AND state = 'requested' AND expires_at > $2
           AND NOT EXISTS (SELECT 1 FROM approval_cooldowns AS pause
                           WHERE pause.user_id = $1 AND pause.cooldown_until > $2)
           AND NOT (kind = 'backchannel'
                    AND EXISTS (SELECT 1 FROM approvals AS refused
                                WHERE refused.named_user = $1 AND refused.kind = 'backchannel'
                                  AND refused.application_id = approvals.application_id
                                  AND refused.decided_at >= approvals.requested_at
                                  AND (refused.state IN ('denied', 'reported') OR refused.reported = 1)))
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
pub(crate) async fn drop_held(db: &mut Connection, user: &str) -> Result<()> {
    sql::query("UPDATE approvals SET held_for = NULL WHERE held_for = $1")
        .bind(user.to_owned())
        .execute(db)
        .await?;
    Ok(())
}

/// Drops the held requests of a user for an application in which the user may not sign in any more.
pub(crate) async fn drop_held_in(db: &mut Connection, user: &str, application: &str) -> Result<()> {
    sql::query("UPDATE approvals SET held_for = NULL WHERE held_for = $1 AND application_id = $2")
        .bind(user.to_owned())
        .bind(application.to_owned())
        .execute(db)
        .await?;
    Ok(())
}
