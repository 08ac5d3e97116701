//! Lists of users, filtered and searched. Each statement has an index whose order is the list's.

use super::users::UserRow;
use super::{Result, Store};
use crate::id::{Did, UserId};
use crate::model::user::{ConsoleRole, LifeState, User};

/// A user with the name that was found.
#[derive(sqlx::FromRow)]
struct NamedRow {
    found: String,
    #[sqlx(flatten)]
    user: UserRow,
}

impl Store {
    /// Up to `limit` users after `after`, in the order in which they were made; of a state or with a role alone, where these
    /// are given.
    pub async fn users_in(
        &self,
        state: Option<LifeState>,
        role: Option<ConsoleRole>,
        after: Option<UserId>,
        limit: u32,
    ) -> Result<Vec<User>> {
        let statement = match (state, role) {
            (None, None) => "SELECT * FROM users WHERE $1 = '' AND $2 = '' AND id > $3 ORDER BY id LIMIT $4",
            (Some(_), None) => "SELECT * FROM users WHERE state = $1 AND $2 = '' AND id > $3 ORDER BY id LIMIT $4",
            (_, Some(_)) => {
                "SELECT * FROM users
                 WHERE ($1 = '' OR state = $1) AND console_role = $2 AND id > $3 ORDER BY id LIMIT $4"
            }
        };
        let rows: Vec<UserRow> = sqlx::query_as(statement)
            .bind(state.map(LifeState::as_str).unwrap_or_default())
            .bind(role.map(ConsoleRole::as_str).unwrap_or_default())
            .bind(after.map(|id| id.to_string()).unwrap_or_default())
            .bind(i64::from(limit))
            .fetch_all(&self.readers)
            .await?;
        rows.into_iter().map(User::try_from).collect()
    }

    /// Up to `limit` users whose name or e-mail address begins with `prefix`, in lower case, each once and with what begins
    /// so, in the order of that, after `after`.
    pub async fn users_named(
        &self,
        prefix: &str,
        state: Option<LifeState>,
        role: Option<ConsoleRole>,
        after: &str,
        limit: u32,
    ) -> Result<Vec<(String, User)>> {
        let Some(end) = end_of(prefix) else { return Ok(Vec::new()) };
        // A person is listed by the first of the names that fit.
        let rows: Vec<NamedRow> = sqlx::query_as(
            "SELECT names.name AS found, users.* FROM login_names AS names JOIN users ON users.id = names.user_id
             WHERE names.name >= $1 AND names.name < $2 AND names.name > $3
               AND substr(names.name, 1, $4) = $1
               AND ($5 = '' OR users.state = $5) AND ($6 = '' OR users.console_role = $6)
               AND NOT EXISTS (SELECT 1 FROM login_names AS other
                               WHERE other.user_id = names.user_id AND other.name < names.name
                                 AND substr(other.name, 1, $4) = $1)
             ORDER BY names.name LIMIT $7",
        )
        .bind(prefix.to_owned())
        .bind(end)
        .bind(after.to_owned())
        .bind(i32::try_from(prefix.chars().count()).unwrap_or(i32::MAX))
        .bind(state.map(LifeState::as_str).unwrap_or_default())
        .bind(role.map(ConsoleRole::as_str).unwrap_or_default())
        .bind(i64::from(limit))
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter().map(|row| Ok((row.found, row.user.try_into()?))).collect()
    }

    /// The user with this identifier.
    pub async fn user_by_did(&self, did: &Did) -> Result<Option<User>> {
        let row: Option<UserRow> = sqlx::query_as("SELECT * FROM users WHERE did = $1")
            .bind(did.to_string())
            .fetch_optional(&self.readers)
            .await?;
        row.map(User::try_from).transpose()
    }
}

/// The least text after all that begin with this one; `None` where there is none.
fn end_of(prefix: &str) -> Option<String> {
    let mut end: Vec<char> = prefix.chars().collect();
    while let Some(last) = end.pop() {
        if let Some(next) = (u32::from(last) + 1..=0x0010_FFFF).find_map(char::from_u32) {
            end.push(next);
            return Some(end.into_iter().collect());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::end_of;

    #[test]
    fn a_range_ends_where_a_prefix_does() {
        assert_eq!(end_of("abc").as_deref(), Some("abd"));
        assert_eq!(end_of("ab\u{10FFFF}").as_deref(), Some("ac"));
        assert_eq!(end_of("\u{D7FF}").as_deref(), Some("\u{E000}"));
        assert_eq!(end_of(""), None);
    }
}
