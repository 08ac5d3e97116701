//! The end of requests, grants and sessions of users who lose their access to an application with a group or an
//! assignment.

use std::sync::LazyLock;

use crate::Result;
use crate::engine::batch::bulk_sql::{BulkSql, MOST};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::tables::backchannel::withdrawal::is_unclaimed;
use crate::tables::groups::access::in_assigned_group;
use crate::tables::sessions::logout;
use crate::tables::users::deprovisioning;
use assent_model::clock::Timestamp;
use assent_model::id::GroupId;

/// The accounts of the application `$1` without access: they grant no access individually, and there is no assignment.
macro_rules! without_access {
    () => {
        concat!(
            "accounts.application_id = $1 AND accounts.individual = 0
             AND NOT EXISTS (SELECT 1 FROM applications
                             WHERE applications.id = $1 AND applications.everyone_roles IS NOT NULL)
             AND NOT ",
            in_assigned_group!("accounts.user_id", "$1")
        )
    };
}

static OF_USERS: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        concat!(
            "SELECT accounts.user_id FROM accounts WHERE ",
            without_access!(),
            " AND accounts.user_id IN ({$}) ORDER BY accounts.user_id"
        ),
        1,
    )
});
static PENDING: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        concat!(
            "SELECT DISTINCT COALESCE(user_id, held_for) FROM approvals
             WHERE application_id = $1 AND (state = 'requested' AND expires_at > $2 OR ",
            is_unclaimed!(),
            ") AND COALESCE(user_id, held_for) IN ({$})"
        ),
        2,
    )
});
static REVOKE: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "UPDATE accounts
         SET grants_not_before = CASE WHEN grants_not_before > $2 THEN grants_not_before ELSE $2 + 1 END
         WHERE application_id = $1 AND user_id IN ({$})",
        2,
    )
});
static LEAVE: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "DELETE FROM session_applications WHERE application_id = $1 AND user_id IN ({$})
         RETURNING sid, application_id, subject",
        1,
    )
});
static LEAVE_SAML: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "DELETE FROM saml_participants WHERE application_id = $1 AND user_id IN ({$})",
        1,
    )
});

/// Ends the pending requests, approved back-channel requests, grants and participation in sessions with an application.
/// It concerns those of these users who have no access any more. The application is notified, as after the deletion of
/// the accounts.
pub(crate) async fn end_lost_access(
    db: &mut Connection,
    application: &str,
    users: &[String],
    now: Timestamp,
) -> Result<()> {
    for users in users.chunks(MOST) {
        let mut query =
            sql::query_as::<(String,)>(OF_USERS.sql_for(users.len())).bind(application.to_owned());
        for user in OF_USERS.padded(users) {
            query = query.bind(user);
        }
        let lost = query.fetch_all(&mut *db).await?;
        end(db, application, lost, now).await?;
    }
    Ok(())
}

/// Does the same for the members of a group.
pub(super) async fn end_of_members(
    db: &mut Connection,
    application: &str,
    group: GroupId,
    now: Timestamp,
) -> Result<()> {
    let lost = sql::query_as(concat!(
        "SELECT accounts.user_id FROM group_members
         JOIN accounts ON accounts.user_id = group_members.user_id
         WHERE group_members.group_id = $2 AND ",
        without_access!(),
        " ORDER BY accounts.user_id"
    ))
    .bind(application.to_owned())
    .bind(group.to_string())
    .fetch_all(&mut *db)
    .await?;
    end(db, application, lost, now).await
}

/// Does the same for all users.
pub(super) async fn end_of_everyone(
    db: &mut Connection,
    application: &str,
    now: Timestamp,
) -> Result<()> {
    let lost = sql::query_as(concat!(
        "SELECT accounts.user_id FROM accounts WHERE ",
        without_access!(),
        " ORDER BY accounts.user_id"
    ))
    .bind(application.to_owned())
    .fetch_all(&mut *db)
    .await?;
    end(db, application, lost, now).await
}

async fn end(
    db: &mut Connection,
    application: &str,
    users: Vec<(String,)>,
    now: Timestamp,
) -> Result<()> {
    let users: Vec<String> = users.into_iter().map(|(user,)| user).collect();
    for users in users.chunks(MOST) {
        let mut pending = sql::query_as::<(String,)>(PENDING.sql_for(users.len()))
            .bind(application.to_owned())
            .bind(now.millis());
        let mut revoke = sql::query(REVOKE.sql_for(users.len()))
            .bind(application.to_owned())
            .bind(now.millis());
        let mut leave = sql::query_as(LEAVE.sql_for(users.len())).bind(application.to_owned());
        let mut leave_saml =
            sql::query(LEAVE_SAML.sql_for(users.len())).bind(application.to_owned());
        for user in PENDING.padded(users) {
            pending = pending.bind(user);
            revoke = revoke.bind(user);
            leave = leave.bind(user);
            leave_saml = leave_saml.bind(user);
        }
        for (user,) in pending.fetch_all(&mut *db).await? {
            deprovisioning::withdraw_pending_in(db, &user, application, now).await?;
        }
        revoke.execute(&mut *db).await?;
        let left = leave.fetch_all(&mut *db).await?;
        leave_saml.execute(&mut *db).await?;
        logout::queue(db, left, now).await?;
    }
    Ok(())
}
