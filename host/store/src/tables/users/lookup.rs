//! Lookups of users.

use crate::engine::rows::moment;
use crate::engine::sql;
use crate::tables::users::row::{SummaryRow, UserRow, UserSummary};
use crate::{Result, Store};
use assent_model::clock::Timestamp;
use assent_model::id::UserId;
use assent_model::name::LoginName;
use assent_model::user::User;

impl Store {
    /// The user with this id.
    pub async fn user(&self, id: UserId) -> Result<Option<User>> {
        sql::query_as::<UserRow>(sql::statement!(
            "SELECT ",
            UserRow::COLUMNS,
            " FROM users WHERE id = $1"
        ))
        .bind(id.to_string())
        .fetch_value(self.readers.lookups())
        .await
    }

    /// The user with this `sub`.
    pub async fn user_by_subject(&self, subject: &str) -> Result<Option<User>> {
        sql::query_as::<UserRow>(sql::statement!(
            "SELECT ",
            UserRow::COLUMNS,
            " FROM users WHERE subject = $1"
        ))
        .bind(subject.to_owned())
        .fetch_value(self.readers.lookups())
        .await
    }

    /// The user who signs in with this name or email address.
    pub async fn user_by_login(&self, name: &LoginName) -> Result<Option<User>> {
        sql::query_as::<UserRow>(
            sql::statement!(
                "SELECT ",
                UserRow::COLUMNS,
                " FROM login_names JOIN users ON users.id = login_names.user_id WHERE login_names.name = $1"
            ),
        )
        .bind(name.to_string())
        .fetch_value(self.readers.lookups())
        .await
    }

    /// The time from which a sign-in makes its browser a known one of this user; `None` if there is no such user.
    pub async fn browsers_known_from(&self, user: UserId) -> Result<Option<Timestamp>> {
        let row: Option<(i64,)> =
            sql::query_as("SELECT known_browsers_not_before FROM users WHERE id = $1")
                .bind(user.to_string())
                .fetch_optional(self.readers.lookups())
                .await?;
        Ok(row.map(|(from,)| moment(from)))
    }

    /// Up to `limit` users that follow `after`, in the order of their creation.
    pub async fn users(&self, after: Option<UserId>, limit: u32) -> Result<Vec<UserSummary>> {
        let rows: Vec<SummaryRow> = sql::query_as(
            sql::statement!("SELECT ", UserRow::COLUMNS, ",
                    (SELECT COUNT(*) FROM devices WHERE devices.user_id = users.id AND revoked_at IS NULL) AS devices,
                    (SELECT COUNT(*) FROM accounts WHERE accounts.user_id = users.id) AS accounts
             FROM users WHERE id > $1 ORDER BY id LIMIT $2"),
        )
        .bind(after.map(|id| id.to_string()).unwrap_or_default())
        .bind(limit)
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .map(|row| {
                Ok(UserSummary {
                    user: row.user.try_into()?,
                    devices: u32::try_from(row.devices).unwrap_or(u32::MAX),
                    accounts: u32::try_from(row.accounts).unwrap_or(u32::MAX),
                })
            })
            .collect()
    }
}
