//! An account with its user, as stored.

use crate::batch::loader::Row;
use crate::rows::{cell, from_json, lifecycle_state, moment, parse};
use crate::sql::statement;
use crate::users::UserRow;
use crate::{Result, StoreError};
use assent_model::account::Account;
use assent_model::user::User;

crate::sql::row! {
    pub(crate) struct AccountRow of accounts {
        pub(crate) id: String,
        user_id: String,
        application_id: String,
        name: String,
        roles: String,
        short_code: String,
        state: String,
        version: i64,
        created_at: i64,
    }
}

pub(crate) const BY_ACCOUNT_ID: &str = statement!(
    "SELECT a.id AS account_id, a.application_id, a.name AS account_name, a.roles, a.short_code,
    a.state AS account_state, a.version AS account_version, a.created_at AS account_created_at, ",
    UserRow::COLUMNS,
    " FROM accounts a JOIN users ON users.id = a.user_id WHERE a.id IN ({$})"
);

/// An account with the person whose it is.
#[derive(Clone, Debug)]
pub struct UserAccount {
    /// The user.
    pub user: User,
    /// The account.
    pub account: Account,
}

crate::sql::row! {
    pub(crate) struct UserAccountRow {
        pub(crate) account_id: String,
        application_id: String,
        account_name: String,
        roles: String,
        short_code: String,
        account_state: String,
        account_version: i64,
        account_created_at: i64,
        user: UserRow,
    }
}

impl Row for UserAccountRow {
    type Key = String;
    type Value = UserAccount;
    fn key(&self) -> String {
        self.account_id.clone()
    }
}

impl TryFrom<UserAccountRow> for UserAccount {
    type Error = StoreError;
    fn try_from(row: UserAccountRow) -> Result<Self> {
        let user = User::try_from(row.user)?;
        let account = AccountRow {
            id: row.account_id,
            user_id: user.id.to_string(),
            application_id: row.application_id,
            name: row.account_name,
            roles: row.roles,
            short_code: row.short_code,
            state: row.account_state,
            version: row.account_version,
            created_at: row.account_created_at,
        };
        Ok(Self {
            user,
            account: account.try_into()?,
        })
    }
}

impl TryFrom<AccountRow> for Account {
    type Error = StoreError;
    fn try_from(row: AccountRow) -> Result<Self> {
        Ok(Self {
            id: parse(&row.id, cell("accounts", "id", &row.id))?,
            user_id: parse(&row.user_id, cell("accounts", "user_id", &row.id))?,
            application_id: parse(
                &row.application_id,
                cell("accounts", "application_id", &row.id),
            )?,
            name: row.name,
            roles: from_json(&row.roles, cell("accounts", "roles", &row.id))?,
            short_code: row.short_code,
            state: lifecycle_state(&row.state, cell("accounts", "state", &row.id))?,
            version: row.version,
            created_at: moment(row.created_at),
        })
    }
}
