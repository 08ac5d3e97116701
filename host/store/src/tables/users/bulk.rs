//! Lookups of many users and accounts at once, by the names in an imported file.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::engine::batch::bulk_sql::{BulkSql, MOST};
use crate::engine::rows::cell;
use crate::engine::sql;
use crate::tables::accounts::user_account::AccountRow;
use crate::tables::users::row::UserRow;
use crate::{Result, Store};
use assent_model::account::Account;
use assent_model::id::{Did, UserId};
use assent_model::name::LoginName;
use assent_model::user::User;

crate::engine::sql::row! {
    /// A user with the name or address of the lookup.
    struct NamedRow {
        called: String,
        user: UserRow,
    }
}

static BY_LOGIN: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        sql::statement!(
            "SELECT login_names.name AS called, ",
            UserRow::COLUMNS,
            " FROM login_names JOIN users ON users.id = login_names.user_id WHERE login_names.name IN ({$})"
        ),
        0,
    )
});
static BY_ID: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        sql::statement!("SELECT ", UserRow::COLUMNS, " FROM users WHERE id IN ({$})"),
        0,
    )
});
static BY_USER: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        sql::statement!(
            "SELECT ",
            AccountRow::COLUMNS,
            " FROM accounts WHERE application_id = $1 AND user_id IN ({$})"
        ),
        1,
    )
});
static BY_NAME: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        sql::statement!(
            "SELECT ",
            AccountRow::COLUMNS,
            " FROM accounts WHERE application_id = $1 AND name IN ({$})"
        ),
        1,
    )
});

impl Store {
    /// The users who sign in with these names and email addresses, indexed by them.
    pub async fn users_by_logins(&self, names: &[LoginName]) -> Result<HashMap<LoginName, User>> {
        let mut found = HashMap::with_capacity(names.len());
        for names in names.chunks(MOST) {
            let mut query = sql::query_as::<NamedRow>(BY_LOGIN.sql_for(names.len()));
            for name in BY_LOGIN.padded(names) {
                query = query.bind(name.to_string());
            }
            for row in query.fetch_all(&self.readers).await? {
                found.insert(
                    crate::engine::rows::parse(
                        &row.called,
                        cell("login_names", "name", &row.user.id),
                    )?,
                    row.user.try_into()?,
                );
            }
        }
        Ok(found)
    }

    /// The users with these ids.
    pub async fn users_by_ids(&self, ids: &[UserId]) -> Result<HashMap<UserId, User>> {
        let mut found = HashMap::with_capacity(ids.len());
        for ids in ids.chunks(MOST) {
            let mut query = sql::query_as::<UserRow>(BY_ID.sql_for(ids.len()));
            for id in BY_ID.padded(ids) {
                query = query.bind(id.to_string());
            }
            for row in query.fetch_all(&self.readers).await? {
                let user = User::try_from(row)?;
                found.insert(user.id, user);
            }
        }
        Ok(found)
    }

    /// The accounts of these users in an application.
    pub async fn accounts_of_users(
        &self,
        application: &Did,
        users: &[UserId],
    ) -> Result<HashMap<UserId, Account>> {
        let ids: Vec<String> = users.iter().map(ToString::to_string).collect();
        let accounts = self.accounts_by(&BY_USER, application, &ids).await?;
        Ok(accounts
            .into_iter()
            .map(|account| (account.user_id, account))
            .collect())
    }

    /// The accounts of an application with these names, indexed by them.
    pub async fn accounts_by_names(
        &self,
        application: &Did,
        names: &[String],
    ) -> Result<HashMap<String, Account>> {
        let accounts = self.accounts_by(&BY_NAME, application, names).await?;
        Ok(accounts
            .into_iter()
            .map(|account| (account.name.clone(), account))
            .collect())
    }

    async fn accounts_by(
        &self,
        statement: &BulkSql,
        application: &Did,
        keys: &[String],
    ) -> Result<Vec<Account>> {
        let mut found = Vec::with_capacity(keys.len());
        for keys in keys.chunks(MOST) {
            let mut query = sql::query_as::<AccountRow>(statement.sql_for(keys.len()))
                .bind(application.to_string());
            for key in statement.padded(keys) {
                query = query.bind(key);
            }
            for row in query.fetch_all(&self.readers).await? {
                found.push(row.try_into()?);
            }
        }
        Ok(found)
    }
}
