//! The number of users who can open an application: those to whom something grants access, without those whose state or
//! account denies it.

use std::collections::HashMap;
use std::sync::LazyLock;

use futures_util::future::try_join_all;

use crate::engine::batch::bulk_sql::{BulkSql, MOST};
use crate::engine::rows::{cell, parse};
use crate::engine::sql;
use crate::engine::sql::DatabaseKind;
use crate::{Result, Store};
use assent_model::id::Did;
use assent_model::user::LifecycleState;

/// The number up to which users of an application are counted.
pub const MOST_COUNTED: u32 = 1000;

/// The limit of each count: one more shows that there are more users.
const LIMIT: i64 = MOST_COUNTED as i64 + 1;
/// The number of members of each group that the first count reads. If many of them are denied, a further count reads
/// more.
const MEMBERS_READ: i64 = 1_100;
/// The number of applications that one statement counts.
const AT_ONCE: usize = 16;
/// The factor between the numbers of members that two counts read.
const FURTHER: i64 = 10;

/// The condition that a user is not suspended or terminated. Scalar subqueries read only the rows of the counted users;
/// PostgreSQL could read all users for an `EXISTS`.
macro_rules! is_open_user {
    ($user:literal) => {
        concat!(
            "(SELECT users.state FROM users WHERE users.id = ",
            $user,
            ") IN ('invited', 'active')"
        )
    };
}

/// For each application: whether it is assigned to everyone; the open users with an own account or among the first `$1`
/// members of its groups; and whether a group has more members. For an application of everyone, only the closed
/// accounts of open users are counted. All counts have a limit, because there may be a million users.
macro_rules! counts {
    ($members:expr) => {
        sql::statement!(
            "SELECT applications.id, CAST(CASE WHEN everyone_roles IS NULL THEN 0 ELSE 1 END AS BIGINT),
                CASE WHEN everyone_roles IS NOT NULL
                THEN (SELECT COUNT(*) FROM (SELECT 1 FROM accounts
                                            WHERE accounts.application_id = applications.id
                                              AND accounts.state IN ('suspended', 'terminated') AND ",
            is_open_user!("accounts.user_id"),
            "                               LIMIT $2) AS counted)
                ELSE (SELECT COUNT(*) FROM (
                    SELECT user_id FROM (SELECT accounts.user_id FROM accounts
                                         WHERE accounts.application_id = applications.id AND accounts.individual = 1
                                           AND accounts.state IN ('invited', 'active') AND ",
            is_open_user!("accounts.user_id"),
            "                            LIMIT $2) AS own
                    UNION
                    SELECT members.user_id FROM group_assignments CROSS JOIN ",
            $members,
            "       AND group_assignments.application_id = applications.id AND ",
            is_open_user!("members.user_id"),
            "         AND COALESCE((SELECT closed.state FROM accounts AS closed
                                    WHERE closed.user_id = members.user_id
                                      AND closed.application_id = group_assignments.application_id), 'active')
                          IN ('invited', 'active')
                ) AS counted) END,
                CAST(CASE WHEN EXISTS (
                    SELECT 1 FROM group_assignments
                    WHERE group_assignments.application_id = applications.id
                      AND (SELECT user_id FROM group_members WHERE group_members.group_id = group_assignments.group_id
                           ORDER BY group_members.user_id LIMIT 1 OFFSET $1) IS NOT NULL)
                THEN 1 ELSE 0 END AS BIGINT)
             FROM applications WHERE applications.id IN ({$})"
        )
    };
}

/// SQLite has no lateral subqueries, so the range of each group ends at its `$1`th member.
static COUNTS_SQLITE: LazyLock<BulkSql> = LazyLock::new(|| {
    const SQL: &str = counts!(
        "group_members AS members
         WHERE members.group_id = group_assignments.group_id
           AND members.user_id < COALESCE((SELECT bound.user_id FROM group_members AS bound
                                           WHERE bound.group_id = group_assignments.group_id
                                           ORDER BY bound.user_id LIMIT 1 OFFSET $1), 'g')"
    );
    BulkSql::new(SQL, 2)
});
static COUNTS_POSTGRES: LazyLock<BulkSql> = LazyLock::new(|| {
    const SQL: &str = counts!(
        "LATERAL (SELECT user_id FROM group_members WHERE group_members.group_id = group_assignments.group_id
                  ORDER BY user_id LIMIT $1) AS members
         WHERE TRUE"
    );
    BulkSql::new(SQL, 2)
});

/// The applications of these that are assigned to a group with more than `$1` members, and have less than `$2` closed
/// accounts. Also other applications of these groups.
static CROWDED: LazyLock<BulkSql> = LazyLock::new(|| {
    const SQL: &str = "WITH large AS (
            SELECT assigned.group_id
            FROM (SELECT DISTINCT group_id FROM group_assignments WHERE application_id IN ({$})) AS assigned
            WHERE (SELECT members.user_id FROM group_members AS members WHERE members.group_id = assigned.group_id
                   ORDER BY members.user_id LIMIT 1 OFFSET $1) IS NOT NULL)
         SELECT DISTINCT granted.application_id
         FROM large JOIN group_assignments AS granted ON granted.group_id = large.group_id
         WHERE (SELECT COUNT(*) FROM (SELECT 1 FROM accounts
                                      WHERE accounts.application_id = granted.application_id
                                        AND accounts.state IN ('suspended', 'terminated') LIMIT $2) AS closed) < $2";
    BulkSql::new(SQL, 2)
});
/// The number of closed accounts from which the members of a large group are counted one by one.
const MOST_CLOSED: i64 = 1_000;
/// The number of closed users from which the members of large groups are counted one by one.
const MOST_CLOSED_USERS: i64 = 20_000;

/// The open users of an application of everyone, up to `$2`.
const EVERYONE: &str = "SELECT COUNT(*) FROM (
        SELECT 1 FROM users WHERE users.state IN ('invited', 'active')
          AND COALESCE((SELECT closed.state FROM accounts AS closed
                        WHERE closed.user_id = users.id AND closed.application_id = $1), 'active')
              IN ('invited', 'active') LIMIT $2) AS counted";

/// The number of users who can open each of these applications; one more than [`MOST_COUNTED`] if there are more.
pub(crate) async fn count_users(store: &Store, applications: &[Did]) -> Result<HashMap<Did, u32>> {
    let mut counts = HashMap::with_capacity(applications.len());
    let (open_users, closed_users) = store.count_open_and_closed_users().await?;
    // Most lists have the applications of a few large groups. Their members need not be looked at: even if all closed
    // users were among them, more than the limit would remain.
    for application in store
        .crowded_applications(applications, closed_users)
        .await?
    {
        counts.insert(application, MOST_COUNTED.saturating_add(1));
    }
    let rest = applications.iter().filter(|id| !counts.contains_key(id));
    let (mut rest, mut members) = (rest.cloned().collect::<Vec<_>>(), MEMBERS_READ);
    while !rest.is_empty() {
        let mut unfinished = Vec::new();
        for count in store.count_at_most(&rest, members).await? {
            let users = match count.kind {
                Counted::Users { more: true } if count.counted < LIMIT => {
                    unfinished.push(count.application);
                    continue;
                }
                Counted::Users { .. } => count.counted,
                // Beyond its limit, the number of closed accounts is not known.
                Counted::Closed if count.counted < LIMIT => open_users - count.counted,
                Counted::Closed => store.count_everyone(&count.application).await?,
            };
            let users = u32::try_from(users.clamp(0, LIMIT)).unwrap_or_default();
            counts.insert(count.application, users);
        }
        (rest, members) = (unfinished, members.saturating_mul(FURTHER));
    }
    Ok(counts)
}

/// A count of an application.
#[derive(Clone)]
struct ApplicationCount {
    application: Did,
    kind: Counted,
    counted: i64,
}

/// What was counted.
#[derive(Clone, Copy)]
enum Counted {
    /// The users with access. `more` if a group has more members than were read.
    Users { more: bool },
    /// The open users with a closed account in an application of everyone.
    Closed,
}

impl Store {
    /// Counts the users of these applications, in several statements at once: each application may have many members.
    async fn count_at_most(
        &self,
        applications: &[Did],
        members: i64,
    ) -> Result<Vec<ApplicationCount>> {
        let counts = applications
            .chunks(AT_ONCE)
            .map(|applications| self.count_of(applications, members));
        Ok(try_join_all(counts).await?.concat())
    }

    async fn count_of(&self, applications: &[Did], members: i64) -> Result<Vec<ApplicationCount>> {
        let statement = match self.instance.kind {
            DatabaseKind::Sqlite => &*COUNTS_SQLITE,
            DatabaseKind::Postgres => &*COUNTS_POSTGRES,
        };
        let mut query =
            sql::query_as::<(String, i64, i64, i64)>(statement.sql_for(applications.len()))
                .bind(members)
                .bind(LIMIT);
        for id in statement.padded(applications) {
            query = query.bind(id.to_string());
        }
        let rows = query.fetch_all(&self.readers).await?;
        rows.into_iter()
            .map(|(id, everyone, counted, more)| {
                Ok(ApplicationCount {
                    application: parse(&id, cell("applications", "id", &id))?,
                    kind: match everyone {
                        1 => Counted::Closed,
                        _ => Counted::Users { more: more == 1 },
                    },
                    counted,
                })
            })
            .collect()
    }

    /// The applications that surely have more users than are counted, because of one large group.
    async fn crowded_applications(
        &self,
        applications: &[Did],
        closed_users: i64,
    ) -> Result<Vec<Did>> {
        if closed_users > MOST_CLOSED_USERS {
            return Ok(Vec::new());
        }
        let mut crowded = Vec::new();
        for applications in applications.chunks(MOST) {
            let mut query = sql::query_as::<(String,)>(CROWDED.sql_for(applications.len()))
                .bind(LIMIT + MOST_CLOSED + closed_users)
                .bind(MOST_CLOSED);
            for id in CROWDED.padded(applications) {
                query = query.bind(id.to_string());
            }
            for (id,) in query.fetch_all(&self.readers).await? {
                let application = parse(&id, cell("group_assignments", "application_id", &id))?;
                crowded.extend(applications.contains(&application).then_some(application));
            }
        }
        Ok(crowded)
    }

    async fn count_open_and_closed_users(&self) -> Result<(i64, i64)> {
        let (mut open, mut closed) = (0_i64, 0_i64);
        for (state, count) in self.users_by_state().await? {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            match state {
                LifecycleState::Invited | LifecycleState::Active => {
                    open = open.saturating_add(count);
                }
                LifecycleState::Suspended | LifecycleState::Terminated => {
                    closed = closed.saturating_add(count);
                }
            }
        }
        Ok((open, closed))
    }

    async fn count_everyone(&self, application: &Did) -> Result<i64> {
        let (count,): (i64,) = sql::query_as(EVERYONE)
            .bind(application.to_string())
            .bind(LIMIT)
            .fetch_one(&self.readers)
            .await?;
        Ok(count)
    }
}
