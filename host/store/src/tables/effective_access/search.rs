//! The search in the users with access to an application.
//!
//! Accounts have a search index of each application. Users without an account are found in the index of all users, if
//! many of them have access, and otherwise by the members of the assigned groups.

use std::sync::LazyLock;

use super::details::EffectiveAccess;
use crate::engine::batch::bulk_sql::{BulkSql, MOST};
use crate::engine::rows::{cell, parse};
use crate::engine::sql;
use crate::engine::sql::{QueryAs, StatementText};
use crate::tables::groups::access::in_assigned_group;
use crate::tables::users::listing::{PageRange, cursor, merge_sorted};
use crate::{Result, Store};
use assent_model::id::{Did, UserId};
use assent_model::search::{Cursor, Prefix};
use assent_model::user::LifecycleState;

/// The number of members of groups up to which a search reads all of them.
const FEW_MEMBERS: i64 = 1000;

/// Whether an application is assigned to everyone, and the number of members of its groups, up to `$2`. A user in
/// several groups counts several times.
const ASSIGNED: &str = "SELECT CAST(CASE WHEN everyone_roles IS NULL THEN 0 ELSE 1 END AS BIGINT),
            (SELECT COUNT(*) FROM (SELECT 1 FROM group_assignments
                                   JOIN group_members ON group_members.group_id = group_assignments.group_id
                                   WHERE group_assignments.application_id = $1 LIMIT $2) AS counted)
     FROM applications WHERE id = $1";

/// The users of found accounts that something grants access, each with the term and the place: the account.
const BY_ACCOUNTS: &str = concat!(
    "SELECT terms.term, terms.account_id, accounts.user_id FROM account_search AS terms
     JOIN accounts ON accounts.id = terms.account_id
     JOIN applications ON applications.id = accounts.application_id
     JOIN users ON users.id = accounts.user_id
     WHERE terms.application_id = $6 AND terms.state = $7
       AND (terms.term, terms.account_id) > ($1, $2) AND terms.term < $3
       AND terms.term = (SELECT other.term FROM account_search AS other
                         WHERE other.account_id = terms.account_id AND other.term >= $4 AND other.term < $3
                         ORDER BY other.term LIMIT 1)
       AND (accounts.individual = 1 OR applications.everyone_roles IS NOT NULL AND users.state <> 'terminated' OR ",
    in_assigned_group!("accounts.user_id", "accounts.application_id"),
    ") ORDER BY terms.term, terms.account_id LIMIT $5"
);

/// The condition for a found user without an account. A scalar subquery reads only the account of each found user.
macro_rules! without_account {
    () => {
        "(terms.term, terms.user_id) > ($1, $2) AND terms.term < $3
           AND terms.term = (SELECT other.term FROM user_search AS other
                             WHERE other.user_id = terms.user_id AND other.term >= $4 AND other.term < $3
                             ORDER BY other.term LIMIT 1)
           AND (SELECT 1 FROM accounts
                WHERE accounts.user_id = terms.user_id AND accounts.application_id = $6) IS NULL"
    };
}

/// The found users in a state, from the index of all users.
const BY_USERS: &str = concat!(
    "SELECT terms.term, terms.user_id, terms.user_id FROM user_search AS terms
     WHERE terms.state = $7 AND ",
    without_account!(),
    " AND ($8 = 1 OR ",
    in_assigned_group!("terms.user_id", "$6"),
    ") ORDER BY terms.term, terms.user_id LIMIT $5"
);

/// The members of the assigned groups.
const MEMBERS: &str = "SELECT DISTINCT group_members.user_id FROM group_assignments
     JOIN group_members ON group_members.group_id = group_assignments.group_id
     WHERE group_assignments.application_id = $1";

/// Those of some users that the search finds.
static OF_MEMBERS: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        concat!(
            "SELECT terms.term, terms.user_id, terms.user_id FROM user_search AS terms
             WHERE terms.user_id IN ({$}) AND ",
            without_account!(),
            " ORDER BY terms.term, terms.user_id LIMIT $5"
        ),
        6,
    )
});

impl Store {
    /// Up to `limit` users with access to an application and a search term that begins with `prefix`, in the order of
    /// the terms. A term may be the name of the account. Each user is returned once, and follows `after`.
    pub async fn search_access(
        &self,
        application: &Did,
        prefix: &Prefix,
        after: &Cursor,
        limit: u32,
    ) -> Result<Vec<(Cursor, EffectiveAccess)>> {
        let search = AccessSearch {
            application,
            prefix,
            after,
            limit,
        };
        let mut found = Vec::new();
        for state in LifecycleState::ALL {
            let query = search.query(BY_ACCOUNTS).bind(state.as_str());
            found.extend(self.run_search(query).await?);
        }
        let assigned: Option<(i64, i64)> = sql::query_as(ASSIGNED)
            .bind(application.to_string())
            .bind(FEW_MEMBERS + 1)
            .fetch_optional(&self.readers)
            .await?;
        let (everyone, members) = assigned.unwrap_or_default();
        if everyone == 1 || members > FEW_MEMBERS {
            for state in LifecycleState::ALL {
                let everyone = everyone == 1 && state != LifecycleState::Terminated;
                let query = search.query(BY_USERS).bind(state.as_str());
                found.extend(self.run_search(query.bind(everyone)).await?);
            }
        } else if members > 0 {
            found.extend(self.search_members(&search).await?);
        }
        let found = merge_sorted(found, limit);
        let users: Vec<UserId> = found.iter().map(|(_, user)| *user).collect();
        let details = self.access_of_users(application, &users).await?;
        // A user may be deleted meanwhile, but the order is the same.
        let mut details = details.into_iter().peekable();
        let with_details = found.into_iter().filter_map(|(place, user)| {
            let access = details.next_if(|access| access.user.id == user)?;
            Some((place, access))
        });
        Ok(with_details.collect())
    }

    async fn search_members(&self, search: &AccessSearch<'_>) -> Result<Vec<(Cursor, UserId)>> {
        let members: Vec<(String,)> = sql::query_as(MEMBERS)
            .bind(search.application.to_string())
            .fetch_all(&self.readers)
            .await?;
        let mut found = Vec::new();
        for members in members.chunks(MOST) {
            let mut query = search.query(OF_MEMBERS.sql_for(members.len()));
            for (member,) in OF_MEMBERS.padded(members) {
                query = query.bind(member);
            }
            found.extend(self.run_search(query).await?);
        }
        Ok(found)
    }

    async fn run_search(&self, query: FoundQuery) -> Result<Vec<(Cursor, UserId)>> {
        let rows = query.fetch_all(&self.readers).await?;
        rows.into_iter()
            .map(|(term, place, user)| {
                let id = parse(&user, cell("users", "id", &user))?;
                Ok((cursor(term, &place)?, id))
            })
            .collect()
    }
}

/// A statement that finds terms, places and users.
type FoundQuery = QueryAs<(Vec<u8>, String, String)>;

/// A search in the users of an application.
struct AccessSearch<'a> {
    application: &'a Did,
    prefix: &'a Prefix,
    after: &'a Cursor,
    limit: u32,
}

impl AccessSearch<'_> {
    /// A statement with the arguments `$1` to `$6`.
    fn query(&self, statement: impl Into<StatementText>) -> FoundQuery {
        let PageRange { after, first, end } = PageRange::new(self.prefix, self.after);
        sql::query_as(statement)
            .bind(after.0)
            .bind(after.1)
            .bind(end)
            .bind(first)
            .bind(self.limit)
            .bind(self.application.to_string())
    }
}
