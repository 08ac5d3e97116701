//! The number of users who can open an application: those to whom something grants access, without those whose state or
//! account denies it.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::batch::bulk_sql::{BulkSql, MOST};
use crate::rows::{cell, parse};
use crate::sql;
use crate::{Result, Store};
use assent_model::id::Did;
use assent_model::user::LifecycleState;

/// The number up to which users of an application are counted.
pub const MOST_COUNTED: u32 = 1000;

/// The number of members of a group that the first count reads, beyond which the second one reads all.
const MEMBERS_READ: i64 = 1_500;

/// The condition that neither the user nor an account in the application denies the access.
macro_rules! is_open {
    ($user:literal, $application:literal) => {
        concat!(
            "EXISTS (SELECT 1 FROM users WHERE users.id = ",
            $user,
            " AND users.state IN ('invited', 'active'))
             AND NOT EXISTS (SELECT 1 FROM accounts AS closed
                             WHERE closed.user_id = ",
            $user,
            " AND closed.application_id = ",
            $application,
            " AND closed.state IN ('suspended', 'terminated'))"
        )
    };
}

/// For each application: whether it is assigned to everyone; the open users with an own account or in the first members
/// of its groups; and whether a group has more members. For an application of everyone, only the closed accounts of open
/// users are counted. All counts have a limit, because there may be a million users.
static COUNTS: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        concat!(
            "SELECT applications.id, CAST(CASE WHEN everyone_roles IS NULL THEN 0 ELSE 1 END AS BIGINT),
                CASE WHEN everyone_roles IS NOT NULL
                THEN (SELECT COUNT(*) FROM (SELECT 1 FROM accounts JOIN users ON users.id = accounts.user_id
                                            WHERE accounts.application_id = applications.id
                                              AND accounts.state IN ('suspended', 'terminated')
                                              AND users.state IN ('invited', 'active') LIMIT $2) AS counted)
                ELSE (SELECT COUNT(*) FROM (
                    SELECT user_id FROM (SELECT accounts.user_id FROM accounts JOIN users ON users.id = accounts.user_id
                                         WHERE accounts.application_id = applications.id AND accounts.individual = 1
                                           AND accounts.state IN ('invited', 'active')
                                           AND users.state IN ('invited', 'active') LIMIT $2) AS own
                    UNION
                    SELECT group_members.user_id FROM group_assignments
                    JOIN group_members ON group_members.group_id = group_assignments.group_id
                    WHERE group_assignments.application_id = applications.id
                      AND group_members.user_id < COALESCE((SELECT bound.user_id FROM group_members AS bound
                                                            WHERE bound.group_id = group_assignments.group_id
                                                            ORDER BY bound.user_id LIMIT 1 OFFSET $1), 'g')
                      AND ",
            is_open!("group_members.user_id", "group_assignments.application_id"),
            "   ) AS counted) END,
                CAST(CASE WHEN EXISTS (
                    SELECT 1 FROM group_assignments
                    WHERE group_assignments.application_id = applications.id
                      AND EXISTS (SELECT 1 FROM group_members WHERE group_members.group_id = group_assignments.group_id
                                  ORDER BY group_members.user_id LIMIT 1 OFFSET $1))
                THEN 1 ELSE 0 END AS BIGINT)
             FROM applications WHERE applications.id IN ({$})"
        ),
        2,
    )
});

/// The same for one application, with all members, without a limit.
const EXACT: &str = concat!(
    "SELECT COUNT(*) FROM (
        SELECT accounts.user_id FROM accounts JOIN users ON users.id = accounts.user_id
        WHERE accounts.application_id = $1 AND accounts.individual = 1 AND accounts.state IN ('invited', 'active')
          AND users.state IN ('invited', 'active')
        UNION
        SELECT group_members.user_id FROM group_assignments
        JOIN group_members ON group_members.group_id = group_assignments.group_id
        WHERE group_assignments.application_id = $1 AND ",
    is_open!("group_members.user_id", "group_assignments.application_id"),
    ") AS counted"
);

/// The open users of an application of everyone, up to `$2`.
const EVERYONE: &str = "SELECT COUNT(*) FROM (
        SELECT 1 FROM users WHERE users.state IN ('invited', 'active')
          AND NOT EXISTS (SELECT 1 FROM accounts AS closed
                          WHERE closed.user_id = users.id AND closed.application_id = $1
                            AND closed.state IN ('suspended', 'terminated')) LIMIT $2) AS counted";

/// The number of users who can open each of these applications; one more than [`MOST_COUNTED`] if there are more.
pub(crate) async fn count_users(store: &Store, applications: &[Did]) -> Result<HashMap<Did, u32>> {
    let mut counts = HashMap::with_capacity(applications.len());
    let mut open_users = None;
    for applications in applications.chunks(MOST) {
        let mut query =
            sql::query_as::<(String, i64, i64, i64)>(COUNTS.sql_for(applications.len()))
                .bind(MEMBERS_READ)
                .bind(limit());
        for id in COUNTS.padded(applications) {
            query = query.bind(id.to_string());
        }
        for (id, everyone, counted, has_more) in query.fetch_all(&store.readers).await? {
            let id: Did = parse(&id, cell("applications", "id", &id))?;
            let count = if everyone == 1 {
                let users = match open_users {
                    Some(users) => users,
                    None => *open_users.insert(store.count_open_users().await?),
                };
                // Beyond its limit, the number of closed accounts is not known.
                if counted < limit() {
                    users - counted
                } else {
                    store.count_one(EVERYONE, &id).await?
                }
            } else if has_more == 1 && counted < limit() {
                store.count_one(EXACT, &id).await?
            } else {
                counted
            };
            let count = u32::try_from(count.max(0)).unwrap_or(u32::MAX);
            counts.insert(id, count.min(MOST_COUNTED + 1));
        }
    }
    Ok(counts)
}

const fn limit() -> i64 {
    MOST_COUNTED as i64 + 1
}

impl Store {
    async fn count_open_users(&self) -> Result<i64> {
        let counts = self.users_by_state().await?;
        let open = counts
            .into_iter()
            .filter(|(state, _)| matches!(state, LifecycleState::Invited | LifecycleState::Active));
        let sum: u64 = open.map(|(_, count)| count).sum();
        Ok(i64::try_from(sum).unwrap_or(i64::MAX))
    }

    async fn count_one(&self, statement: &'static str, application: &Did) -> Result<i64> {
        let mut query = sql::query_as::<(i64,)>(statement).bind(application.to_string());
        if statement == EVERYONE {
            query = query.bind(limit());
        }
        let (count,) = query.fetch_one(&self.readers).await?;
        Ok(count)
    }
}
