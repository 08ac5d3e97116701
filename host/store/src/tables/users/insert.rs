//! Inserts of users.

use std::sync::LazyLock;

use crate::engine::sql;
use crate::engine::sql::Connection;

use crate::engine::batch::bulk_sql::{BulkSql, MOST};
use crate::engine::rows::to_json;
use crate::tables::users::counts;
use crate::tables::users::search_index;
use crate::{Result, StoreError};
use assent_model::id::UserId;
use assent_model::name::LoginName;
use assent_model::search::sort_key;
use assent_model::user::{ConsoleRole, LifecycleState, User};

pub(super) const LOGIN: &str = "the name or email address";

/// Fails if fewer rows were written than given, because a value is taken already.
pub(crate) fn ensure_all_written(rows: usize, written: u64, what: &'static str) -> Result<()> {
    if written == rows as u64 {
        Ok(())
    } else {
        Err(StoreError::Taken(what))
    }
}

static INSERT: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "INSERT INTO users (id, did, subject, name, search_key, email, email_confirmed, profile, console_role, state,
           was_active, version, created_at, updated_at)
         VALUES {($, $, $, $, $, $, $, $, $, $, $, $, $, $)} ON CONFLICT DO NOTHING",
        0,
    )
});
static INSERT_LOGIN_NAMES: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "INSERT INTO login_names (name, user_id) VALUES {($, $)} ON CONFLICT (name) DO NOTHING",
        0,
    )
});

/// Adds the sign-in names of users who have none: the user name and the email address. Neither may be a sign-in name of
/// another user.
pub(super) async fn add_login_names(db: &mut Connection, users: &[User]) -> Result<()> {
    let names = |user: &'_ User| {
        let email = user.email.iter().filter(|email| **email != user.name);
        std::iter::once(&user.name)
            .chain(email)
            .cloned()
            .map(|name| (name, user.id))
            .collect::<Vec<_>>()
    };
    let names: Vec<(LoginName, UserId)> = users.iter().flat_map(names).collect();
    for rows in names.chunks(MOST) {
        let mut query = sql::query(INSERT_LOGIN_NAMES.sql_for(rows.len()));
        for (name, user) in INSERT_LOGIN_NAMES.padded(rows) {
            query = query.bind(name.to_string()).bind(user.to_string());
        }
        ensure_all_written(rows.len(), query.execute(&mut *db).await?, LOGIN)?;
    }
    Ok(())
}

/// Adds a user.
pub(crate) async fn insert(db: &mut Connection, user: &User) -> Result<()> {
    insert_all(db, std::slice::from_ref(user)).await
}

pub(super) async fn insert_all(db: &mut Connection, users: &[User]) -> Result<()> {
    for rows in users.chunks(MOST) {
        let mut query = sql::query(INSERT.sql_for(rows.len()));
        for user in INSERT.padded(rows) {
            query = query
                .bind(user.id.to_string())
                .bind(user.did.to_string())
                .bind(&user.subject)
                .bind(user.name.to_string())
                .bind(sort_key(user))
                .bind(user.email.as_ref().map(ToString::to_string))
                .bind(user.email_confirmed)
                .bind(to_json(&user.profile)?)
                .bind(user.console_role.map(ConsoleRole::as_str))
                .bind(user.state.as_str())
                .bind(user.was_active || user.state == LifecycleState::Active)
                .bind(user.version)
                .bind(user.created_at.millis())
                .bind(user.updated_at.millis());
        }
        ensure_all_written(
            rows.len(),
            query.execute(&mut *db).await?,
            "the user's identifier",
        )?;
    }
    let in_state = |state| users.iter().filter(|user| user.state == state).count();
    let counts = LifecycleState::ALL
        .map(|state| (state, i64::try_from(in_state(state)).unwrap_or(i64::MAX)));
    counts::record_changes(
        db,
        &counts
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .collect::<Vec<_>>(),
    )
    .await?;
    add_login_names(db, users).await?;
    search_index::add_users(db, users).await
}
