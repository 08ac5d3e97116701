//! An account with its user, as stored.

use std::sync::Arc;

use crate::engine::batch::loader::Row;
use crate::engine::rows::{cell, from_json, lifecycle_state, moment, parse};
use crate::engine::sql::statement;
use crate::tables::groups::access::AssignedAccessRow;
use crate::tables::tokens::HolderVersion;
use crate::tables::users::row::UserRow;
use crate::{Result, StoreError};
use assent_model::account::Account;
use assent_model::group::AssignedAccess;
use assent_model::user::User;

crate::engine::sql::row! {
    pub(crate) struct AccountRow of accounts {
        pub(crate) id: String,
        user_id: String,
        application_id: String,
        name: String,
        roles: String,
        short_code: String,
        state: String,
        individual: bool,
        assigned: AssignedAccessRow,
        version: i64,
        created_at: i64,
    }
}

/// Accounts with their users; a condition follows.
pub(crate) const ACCOUNTS_WITH_USERS: &str = statement!(
    "SELECT accounts.id AS account_id, accounts.application_id, accounts.name AS account_name, accounts.roles,
    accounts.short_code, accounts.state AS account_state, accounts.individual, accounts.version AS account_version,
    accounts.created_at AS account_created_at, accounts.updated_at AS account_updated_at,
    applications.version AS application_version,
    applications.updated_at AS application_updated_at, ",
    AssignedAccessRow::OF_ACCOUNT,
    ", ",
    UserRow::COLUMNS,
    " FROM accounts JOIN users ON users.id = accounts.user_id
     JOIN applications ON applications.id = accounts.application_id "
);

pub(crate) const BY_ACCOUNT_ID: &str =
    statement!(ACCOUNTS_WITH_USERS, "WHERE accounts.id IN ({$})");

/// The accounts of users in applications, and the users' access by assignments. Without an account, `id` is empty.
pub(crate) const ACCESS: &str = statement!(
    "SELECT COALESCE(accounts.id, '') AS id, v.column1 AS user_id, applications.id AS application_id,
    COALESCE(accounts.name, '') AS name, COALESCE(accounts.roles, '[]') AS roles,
    COALESCE(accounts.short_code, '') AS short_code, COALESCE(accounts.state, '') AS state,
    COALESCE(accounts.individual, 0) AS individual, COALESCE(accounts.version, 0) AS version,
    COALESCE(accounts.created_at, 0) AS created_at, ",
    AssignedAccessRow::OF_ASKED_USER,
    " FROM (VALUES {($, $)}) AS v
     JOIN applications ON applications.id = v.column2
     LEFT JOIN accounts ON accounts.application_id = applications.id AND accounts.user_id = v.column1"
);

/// A user's account in an application, if there is one, and the user's access by assignments.
#[derive(Clone, Debug, Default)]
pub struct AccountAccess {
    /// The account.
    pub account: Option<Account>,
    /// The access by assignments.
    pub assigned: AssignedAccess,
}

impl Row for AccountRow {
    /// The user and the application.
    type Key = (String, String);
    type Value = AccountAccess;
    fn key(&self) -> Self::Key {
        (self.user_id.clone(), self.application_id.clone())
    }
}

impl TryFrom<AccountRow> for AccountAccess {
    type Error = StoreError;
    fn try_from(row: AccountRow) -> Result<Self> {
        let (account, assigned) = row.into_access()?;
        Ok(Self { account, assigned })
    }
}

/// An account with its user.
#[derive(Clone, Debug)]
pub struct UserAccount {
    /// The user.
    pub user: Arc<User>,
    /// The account.
    pub account: Account,
}

crate::engine::sql::row! {
    pub(crate) struct UserAccountRow {
        pub(crate) account_id: String,
        pub(crate) application_id: String,
        account_name: String,
        roles: String,
        short_code: String,
        account_state: String,
        individual: bool,
        assigned: AssignedAccessRow,
        account_version: i64,
        account_created_at: i64,
        account_updated_at: i64,
        application_version: i64,
        application_updated_at: i64,
        user: UserRow,
    }
}

/// An account with its user, and the versions on which it depends.
#[derive(Clone, Debug)]
pub(crate) struct HeldAccount {
    pub(crate) user_account: UserAccount,
    pub(crate) versions: HolderVersion,
}

impl Row for UserAccountRow {
    type Key = String;
    type Value = HeldAccount;
    fn key(&self) -> String {
        self.account_id.clone()
    }
}

impl UserAccountRow {
    fn into_parts(self) -> Result<(User, AccountRow)> {
        let user = User::try_from(self.user)?;
        let account = AccountRow {
            id: self.account_id,
            user_id: user.id.to_string(),
            application_id: self.application_id,
            name: self.account_name,
            roles: self.roles,
            short_code: self.short_code,
            state: self.account_state,
            individual: self.individual,
            assigned: self.assigned,
            version: self.account_version,
            created_at: self.account_created_at,
        };
        Ok((user, account))
    }

    /// Returns the user, the account if its id is not empty, and the user's access by assignments.
    pub(crate) fn into_access(self) -> Result<(User, Option<Account>, AssignedAccess)> {
        let (user, account) = self.into_parts()?;
        let (account, assigned) = account.into_access()?;
        Ok((user, account, assigned))
    }
}

impl TryFrom<UserAccountRow> for HeldAccount {
    type Error = StoreError;
    fn try_from(row: UserAccountRow) -> Result<Self> {
        let versions = [
            (row.account_version, row.account_updated_at),
            (row.user.version, row.user.updated_at),
            (row.application_version, row.application_updated_at),
        ];
        let (user, account) = row.into_parts()?;
        Ok(Self {
            user_account: UserAccount {
                user: Arc::new(user),
                account: account.try_into()?,
            },
            versions,
        })
    }
}

impl AccountRow {
    /// Returns the account, if its id is not empty as without one, and the user's access by assignments.
    pub(crate) fn into_access(self) -> Result<(Option<Account>, AssignedAccess)> {
        if self.id.is_empty() {
            return Ok((None, self.assigned.try_into()?));
        }
        let account = Account::try_from(self)?;
        let assigned = account.assigned.clone();
        Ok((Some(account), assigned))
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
            individual: row.individual,
            assigned: row.assigned.try_into()?,
            version: row.version,
            created_at: moment(row.created_at),
        })
    }
}
