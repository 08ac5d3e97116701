//! The users to whom something grants access to an application.

use super::details::EffectiveAccess;
use super::totals::{AccessTotals, LIMIT, TotalsRow};
use crate::engine::rows::{cell, parse};
use crate::engine::sql;
use crate::engine::sql::DatabaseKind;
use crate::tables::groups::access::in_assigned_group;
use crate::{Result, Store};
use assent_model::clock::Timestamp;
use assent_model::id::{Did, UserId};

/// Which users a list contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessFilter {
    /// Each user to whom something grants access, also if the state of the user or of the account denies it.
    #[default]
    All,
    /// Only those to whom the state of the user or of the account denies the access.
    Denied,
}

/// Up to `$3` users that follow the user `$2`, with access to the application `$1`. Each part reads a range of an
/// index: the own accounts, the first members of each assigned group, and the users if it is assigned to everyone;
/// otherwise this range begins after each id. Everyone means all users who are not terminated.
macro_rules! users_with_access {
    ($members:expr) => {
        sql::statement!(
            "SELECT user_id FROM (SELECT user_id FROM accounts
                                  WHERE application_id = $1 AND individual = 1 AND user_id > $2
                                  ORDER BY user_id LIMIT $3) AS own
             UNION ",
            $members,
            " UNION
             SELECT id FROM (SELECT users.id FROM users
                             WHERE users.id > CASE WHEN (SELECT everyone_roles FROM applications WHERE id = $1) IS NULL
                                                   THEN 'g' ELSE $2 END
                               AND users.state <> 'terminated'
                             ORDER BY users.id LIMIT $3) AS everyone
             ORDER BY 1 LIMIT $3"
        )
    };
}

/// The members of the groups. SQLite has no lateral subqueries, so the range of each group ends at its `$3`th member.
macro_rules! members_sqlite {
    () => {
    "SELECT group_members.user_id FROM group_assignments CROSS JOIN group_members
     WHERE group_assignments.application_id = $1 AND group_members.group_id = group_assignments.group_id
       AND group_members.user_id > $2
       AND group_members.user_id <= COALESCE((SELECT bound.user_id FROM group_members AS bound
                                              WHERE bound.group_id = group_assignments.group_id
                                                AND bound.user_id > $2
                                              ORDER BY bound.user_id LIMIT 1 OFFSET $3), 'g')"
    };
}
macro_rules! members_postgres {
    () => {
    "SELECT members.user_id FROM group_assignments
     CROSS JOIN LATERAL (SELECT user_id FROM group_members
                         WHERE group_members.group_id = group_assignments.group_id AND group_members.user_id > $2
                         ORDER BY user_id LIMIT $3) AS members
     WHERE group_assignments.application_id = $1"
    };
}
/// Scalar subqueries read only the rows of the found users; PostgreSQL could read all users for a join.
macro_rules! totals_of_users {
    ($found:expr) => {
        sql::statement!(
            "SELECT (SELECT users.state FROM users WHERE users.id = found.user_id),
                    (SELECT accounts.state FROM accounts
                     WHERE accounts.user_id = found.user_id AND accounts.application_id = $1),
                    (SELECT account_use.signed_in_at FROM account_use
                     WHERE account_use.user_id = found.user_id AND account_use.application_id = $1)
             FROM (",
            $found,
            ") AS found"
        )
    };
}

const ALL_SQLITE: &str = users_with_access!(members_sqlite!());
const ALL_POSTGRES: &str = users_with_access!(members_postgres!());
/// Of the first `$3` users with access: the state, the state of the account, and the last use.
const TOTALS_SQLITE: &str = totals_of_users!(users_with_access!(members_sqlite!()));
const TOTALS_POSTGRES: &str = totals_of_users!(users_with_access!(members_postgres!()));

/// Up to `$3` such users with a state, or with a state of the account, that denies the access.
const DENIED: &str = concat!(
    "SELECT user_id FROM (SELECT accounts.user_id FROM accounts
                          WHERE accounts.application_id = $1 AND accounts.state IN ('suspended', 'terminated')
                            AND accounts.user_id > $2
                            AND (accounts.individual = 1
                                 OR (SELECT everyone_roles FROM applications WHERE id = $1) IS NOT NULL
                                    AND (SELECT state FROM users WHERE id = accounts.user_id) <> 'terminated' OR ",
    in_assigned_group!("accounts.user_id", "accounts.application_id"),
    ") ORDER BY accounts.user_id LIMIT $3) AS of_account
     UNION
     SELECT id FROM (SELECT users.id FROM users
                     WHERE users.state = 'suspended' AND users.id > $2
                       AND ((SELECT everyone_roles FROM applications WHERE id = $1) IS NOT NULL
                            OR (SELECT individual FROM accounts
                                WHERE accounts.user_id = users.id AND accounts.application_id = $1) = 1 OR ",
    in_assigned_group!("users.id", "$1"),
    ") ORDER BY users.id LIMIT $3) AS suspended
     UNION
     SELECT id FROM (SELECT users.id FROM users
                     WHERE users.state = 'terminated' AND users.id > $2
                       AND ((SELECT individual FROM accounts
                             WHERE accounts.user_id = users.id AND accounts.application_id = $1) = 1 OR ",
    in_assigned_group!("users.id", "$1"),
    ") ORDER BY users.id LIMIT $3) AS terminated
     ORDER BY 1 LIMIT $3"
);

impl Store {
    /// The totals of the users with access to an application. `unused_since` is the time from which on a use counts.
    pub async fn access_totals_to(
        &self,
        application: &Did,
        unused_since: Timestamp,
    ) -> Result<AccessTotals> {
        let statement = match self.instance.kind {
            DatabaseKind::Sqlite => TOTALS_SQLITE,
            DatabaseKind::Postgres => TOTALS_POSTGRES,
        };
        let rows = sql::query_as::<TotalsRow>(statement)
            .bind(application.to_string())
            .bind("")
            .bind(LIMIT)
            .fetch_all(&self.readers)
            .await?;
        Ok(AccessTotals::of(rows, unused_since))
    }

    /// Up to `limit` users that follow `after`, to whom something grants access to an application, in the order of
    /// their creation.
    pub async fn access_to(
        &self,
        application: &Did,
        filter: AccessFilter,
        after: Option<UserId>,
        limit: u32,
    ) -> Result<Vec<EffectiveAccess>> {
        let statement = match (filter, self.instance.kind) {
            (AccessFilter::All, DatabaseKind::Sqlite) => ALL_SQLITE,
            (AccessFilter::All, DatabaseKind::Postgres) => ALL_POSTGRES,
            (AccessFilter::Denied, _) => DENIED,
        };
        let rows: Vec<(String,)> = sql::query_as(statement)
            .bind(application.to_string())
            .bind(after.map(|id| id.to_string()).unwrap_or_default())
            .bind(limit)
            .fetch_all(&self.readers)
            .await?;
        let users = rows
            .into_iter()
            .map(|(id,)| parse(&id, cell("users", "id", &id)))
            .collect::<Result<Vec<UserId>>>()?;
        self.access_of_users(application, &users).await
    }
}
