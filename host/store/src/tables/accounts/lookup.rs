//! Lookups of accounts.

use crate::engine::sql;
use crate::tables::accounts::user_account::{AccountAccess, AccountRow, UserAccount};
use crate::{Result, Store};
use assent_model::account::Account;
use assent_model::id::{AccountId, Did, UserId};
use assent_model::name::is_same_name;
use assent_model::search::terms_of_name;
use assent_model::user::LifecycleState;

impl Store {
    /// The account with this id.
    pub async fn account(&self, id: AccountId) -> Result<Option<Account>> {
        self.one_account(
            sql::statement!(
                "SELECT ",
                AccountRow::COLUMNS,
                " FROM accounts WHERE id = $1"
            ),
            &[id.to_string()],
        )
        .await
    }

    /// The account with this id, and its user.
    pub async fn account_with_user(&self, account: AccountId) -> Result<Option<UserAccount>> {
        let found = self.lookups.user_accounts.call(account.to_string()).await?;
        Ok(found.map(|found| found.user_account))
    }

    /// A user's account in an application, if there is one, and the access and roles from assignments to groups and to
    /// everyone. It is one lookup, whether the user exists or not.
    pub async fn access_of(&self, user: UserId, application: &Did) -> Result<AccountAccess> {
        let key = (user.to_string(), application.to_string());
        Ok(self.lookups.access.call(key).await?.unwrap_or_default())
    }

    /// A user's account in an application.
    pub async fn account_of(&self, user: UserId, application: &Did) -> Result<Option<Account>> {
        let keys = [user.to_string(), application.to_string()];
        self.one_account(
            sql::statement!(
                "SELECT ",
                AccountRow::COLUMNS,
                " FROM accounts WHERE user_id = $1 AND application_id = $2"
            ),
            &keys,
        )
        .await
    }

    /// Up to `limit` accounts of an application that follow `after`, in the order of their creation. Only those in
    /// `state`, if it is set.
    pub async fn accounts_of(
        &self,
        application: &Did,
        state: Option<LifecycleState>,
        after: Option<AccountId>,
        limit: u32,
    ) -> Result<Vec<Account>> {
        let statement = match state {
            None => {
                sql::statement!(
                    "SELECT ",
                    AccountRow::COLUMNS,
                    " FROM accounts WHERE application_id = $1 AND $2 = '' AND id > $3 ORDER BY id LIMIT $4"
                )
            }
            Some(_) => {
                sql::statement!(
                    "SELECT ",
                    AccountRow::COLUMNS,
                    " FROM accounts WHERE application_id = $1 AND state = $2 AND id > $3 ORDER BY id LIMIT $4"
                )
            }
        };
        sql::query_as::<AccountRow>(statement)
            .bind(application.to_string())
            .bind(state.map(LifecycleState::as_str).unwrap_or_default())
            .bind(after.map(|id| id.to_string()).unwrap_or_default())
            .bind(limit)
            .fetch_values(&self.readers)
            .await
    }

    /// Up to `limit` accounts of a user that follow `after`, in the order of their creation.
    pub async fn accounts_of_user(
        &self,
        user: UserId,
        after: Option<AccountId>,
        limit: u32,
    ) -> Result<Vec<Account>> {
        sql::query_as::<AccountRow>(sql::statement!(
            "SELECT ",
            AccountRow::COLUMNS,
            " FROM accounts WHERE user_id = $1 AND id > $2 ORDER BY id LIMIT $3"
        ))
        .bind(user.to_string())
        .bind(after.map(|id| id.to_string()).unwrap_or_default())
        .bind(limit)
        .fetch_values(&self.readers)
        .await
    }

    /// The accounts of an application with this name, in any spelling. They are found by their search terms.
    pub async fn accounts_called(&self, application: &Did, name: &str) -> Result<Vec<Account>> {
        let terms = terms_of_name(name);
        let (Some(first), Some(last)) = (terms.first(), terms.last()) else {
            return Ok(Vec::new());
        };
        let mut accounts: Vec<Account> = sql::query_as::<AccountRow>(sql::statement!(
            "SELECT ",
            AccountRow::COLUMNS,
            " FROM accounts WHERE id IN
                (SELECT account_id FROM account_search
                 WHERE application_id = $1 AND state IN ('invited', 'active', 'suspended', 'terminated')
                   AND term IN ($2, $3))"
        ))
        .bind(application.to_string())
        .bind(first.as_bytes().to_vec())
        .bind(last.as_bytes().to_vec())
        .fetch_values(&self.readers)
        .await?;
        accounts.retain(|account| is_same_name(&account.name, name));
        Ok(accounts)
    }

    async fn one_account(
        &self,
        statement: &'static str,
        keys: &[String],
    ) -> Result<Option<Account>> {
        let mut query = sql::query_as::<AccountRow>(statement);
        for key in keys {
            query = query.bind(key);
        }
        query.fetch_value(&self.readers).await
    }
}
