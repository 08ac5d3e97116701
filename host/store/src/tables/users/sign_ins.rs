//! The times of users' last sign-ins. They have a separate table, because an update of the user's row would wait for
//! its locks.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::engine::batch::bulk_sql::{BulkSql, MOST};
use crate::engine::rows::{cell, moment, parse};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::{Result, Store};
use assent_model::clock::Timestamp;
use assent_model::id::UserId;

static LAST: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "SELECT user_id, signed_in_at FROM last_sign_ins WHERE user_id IN ({$})",
        0,
    )
});

/// Records that a user signed in.
pub(crate) async fn record_sign_in(
    db: &mut Connection,
    user: UserId,
    now: Timestamp,
) -> Result<()> {
    sql::query(
        "INSERT INTO last_sign_ins (user_id, signed_in_at) VALUES ($1, $2)
         ON CONFLICT (user_id) DO UPDATE SET signed_in_at = excluded.signed_in_at",
    )
    .bind(user.to_string())
    .bind(now.millis())
    .execute(db)
    .await?;
    Ok(())
}

impl Store {
    /// When each of these users last signed in with an approval. Users who never did are missing.
    pub async fn last_sign_ins(&self, users: &[UserId]) -> Result<HashMap<UserId, Timestamp>> {
        let mut found = HashMap::with_capacity(users.len());
        for users in users.chunks(MOST) {
            let mut query = sql::query_as::<(String, i64)>(LAST.sql_for(users.len()));
            for id in LAST.padded(users) {
                query = query.bind(id.to_string());
            }
            for (id, at) in query.fetch_all(&self.readers).await? {
                let user = parse(&id, cell("last_sign_ins", "user_id", &id))?;
                found.insert(user, moment(at));
            }
        }
        Ok(found)
    }
}
