//! Users without a confirmed email address.

use crate::engine::sql;
use crate::tables::users::row::UserRow;
use crate::{Result, Store};
use assent_model::id::{Did, UserId};
use assent_model::user::User;

/// The invited and active users without a confirmed address, after an id.
macro_rules! unconfirmed {
    ($condition:literal) => {
        sql::statement!(
            "SELECT ",
            UserRow::COLUMNS,
            " FROM users WHERE (users.email_confirmed = 0 OR users.email IS NULL)
               AND users.state IN ('invited', 'active') AND users.id > $1 AND ",
            $condition,
            " ORDER BY users.id LIMIT $3"
        )
    };
}

/// A closed account denies access, whatever grants it.
const WITH_EVERYONE: &str = unconfirmed!(
    "NOT EXISTS (SELECT 1 FROM accounts WHERE accounts.user_id = users.id AND accounts.application_id = $2
                   AND accounts.state IN ('suspended', 'terminated'))"
);
/// Begins with the users who have access, if they are fewer than [`MANY`]. From the limit, which removes none then,
/// PostgreSQL knows that they are few: otherwise it reads every unconfirmed user to join them.
const AMONG_FEW: &str = unconfirmed!(
    "users.id IN (SELECT granted.user_id
                    FROM (SELECT accounts.user_id FROM accounts
                           WHERE accounts.application_id = $2 AND accounts.individual = 1
                          UNION SELECT members.user_id FROM group_assignments AS assigned
                                  JOIN group_members AS members ON members.group_id = assigned.group_id
                                 WHERE assigned.application_id = $2
                          LIMIT 1000) AS granted)
     AND COALESCE((SELECT 1 FROM accounts AS closed
                   WHERE closed.user_id = users.id AND closed.application_id = $2
                     AND closed.state IN ('suspended', 'terminated')),
                  0) <> 1"
);
/// Begins with the unconfirmed users, and ends with the first ones who have access. Scalar subqueries read only rows of
/// these users; PostgreSQL would read all accounts for an `EXISTS`. It assumes that most rows satisfy `<>`, and thus
/// reads no further than the limit; for `>` and `IN` it assumes few, and reads and sorts all of them.
const AMONG_MANY: &str = unconfirmed!(
    "COALESCE((SELECT accounts.individual FROM accounts
               WHERE accounts.user_id = users.id AND accounts.application_id = $2),
              0)
     + COALESCE((SELECT 1 FROM group_members AS members
                   JOIN group_assignments AS granted ON granted.group_id = members.group_id
                  WHERE members.user_id = users.id AND granted.application_id = $2 LIMIT 1),
                0) <> 0
     AND COALESCE((SELECT 1 FROM accounts AS closed
                   WHERE closed.user_id = users.id AND closed.application_id = $2
                     AND closed.state IN ('suspended', 'terminated')),
                  0) <> 1"
);
/// The number of users to whom something grants access, up to `$2` of each kind.
const GRANTED: &str =
    "SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM accounts WHERE application_id = $1 AND individual = 1 LIMIT $2) AS own)
     + (SELECT COUNT(*) FROM (SELECT 1 FROM group_assignments AS granted
                                JOIN group_members AS members ON members.group_id = granted.group_id
                               WHERE granted.application_id = $1 LIMIT $2) AS members)";
/// From this number on, users with access are many: the limit in [`AMONG_FEW`]. Reading fewer takes a few milliseconds.
const MANY: i64 = 1000;
const ALL: &str = unconfirmed!("$2 = ''");

impl Store {
    /// Up to `limit` invited and active users after this one, whose email address is missing or not confirmed. With an
    /// application, only those who have access to it.
    pub async fn unconfirmed_users(
        &self,
        application: Option<&Did>,
        after: Option<UserId>,
        limit: u32,
    ) -> Result<Vec<User>> {
        let statement = match application {
            None => ALL,
            Some(application) if self.is_for_everyone(application).await? => WITH_EVERYONE,
            Some(application) if self.granted_users(application).await? < MANY => AMONG_FEW,
            Some(_) => AMONG_MANY,
        };
        sql::query_as::<UserRow>(statement)
            .bind(after.map(|id| id.to_string()).unwrap_or_default())
            .bind(application.map(ToString::to_string).unwrap_or_default())
            .bind(limit)
            .fetch_values(&self.readers)
            .await
    }

    async fn granted_users(&self, application: &Did) -> Result<i64> {
        let (count,): (i64,) = sql::query_as(GRANTED)
            .bind(application.to_string())
            .bind(MANY)
            .fetch_one(&self.readers)
            .await?;
        Ok(count)
    }

    async fn is_for_everyone(&self, application: &Did) -> Result<bool> {
        Ok(
            sql::query("SELECT 1 FROM applications WHERE id = $1 AND everyone_roles IS NOT NULL")
                .bind(application.to_string())
                .exists(&self.readers)
                .await?,
        )
    }
}
