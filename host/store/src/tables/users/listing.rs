//! Lists of users and accounts, with filters and search. Each statement uses an index in the order of the list. So the
//! cost of a page does not depend on the number of users.

use crate::engine::rows::cell;
use crate::engine::sql;
use crate::tables::accounts::user_account::AccountRow;
use crate::tables::users::row::UserRow;
use crate::{Result, Store};
use assent_model::account::Account;
use assent_model::id::Did;
use assent_model::search::{AFTER_ALL_KEYS, Cursor, Prefix};
use assent_model::user::{ConsoleRole, LifecycleState, User};

crate::engine::sql::row! {
    /// A user with the matching search term.
    struct FoundUser {
        term: Vec<u8>,
        user: UserRow,
    }
}

crate::engine::sql::row! {
    /// An account with the matching search term.
    struct FoundAccount {
        term: Vec<u8>,
        account: AccountRow,
    }
}

/// The users with search terms that meet a condition, each by its first term with the prefix.
macro_rules! users_found {
    ($condition:literal) => {
        sql::statement!(
            "SELECT found.term, ",
            UserRow::COLUMNS,
            " FROM
                 (SELECT terms.term, terms.user_id FROM user_search AS terms
                  WHERE ",
            $condition,
            "     AND (terms.term, terms.user_id) > ($1, $2) AND terms.term < $3
                  AND terms.term = (SELECT other.term FROM user_search AS other
                                    WHERE other.user_id = terms.user_id AND other.term >= $4 AND other.term < $3
                                    ORDER BY other.term LIMIT 1)
                  ORDER BY terms.term, terms.user_id LIMIT $5) AS found
             JOIN users ON users.id = found.user_id ORDER BY found.term, found.user_id"
        )
    };
}

/// Users that follow a place in an order. By creation the place is `$3`, by name `($3, $4)`.
macro_rules! users_listed {
    ($condition:expr, "id", $compare:literal, $order:literal) => {
        sql::statement!(
            "SELECT ",
            UserRow::COLUMNS,
            " FROM users WHERE ",
            $condition,
            " AND id ",
            $compare,
            " $3 ORDER BY ",
            $order,
            " LIMIT $4"
        )
    };
    ($condition:expr, "(search_key, id)", $compare:literal, $order:literal) => {
        sql::statement!(
            "SELECT ",
            UserRow::COLUMNS,
            " FROM users WHERE ",
            $condition,
            " AND (search_key, id) ",
            $compare,
            " ($3, $4) ORDER BY ",
            $order,
            " LIMIT $5"
        )
    };
}

macro_rules! with_role {
    () => {
        "($1 = '' OR state = $1) AND console_role = $2"
    };
}

/// This text is greater than each id, in any collation, because ids consist of hexadecimal digits.
const LAST_ID: &str = "g";

/// The order of a list of users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UserOrder {
    /// By creation, the earliest first.
    #[default]
    Created,
    /// By creation, the latest first.
    CreatedDescending,
    /// By full name, or else user name, without regard to case and accents.
    Name,
    /// By name, descending.
    NameDescending,
}

impl UserOrder {
    const fn is_descending(self) -> bool {
        matches!(self, Self::CreatedDescending | Self::NameDescending)
    }

    const fn is_by_name(self) -> bool {
        matches!(self, Self::Name | Self::NameDescending)
    }
}

/// The begin and the end of a page of a search.
pub(crate) struct PageRange {
    pub(crate) after: (Vec<u8>, String),
    pub(crate) first: Vec<u8>,
    pub(crate) end: Vec<u8>,
}

impl PageRange {
    pub(crate) fn new(prefix: &Prefix, after: &Cursor) -> Self {
        let first = prefix.first().as_bytes().to_vec();
        // A cursor of another search must not precede the begin of this one.
        let after =
            (after.term.as_bytes().to_vec(), after.id.clone()).max((first.clone(), String::new()));
        Self {
            after,
            first,
            end: prefix.end(),
        }
    }
}

/// Merges the results of several lists in their order, and returns the first `limit`.
pub(crate) fn merge_sorted<T>(mut found: Vec<(Cursor, T)>, limit: u32) -> Vec<(Cursor, T)> {
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found.truncate(limit as usize);
    found
}

pub(crate) fn cursor(term: Vec<u8>, id: &str) -> Result<Cursor> {
    let term = String::from_utf8(term).map_err(|_| cell("user_search", "term", id).unexpected())?;
    Ok(Cursor {
        term,
        id: id.to_owned(),
    })
}

impl Store {
    /// Up to `limit` users that follow `after`, in an order. Only those in `state` or with `role`, if these are set.
    /// In an order by name, the cursor is the sort key and the id of the last user of the previous page.
    pub async fn users_in_order(
        &self,
        state: Option<LifecycleState>,
        role: Option<ConsoleRole>,
        order: UserOrder,
        after: Option<&Cursor>,
        limit: u32,
    ) -> Result<Vec<User>> {
        use UserOrder::{Created, CreatedDescending, Name, NameDescending};
        let statement = match (order, state, role) {
            (Created, None, None) => users_listed!("$1 = '' AND $2 = ''", "id", ">", "id"),
            (Created, Some(_), None) => users_listed!("state = $1 AND $2 = ''", "id", ">", "id"),
            (Created, _, Some(_)) => users_listed!(with_role!(), "id", ">", "id"),
            (CreatedDescending, None, None) => {
                users_listed!("$1 = '' AND $2 = ''", "id", "<", "id DESC")
            }
            (CreatedDescending, Some(_), None) => {
                users_listed!("state = $1 AND $2 = ''", "id", "<", "id DESC")
            }
            (CreatedDescending, _, Some(_)) => users_listed!(with_role!(), "id", "<", "id DESC"),
            (Name, None, None) => {
                users_listed!(
                    "$1 = '' AND $2 = ''",
                    "(search_key, id)",
                    ">",
                    "search_key, id"
                )
            }
            (Name, Some(_), None) => {
                users_listed!(
                    "state = $1 AND $2 = ''",
                    "(search_key, id)",
                    ">",
                    "search_key, id"
                )
            }
            // Users with a role are few, so the database sorts them.
            (Name, _, Some(_)) => {
                users_listed!(with_role!(), "(search_key, id)", ">", "search_key, id")
            }
            (NameDescending, None, None) => {
                users_listed!(
                    "$1 = '' AND $2 = ''",
                    "(search_key, id)",
                    "<",
                    "search_key DESC, id DESC"
                )
            }
            (NameDescending, Some(_), None) => {
                users_listed!(
                    "state = $1 AND $2 = ''",
                    "(search_key, id)",
                    "<",
                    "search_key DESC, id DESC"
                )
            }
            (NameDescending, _, Some(_)) => {
                users_listed!(
                    with_role!(),
                    "(search_key, id)",
                    "<",
                    "search_key DESC, id DESC"
                )
            }
        };
        let (key, id) = match after {
            Some(after) => (after.term.clone(), after.id.clone()),
            None if order.is_descending() => (AFTER_ALL_KEYS.to_owned(), LAST_ID.to_owned()),
            None => (String::new(), String::new()),
        };
        let mut query = sql::query_as::<UserRow>(statement)
            .bind(state.map(LifecycleState::as_str).unwrap_or_default())
            .bind(role.map(ConsoleRole::as_str).unwrap_or_default());
        if order.is_by_name() {
            query = query.bind(key);
        }
        query.bind(id).bind(limit).fetch_values(&self.readers).await
    }

    /// Up to `limit` users with a search term that begins with `prefix`, in the order of the terms. Each user is
    /// returned once, and follows `after`.
    pub async fn search_users(
        &self,
        prefix: &Prefix,
        state: Option<LifecycleState>,
        role: Option<ConsoleRole>,
        after: &Cursor,
        limit: u32,
    ) -> Result<Vec<(Cursor, User)>> {
        let mut found = Vec::new();
        // Each state has its own range of the index; users with a role are few.
        let lists: Vec<(&'static str, &'static str, &'static str)> = match (state, role) {
            (state, Some(role)) => {
                let statement =
                    users_found!("terms.console_role = $6 AND ($7 = '' OR terms.state = $7)");
                vec![(
                    statement,
                    role.as_str(),
                    state.map(LifecycleState::as_str).unwrap_or_default(),
                )]
            }
            (state, None) => {
                let statement = users_found!("terms.state = $6 AND $7 = ''");
                let wanted = LifecycleState::ALL
                    .into_iter()
                    .filter(|one| state.is_none_or(|state| state == *one));
                wanted
                    .map(|state| (statement, state.as_str(), ""))
                    .collect()
            }
        };
        for (statement, of, also) in lists {
            let PageRange { after, first, end } = PageRange::new(prefix, after);
            let rows: Vec<FoundUser> = sql::query_as(statement)
                .bind(after.0)
                .bind(after.1)
                .bind(end)
                .bind(first)
                .bind(limit)
                .bind(of)
                .bind(also)
                .fetch_all(&self.readers)
                .await?;
            for row in rows {
                found.push((cursor(row.term, &row.user.id)?, row.user.try_into()?));
            }
        }
        Ok(merge_sorted(found, limit))
    }

    /// Up to `limit` accounts of an application with a search term that begins with `prefix`, in the order of the
    /// terms. Each account is returned once, and follows `after`.
    pub async fn search_accounts(
        &self,
        application: &Did,
        prefix: &Prefix,
        state: Option<LifecycleState>,
        after: &Cursor,
        limit: u32,
    ) -> Result<Vec<(Cursor, Account)>> {
        let mut found = Vec::new();
        for state in LifecycleState::ALL
            .into_iter()
            .filter(|one| state.is_none_or(|state| state == *one))
        {
            let PageRange { after, first, end } = PageRange::new(prefix, after);
            let rows: Vec<FoundAccount> = sql::query_as(
                sql::statement!("SELECT found.term, ", AccountRow::COLUMNS, " FROM
                     (SELECT terms.term, terms.account_id FROM account_search AS terms
                      WHERE terms.application_id = $6 AND terms.state = $7
                        AND (terms.term, terms.account_id) > ($1, $2) AND terms.term < $3
                        AND terms.term = (SELECT other.term FROM account_search AS other
                                          WHERE other.account_id = terms.account_id AND other.term >= $4
                                            AND other.term < $3
                                          ORDER BY other.term LIMIT 1)
                      ORDER BY terms.term, terms.account_id LIMIT $5) AS found
                 JOIN accounts ON accounts.id = found.account_id ORDER BY found.term, found.account_id"),
            )
            .bind(after.0)
            .bind(after.1)
            .bind(end)
            .bind(first)
            .bind(limit)
            .bind(application.to_string())
            .bind(state.as_str())
            .fetch_all(&self.readers)
            .await?;
            for row in rows {
                found.push((cursor(row.term, &row.account.id)?, row.account.try_into()?));
            }
        }
        Ok(merge_sorted(found, limit))
    }

    /// The user with this identifier.
    pub async fn user_by_did(&self, did: &Did) -> Result<Option<User>> {
        sql::query_as::<UserRow>(sql::statement!(
            "SELECT ",
            UserRow::COLUMNS,
            " FROM users WHERE did = $1"
        ))
        .bind(did.to_string())
        .fetch_value(&self.readers)
        .await
    }
}
