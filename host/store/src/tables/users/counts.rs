//! The number of users in each state, as the sum of the recorded changes.

use std::collections::BTreeMap;

use crate::engine::sql;
use crate::engine::sql::Connection;

use crate::engine::rows::{cell, lifecycle_state};
use crate::{Result, Store};
use assent_model::user::LifecycleState;

/// The number of recorded changes from which they are summed up.
const MANY: i64 = 1000;

/// Records the changes of the numbers of users in these states.
pub(crate) async fn record_changes(
    db: &mut Connection,
    changes: &[(LifecycleState, i64)],
) -> Result<()> {
    for (state, change) in changes {
        sql::query("INSERT INTO user_counts (state, change) VALUES ($1, $2)")
            .bind(state.as_str())
            .bind(*change)
            .execute(&mut *db)
            .await?;
    }
    Ok(())
}

/// Records that a user's state changed.
pub(crate) async fn record_change(
    db: &mut Connection,
    was: LifecycleState,
    is: LifecycleState,
) -> Result<()> {
    if was == is {
        Ok(())
    } else {
        record_changes(db, &[(was, -1), (is, 1)]).await
    }
}

impl Store {
    /// The number of users in each state.
    pub async fn users_by_state(&self) -> Result<Vec<(LifecycleState, u64)>> {
        let rows: Vec<(String, i64)> = sql::query_as(
            "SELECT state, CAST(SUM(change) AS BIGINT) FROM user_counts GROUP BY state",
        )
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .map(|(state, count)| {
                Ok((
                    lifecycle_state(&state, cell("user_counts", "state", &state))?,
                    u64::try_from(count).unwrap_or(0),
                ))
            })
            .collect()
    }

    /// Replaces the recorded changes by one row for each state, if there are many.
    pub(crate) async fn sum_up_counts(&self) -> Result<()> {
        self.write((), |db, ()| {
            Box::pin(async move {
                let many: Option<(i64,)> =
                    sql::query_as("SELECT change FROM user_counts LIMIT 1 OFFSET $1")
                        .bind(MANY)
                        .fetch_optional(&mut *db)
                        .await?;
                if many.is_none() {
                    return Ok(());
                }
                // Each deleted row enters exactly one sum, even if several instances do the same concurrently.
                let rows: Vec<(String, i64)> =
                    sql::query_as("DELETE FROM user_counts RETURNING state, change")
                        .fetch_all(&mut *db)
                        .await?;
                let mut sums: BTreeMap<String, i64> = BTreeMap::new();
                for (state, change) in rows {
                    *sums.entry(state).or_default() += change;
                }
                for (state, sum) in sums {
                    record_changes(
                        db,
                        &[(
                            lifecycle_state(&state, cell("user_counts", "state", &state))?,
                            sum,
                        )],
                    )
                    .await?;
                }
                Ok(())
            })
        })
        .await
    }
}
