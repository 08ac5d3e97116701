//! What users and accounts are found by. A term is kept together with what a search may filter by, so that each search reads one
//! stretch of one index, however many people there are.

use std::sync::LazyLock;

use sqlx::{AnyConnection, AnyPool, Connection, SqlSafeStr};

use super::Result;
use super::accounts::{AccountRow, Person, PersonRow};
use super::statement::{MOST, Statement};
use super::users::UserRow;
use crate::clock::Timestamp;
use crate::id::UserId;
use crate::model::account::Account;
use crate::model::search;
use crate::model::user::{ConsoleRole, LifeState, User};

/// How many rows are read at a time of those that are older than the terms.
const OLD: i64 = 512;

static OF_USER: LazyLock<Statement> = LazyLock::new(|| {
    Statement::new(
        "INSERT INTO user_terms (state, term, user_id, console_role) VALUES {($, $, $, $)} ON CONFLICT DO NOTHING",
        0,
    )
});
static OF_ACCOUNT: LazyLock<Statement> = LazyLock::new(|| {
    Statement::new(
        "INSERT INTO account_terms (application_id, state, term, account_id) VALUES {($, $, $, $)} ON CONFLICT DO NOTHING",
        0,
    )
});

/// Adds what these users are found by, who have no terms.
pub(super) async fn add_users(db: &mut AnyConnection, users: &[User]) -> Result<()> {
    let of = |user| search::of_user(user).into_iter().map(move |term| (user, term));
    let terms: Vec<(&User, String)> = users.iter().flat_map(of).collect();
    for rows in terms.chunks(MOST) {
        let mut query = sqlx::query(OF_USER.of(rows.len()));
        for (user, term) in OF_USER.filled(rows) {
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

/// Adds what these accounts are found by, which have no terms.
pub(super) async fn add_accounts(db: &mut AnyConnection, people: &[Person]) -> Result<()> {
    let of = |person: &'_ Person| search::of_account(&person.account, &person.user);
    let terms: Vec<(&Account, String)> =
        people.iter().flat_map(|person| of(person).into_iter().map(|term| (&person.account, term))).collect();
    for rows in terms.chunks(MOST) {
        let mut query = sqlx::query(OF_ACCOUNT.of(rows.len()));
        for (account, term) in OF_ACCOUNT.filled(rows) {
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

/// Replaces what a user is found by, and, where that is other than it was, what the user's accounts are.
pub(super) async fn replace_user(db: &mut AnyConnection, was: &User, is: &User) -> Result<()> {
    sqlx::query("DELETE FROM user_terms WHERE user_id = $1").bind(is.id.to_string()).execute(&mut *db).await?;
    add_users(db, std::slice::from_ref(is)).await?;
    if search::of_user(was) == search::of_user(is) {
        return Ok(());
    }
    forget_accounts(db, is.id).await?;
    let rows: Vec<AccountRow> =
        sqlx::query_as("SELECT * FROM accounts WHERE user_id = $1").bind(is.id.to_string()).fetch_all(&mut *db).await?;
    let person = |row: AccountRow| Ok(Person { user: is.clone(), account: row.try_into()? });
    add_accounts(db, &rows.into_iter().map(person).collect::<Result<Vec<_>>>()?).await
}

/// Replaces what an account is found by.
pub(super) async fn replace_account(db: &mut AnyConnection, person: &Person) -> Result<()> {
    sqlx::query("DELETE FROM account_terms WHERE account_id = $1")
        .bind(person.account.id.to_string())
        .execute(&mut *db)
        .await?;
    add_accounts(db, std::slice::from_ref(person)).await
}

/// Notes the state of an account.
pub(super) async fn set_account_state(db: &mut AnyConnection, id: &str, state: LifeState) -> Result<()> {
    sqlx::query("UPDATE account_terms SET state = $2 WHERE account_id = $1")
        .bind(id.to_owned())
        .bind(state.as_str())
        .execute(db)
        .await?;
    Ok(())
}

/// Notes the state of a user.
pub(super) async fn set_user_state(db: &mut AnyConnection, id: UserId, state: LifeState) -> Result<()> {
    sqlx::query("UPDATE user_terms SET state = $2 WHERE user_id = $1")
        .bind(id.to_string())
        .bind(state.as_str())
        .execute(db)
        .await?;
    Ok(())
}

/// Lets nobody find a user any more, nor the user's accounts.
pub(super) async fn forget(db: &mut AnyConnection, user: UserId) -> Result<()> {
    sqlx::query("DELETE FROM user_terms WHERE user_id = $1").bind(user.to_string()).execute(&mut *db).await?;
    forget_accounts(db, user).await
}

async fn forget_accounts(db: &mut AnyConnection, user: UserId) -> Result<()> {
    sqlx::query("DELETE FROM account_terms WHERE account_id IN (SELECT id FROM accounts WHERE user_id = $1)")
        .bind(user.to_string())
        .execute(db)
        .await?;
    Ok(())
}

static OLD_ACCOUNTS: &str =
    "SELECT a.id AS account_id, a.application_id, a.name AS account_name, a.roles, a.short_code,
            a.state AS account_state, a.version AS account_version, a.created_at AS account_created_at, u.*
     FROM accounts a JOIN users u ON u.id = a.user_id WHERE a.id > $1 ORDER BY a.id LIMIT $2";

/// Makes the terms of users and accounts that are older than these. In one transaction, so it is done whole or not at all; of
/// several hosts that start at once one does it.
pub(super) async fn begin(pool: &AnyPool, begin: &'static str, now: Timestamp) -> Result<()> {
    let mut connection = pool.acquire().await?;
    let mut transaction = connection.begin_with(begin.into_sql_str()).await?;
    let db = &mut *transaction;
    let begun = sqlx::query(
        "INSERT INTO milestones (name, reached_at) VALUES ('search terms', $1) ON CONFLICT (name) DO NOTHING",
    )
    .bind(now.millis())
    .execute(&mut *db)
    .await?;
    if begun.rows_affected() == 0 {
        return Ok(transaction.commit().await?);
    }
    let mut made = 0;
    let mut last = String::new();
    loop {
        let rows: Vec<UserRow> = sqlx::query_as("SELECT * FROM users WHERE id > $1 ORDER BY id LIMIT $2")
            .bind(last.clone())
            .bind(OLD)
            .fetch_all(&mut *db)
            .await?;
        let Some(row) = rows.last() else { break };
        row.id.clone_into(&mut last);
        made += rows.len();
        // Whatever can't be read is not found, and keeps nobody from starting.
        let users: Vec<User> = rows.into_iter().filter_map(|row| row.try_into().ok()).collect();
        add_users(db, &users).await?;
    }
    last.clear();
    loop {
        let rows: Vec<PersonRow> =
            sqlx::query_as(OLD_ACCOUNTS).bind(last.clone()).bind(OLD).fetch_all(&mut *db).await?;
        let Some(row) = rows.last() else { break };
        row.account_id.clone_into(&mut last);
        made += rows.len();
        let people: Vec<Person> = rows.into_iter().filter_map(|row| row.try_into().ok()).collect();
        add_accounts(db, &people).await?;
    }
    if made > 0 {
        tracing::info!(users_and_accounts = made, "what people are found by was made");
    }
    Ok(transaction.commit().await?)
}
