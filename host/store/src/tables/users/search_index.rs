//! The search index of users and accounts. A term is stored together with the columns of the filters. So each search
//! reads one range of an index, no matter how many users there are.

use std::sync::{Arc, LazyLock};

use crate::engine::sql;
use crate::engine::sql::Connection;

use crate::Result;
use crate::engine::batch::bulk_sql::{BulkSql, MOST};
use crate::tables::accounts::user_account::{AccountRow, UserAccount};
use assent_model::account::Account;
use assent_model::id::UserId;
use assent_model::search;
use assent_model::user::{ConsoleRole, LifecycleState, User};

static OF_USER: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "INSERT INTO user_search (state, term, user_id, console_role) VALUES {($, $, $, $)} ON CONFLICT DO NOTHING",
        0,
    )
});
static OF_ACCOUNT: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "INSERT INTO account_search (application_id, state, term, account_id) VALUES {($, $, $, $)} ON CONFLICT DO \
         NOTHING",
        0,
    )
});

/// Adds the search terms of users who have none.
pub(crate) async fn add_users(db: &mut Connection, users: &[User]) -> Result<()> {
    let of = |user| {
        search::of_user(user)
            .into_iter()
            .map(move |term| (user, term))
    };
    let terms: Vec<(&User, String)> = users.iter().flat_map(of).collect();
    for rows in terms.chunks(MOST) {
        let mut query = sql::query(OF_USER.sql_for(rows.len()));
        for (user, term) in OF_USER.padded(rows) {
            query = query
                .bind(user.state.as_str())
                .bind(term.as_bytes().to_vec())
                .bind(user.id.to_string())
                .bind(user.console_role.map(ConsoleRole::as_str));
        }
        query.execute(&mut *db).await?;
    }
    Ok(())
}

/// Adds the search terms of accounts that have none.
pub(crate) async fn add_accounts(db: &mut Connection, user_accounts: &[UserAccount]) -> Result<()> {
    let of = |user_account: &'_ UserAccount| {
        search::of_account(&user_account.account, &user_account.user)
    };
    let terms: Vec<(&Account, String)> = user_accounts
        .iter()
        .flat_map(|user_account| {
            of(user_account)
                .into_iter()
                .map(|term| (&user_account.account, term))
        })
        .collect();
    for rows in terms.chunks(MOST) {
        let mut query = sql::query(OF_ACCOUNT.sql_for(rows.len()));
        for (account, term) in OF_ACCOUNT.padded(rows) {
            query = query
                .bind(account.application_id.to_string())
                .bind(account.state.as_str())
                .bind(term.as_bytes().to_vec())
                .bind(account.id.to_string());
        }
        query.execute(&mut *db).await?;
    }
    Ok(())
}

/// Replaces the search terms of a user, and, if they have changed, those of the user's accounts.
pub(crate) async fn replace_user(db: &mut Connection, was: &User, is: &User) -> Result<()> {
    sql::query("DELETE FROM user_search WHERE user_id = $1")
        .bind(is.id.to_string())
        .execute(&mut *db)
        .await?;
    add_users(db, std::slice::from_ref(is)).await?;
    if search::of_user(was) == search::of_user(is) {
        return Ok(());
    }
    delete_accounts(db, is.id).await?;
    let rows: Vec<AccountRow> = sql::query_as(sql::statement!(
        "SELECT ",
        AccountRow::COLUMNS,
        " FROM accounts WHERE user_id = $1"
    ))
    .bind(is.id.to_string())
    .fetch_all(&mut *db)
    .await?;
    let user = Arc::new(is.clone());
    let user_account = |row: AccountRow| {
        Ok(UserAccount {
            user: Arc::clone(&user),
            account: row.try_into()?,
        })
    };
    add_accounts(
        db,
        &rows
            .into_iter()
            .map(user_account)
            .collect::<Result<Vec<_>>>()?,
    )
    .await
}

/// Replaces the search terms of an account.
pub(crate) async fn replace_account(db: &mut Connection, user_account: &UserAccount) -> Result<()> {
    sql::query("DELETE FROM account_search WHERE account_id = $1")
        .bind(user_account.account.id.to_string())
        .execute(&mut *db)
        .await?;
    add_accounts(db, std::slice::from_ref(user_account)).await
}

/// Stores the state of an account.
pub(crate) async fn set_account_state(
    db: &mut Connection,
    id: &str,
    state: LifecycleState,
) -> Result<()> {
    sql::query("UPDATE account_search SET state = $2 WHERE account_id = $1")
        .bind(id.to_owned())
        .bind(state.as_str())
        .execute(db)
        .await?;
    Ok(())
}

/// Stores the state of a user.
pub(crate) async fn set_user_state(
    db: &mut Connection,
    id: UserId,
    state: LifecycleState,
) -> Result<()> {
    sql::query("UPDATE user_search SET state = $2 WHERE user_id = $1")
        .bind(id.to_string())
        .bind(state.as_str())
        .execute(db)
        .await?;
    Ok(())
}

/// Deletes the search terms of a user and of the user's accounts.
pub(crate) async fn delete_user(db: &mut Connection, user: UserId) -> Result<()> {
    sql::query("DELETE FROM user_search WHERE user_id = $1")
        .bind(user.to_string())
        .execute(&mut *db)
        .await?;
    delete_accounts(db, user).await
}

async fn delete_accounts(db: &mut Connection, user: UserId) -> Result<()> {
    sql::query("DELETE FROM account_search WHERE account_id IN (SELECT id FROM accounts WHERE user_id = $1)")
        .bind(user.to_string())
        .execute(db)
        .await?;
    Ok(())
}
