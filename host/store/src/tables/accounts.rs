//! Accounts: the memberships of users in applications.

mod lookup;
pub(crate) mod user_account;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::tables::groups::lost_access;

use crate::engine::batch::bulk_sql::{BulkSql, MOST};
use crate::engine::rows::to_json;
use crate::tables::actors::{actor_json, actor_of};
use crate::tables::users::deprovisioning;
use crate::tables::users::insert::ensure_all_written;
use crate::tables::users::row::UserRow;
use crate::tables::users::search_index;
use crate::{Result, Store, StoreError, Transition, UserGuard, VersionedWrite, audit, taken};
use assent_model::account::Account;
use assent_model::audit::{Actor, Entry};
use assent_model::clock::Timestamp;
use assent_model::id::{Did, UserId};
use assent_model::name::is_same_name;
use assent_model::user::{LifecycleState, User};

use user_account::AccountRow;
use user_account::UserAccount;

/// One account of a batch of writes.
#[derive(Clone, Debug)]
pub struct AccountWrite {
    /// The account to store.
    pub account: Account,
    /// The user of the account.
    pub guard: UserGuard,
    /// The state of the stored account; `None` if the account is new.
    pub before: Option<LifecycleState>,
    /// The entries for the audit log.
    pub entries: Vec<Entry>,
}

static HOLD: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        sql::statement!(
            "UPDATE users SET version = version WHERE id IN ({$}) RETURNING ",
            UserRow::COLUMNS
        ),
        0,
    )
});
static INSERT: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "INSERT INTO accounts (id, user_id, application_id, name, roles, short_code, state, individual, version,
                               created_at, updated_at, granted_by)
         VALUES {($, $, $, $, $, $, $, $, $, $, $, $)} ON CONFLICT DO NOTHING",
        0,
    )
});

/// Returns the accounts with their users. It locks the users until the transaction ends, because the search index of
/// the accounts contains the users' names. Fails if a user's version does not match its guard.
async fn lock_users_of(
    db: &mut Connection,
    accounts: &[Account],
    guards: &[UserGuard],
) -> Result<Vec<UserAccount>> {
    let mut ids: Vec<UserId> = accounts.iter().map(|account| account.user_id).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut users: HashMap<UserId, Arc<User>> = HashMap::with_capacity(ids.len());
    for ids in ids.chunks(MOST) {
        let mut query = sql::query_as::<UserRow>(HOLD.sql_for(ids.len()));
        for id in HOLD.padded(ids) {
            query = query.bind(id.to_string());
        }
        for row in query.fetch_all(&mut *db).await? {
            let user = User::try_from(row)?;
            users.insert(user.id, Arc::new(user));
        }
    }
    let user_account = |(account, guard): (&Account, &UserGuard)| {
        let user = users
            .get(&account.user_id)
            .cloned()
            .ok_or(StoreError::Overtaken("the user was deleted meanwhile"))?;
        guard.check(&user)?;
        Ok(UserAccount {
            user,
            account: account.clone(),
        })
    };
    accounts.iter().zip(guards).map(user_account).collect()
}

/// Adds an account. `by` gave the access, unless only assignments give it.
pub(crate) async fn insert(
    db: &mut Connection,
    account: &Account,
    guard: UserGuard,
    by: Option<&Actor>,
) -> Result<()> {
    insert_all(db, std::slice::from_ref(account), &[guard], &[by.cloned()]).await
}

async fn insert_all(
    db: &mut Connection,
    accounts: &[Account],
    guards: &[UserGuard],
    by: &[Option<Actor>],
) -> Result<()> {
    let user_accounts = lock_users_of(db, accounts, guards).await?;
    for (rows, by) in accounts.chunks(MOST).zip(by.chunks(MOST)) {
        let mut query = sql::query(INSERT.sql_for(rows.len()));
        for (account, by) in INSERT.padded(rows).zip(INSERT.padded(by)) {
            let granted_by = by.as_ref().filter(|_| account.individual);
            query = query
                .bind(account.id.to_string())
                .bind(account.user_id.to_string())
                .bind(account.application_id.to_string())
                .bind(&account.name)
                .bind(to_json(&account.roles)?)
                .bind(&account.short_code)
                .bind(account.state.as_str())
                .bind(account.individual)
                .bind(account.version)
                .bind(account.created_at.millis())
                .bind(account.created_at.millis())
                .bind(actor_json(granted_by)?);
        }
        let inserted = query.execute(&mut *db).await?;
        ensure_all_written(
            rows.len(),
            inserted,
            "the user already has an account in this application, or the account's name",
        )?;
    }
    search_index::add_accounts(db, &user_accounts).await
}

/// Replaces an account. If the state differs from `before`, everything that began with the account ends. If the account
/// itself gives access from now on, `by` gave it.
pub(crate) async fn update(
    db: &mut Connection,
    account: &Account,
    guard: UserGuard,
    before: LifecycleState,
    by: Option<&Actor>,
    now: Timestamp,
) -> Result<VersionedWrite> {
    let user_accounts = lock_users_of(db, std::slice::from_ref(account), &[guard]).await?;
    let result = sql::query(
        "UPDATE accounts SET name = $2, roles = $3, state = $4, individual = $6, version = version + 1,
                             updated_at = $7,
                             granted_by = CASE WHEN CAST($6 AS BIGINT) = 0 THEN NULL
                                               WHEN individual = 0 THEN CAST($8 AS TEXT) ELSE granted_by END,
                             granted_at = CASE WHEN CAST($6 AS BIGINT) = 0 THEN NULL
                                               WHEN individual = 0 THEN CAST($7 AS BIGINT) ELSE granted_at END
         WHERE id = $1 AND version = $5",
    )
    .bind(account.id.to_string())
    .bind(&account.name)
    .bind(to_json(&account.roles)?)
    .bind(account.state.as_str())
    .bind(account.version)
    .bind(account.individual)
    .bind(now.millis())
    .bind(actor_json(by)?)
    .execute(&mut *db)
    .await
    .map_err(taken("the account's name"))?;
    if result == 0 {
        return Ok(VersionedWrite::Stale);
    }
    for user_account in &user_accounts {
        search_index::replace_account(db, user_account).await?;
    }
    let (user, application) = (
        account.user_id.to_string(),
        account.application_id.to_string(),
    );
    if account.state != before {
        deprovisioning::deprovision_account(db, user, application, account.state, now).await?;
    } else if !account.individual {
        lost_access::end_lost_access(db, &application, &[user], now).await?;
    }
    Ok(VersionedWrite::Done)
}

/// Gives a user's accounts the new name of the user, if theirs is an unconfirmed address that the user no longer has.
/// Otherwise an application could still take the user for its owner. Returns the applications.
pub(crate) async fn replace_unconfirmed_names(
    db: &mut Connection,
    was: &User,
    user: &User,
) -> Result<Vec<Did>> {
    let former: Vec<&str> = was
        .unconfirmed_addresses()
        .filter(|address| {
            let kept = [Some(&user.name), user.email.as_ref()];
            !kept
                .into_iter()
                .flatten()
                .any(|kept| kept.as_str() == *address)
        })
        .collect();
    if former.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<AccountRow> = sql::query_as(sql::statement!(
        "SELECT ",
        AccountRow::COLUMNS,
        " FROM accounts WHERE user_id = $1 ORDER BY id"
    ))
    .bind(user.id.to_string())
    .fetch_all(&mut *db)
    .await?;
    let mut renamed = Vec::new();
    for row in rows {
        let mut account = Account::try_from(row)?;
        if !former
            .iter()
            .any(|address| is_same_name(&account.name, address))
        {
            continue;
        }
        account.name = user.name.to_string();
        sql::query(
            "UPDATE accounts SET name = $2, version = version + 1, updated_at = $3 WHERE id = $1",
        )
        .bind(account.id.to_string())
        .bind(&account.name)
        .bind(user.updated_at.millis())
        .execute(&mut *db)
        .await
        .map_err(taken("the account's name"))?;
        renamed.push(account.application_id.clone());
        let user = Arc::new(user.clone());
        search_index::replace_account(db, &UserAccount { user, account }).await?;
    }
    Ok(renamed)
}

pub(crate) async fn delete(
    db: &mut Connection,
    account: &Account,
    now: Timestamp,
) -> Result<VersionedWrite> {
    let deleted = sql::query("DELETE FROM accounts WHERE id = $1 AND version = $2")
        .bind(account.id.to_string())
        .bind(account.version)
        .execute(&mut *db)
        .await?;
    if deleted == 0 {
        return Ok(VersionedWrite::Stale);
    }
    let (user, application) = (
        account.user_id.to_string(),
        account.application_id.to_string(),
    );
    let state = LifecycleState::Terminated;
    deprovisioning::deprovision_account(db, user, application, state, now).await?;
    Ok(VersionedWrite::Done)
}

/// Records that a user signed in to an application: an invited account becomes active. `entry` names the user and the
/// application, and is logged if the account was invited.
pub(crate) async fn activate_account(db: &mut Connection, entry: &Entry) -> Result<()> {
    let activated: Option<(String,)> = sql::query_as(
        "UPDATE accounts SET state = 'active', version = version + 1, updated_at = $3
         WHERE user_id = $1 AND application_id = $2 AND state = 'invited' RETURNING id",
    )
    .bind(entry.user.map(|user| user.to_string()))
    .bind(entry.application.as_ref().map(ToString::to_string))
    .bind(entry.at.millis())
    .fetch_optional(&mut *db)
    .await?;
    if let Some((id,)) = activated {
        search_index::set_account_state(db, &id, LifecycleState::Active).await?;
        audit::append(db, std::slice::from_ref(entry)).await?;
    }
    Ok(())
}

impl Store {
    /// Adds the account that an assignment implies, at the user's first sign-in. Nothing is added, and
    /// [`Transition::NotOpen`] returned, if the user has an account there, or another account has the name.
    pub async fn insert_implied_account(
        &self,
        account: Account,
        entry: Entry,
    ) -> Result<Transition> {
        self.write((account, entry), |db, (account, entry)| {
            Box::pin(async move {
                let guard = UserGuard::from(account.user_id);
                match insert(db, account, guard, None).await {
                    Ok(()) => {
                        audit::append(db, std::slice::from_ref(entry)).await?;
                        Ok(Transition::Done)
                    }
                    Err(StoreError::Taken(_)) => Ok(Transition::NotOpen),
                    Err(error) => Err(error),
                }
            })
        })
        .await
    }

    /// Adds and replaces accounts, all of them or none.
    ///
    /// # Errors
    /// [`StoreError::Overtaken`] if an account was changed since it was read; [`StoreError::Stale`] if its user was;
    /// [`StoreError::Taken`] if an account exists already.
    pub async fn save_accounts(&self, writes: Vec<AccountWrite>, now: Timestamp) -> Result<()> {
        self.write(writes, move |db, writes| {
            Box::pin(async move {
                for AccountWrite {
                    account,
                    guard,
                    before,
                    entries,
                } in writes
                {
                    if let Some(before) = before
                        && update(db, account, *guard, *before, actor_of(entries), now).await?
                            == VersionedWrite::Stale
                    {
                        return Err(StoreError::Overtaken("the account was changed meanwhile"));
                    }
                }
                let new = writes.iter().filter(|write| write.before.is_none());
                let (mut accounts, mut guards, mut by) = (Vec::new(), Vec::new(), Vec::new());
                for write in new {
                    accounts.push(write.account.clone());
                    guards.push(write.guard);
                    by.push(actor_of(&write.entries).cloned());
                }
                insert_all(db, &accounts, &guards, &by).await?;
                for write in writes {
                    audit::append(db, &write.entries).await?;
                }
                Ok(())
            })
        })
        .await
    }
}
