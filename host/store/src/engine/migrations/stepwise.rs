//! Migrations of a PostgreSQL database in use. Each migration has a transaction of its own, which waits for locks only
//! briefly. Indexes are built concurrently, and backfills are done in slices.

use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::Instant;

use crate::engine::migrations::applied;
use crate::engine::migrations::applied::Pending;
use crate::engine::migrations::error::MigrationError;
use crate::engine::migrations::indexes;
use crate::engine::migrations::migration::{
    Backfill, Migration, MigrationKind, MigrationOutcome, PostponedMigration,
};
use crate::engine::migrations::older_instances;
use crate::engine::migrations::older_instances::OlderInstance;
use crate::engine::sql::{Connection, DatabaseKind};

/// A statement that waits for a lock on a table blocks all later ones, so it gives up soon.
const BEGIN: &str = "BEGIN; SET LOCAL lock_timeout = '300ms'";
/// How long a transaction is retried that does not get its locks. It is longer than a backup or a report takes.
const PATIENCE: Duration = Duration::from_secs(15 * 60);
/// The pauses after the first attempt and after later ones. Other transactions work meanwhile.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// The number of rows that a slice of a backfill writes.
const SLICE: i64 = 500;
/// Heartbeats wait for the end of the transaction, which takes two statements, and then detect that the schema is
/// contracted.
const HOLD_INSTANCES: &str = "LOCK TABLE instances IN SHARE MODE";

/// Applies the pending migrations, in their order. A postponed contracting migration does not block an expanding one.
pub(crate) async fn apply(
    connection: &mut Connection,
    pending: Vec<Pending>,
) -> Result<MigrationOutcome, MigrationError> {
    let mut outcome = MigrationOutcome::default();
    for pending in pending {
        let migration = pending.migration;
        let older = match migration.kind {
            MigrationKind::Expand => {
                expand(connection, migration, pending.backfill_after).await?;
                Vec::new()
            }
            MigrationKind::Contract => {
                contract(connection, migration, pending.backfill_after).await?
            }
        };
        outcome.add(migration, older);
    }
    Ok(outcome)
}

impl MigrationOutcome {
    fn add(&mut self, migration: Migration, older: Vec<OlderInstance>) {
        if older.is_empty() {
            self.applied.push(migration);
        } else {
            self.postponed.push(PostponedMigration {
                migration,
                instances: older,
            });
        }
    }
}

/// Executes the statements, and then the backfill.
async fn expand(
    connection: &mut Connection,
    migration: Migration,
    after: Option<String>,
) -> Result<(), MigrationError> {
    let after = match after {
        Some(after) => after,
        None => {
            if build_indexes(connection, migration).await? {
                applied::record(connection, &migration, first_position(&migration)).await?;
            } else {
                in_transaction(connection, migration, move |connection| {
                    Box::pin(async move {
                        run_text(&mut *connection, migration).await?;
                        applied::record(connection, &migration, first_position(&migration)).await?;
                        Ok(())
                    })
                })
                .await?;
            }
            String::new()
        }
    };
    match migration.backfill {
        Some(_) => backfill(connection, migration, after, true).await,
        None => Ok(()),
    }
}

/// Claims the migration, which stops earlier releases; then executes the backfill, and then the statements. Returns the
/// instances for which the migration must wait. If there are any, nothing was done.
async fn contract(
    connection: &mut Connection,
    migration: Migration,
    after: Option<String>,
) -> Result<Vec<OlderInstance>, MigrationError> {
    let after = match after {
        Some(after) => after,
        None => {
            let older = in_transaction(connection, migration, move |connection| {
                Box::pin(claim(connection, migration))
            })
            .await?;
            if !older.is_empty() {
                return Ok(older);
            }
            String::new()
        }
    };
    backfill(connection, migration, after, false).await?;
    if build_indexes(connection, migration).await? {
        applied::record_progress(connection, &migration, None).await?;
    } else {
        in_transaction(connection, migration, move |connection| {
            Box::pin(async move {
                run_text(&mut *connection, migration).await?;
                applied::record_progress(connection, &migration, None).await?;
                Ok(())
            })
        })
        .await?;
    }
    Ok(Vec::new())
}

/// Records that the migration has begun, unless older instances run. From then on none of them can start or become
/// ready.
async fn claim(
    connection: &mut Connection,
    migration: Migration,
) -> Result<Vec<OlderInstance>, MigrationError> {
    connection.batch(HOLD_INSTANCES).await?;
    let version = migration.version;
    let older = older_instances::find(DatabaseKind::Postgres, connection, version).await?;
    if older.is_empty() {
        applied::record(connection, &migration, Some(String::new())).await?;
    }
    Ok(older)
}

async fn run_text(connection: &mut Connection, migration: Migration) -> Result<(), MigrationError> {
    connection
        .batch(&migration.transactional_text(DatabaseKind::Postgres))
        .await
        .map_err(|source| MigrationError::Failed { migration, source })
}

/// The start position of the backfill, if there is one.
fn first_position(migration: &Migration) -> Option<String> {
    migration.backfill.map(|_| String::new())
}

/// Builds the indexes that the migration builds concurrently. Returns `false` if it has other statements.
async fn build_indexes(
    connection: &mut Connection,
    migration: Migration,
) -> Result<bool, MigrationError> {
    let indexes =
        migration
            .concurrent_indexes()
            .map_err(|statement| MigrationError::MixedStatements {
                migration,
                statement,
            })?;
    for index in &indexes {
        indexes::build(connection, index)
            .await
            .map_err(|source| MigrationError::Failed { migration, source })?;
    }
    Ok(!indexes.is_empty())
}

/// Executes the backfill in slices. The last slice completes the migration if `is_last` is set.
async fn backfill(
    connection: &mut Connection,
    migration: Migration,
    mut after: String,
    is_last: bool,
) -> Result<(), MigrationError> {
    // A release without this backfill considers it complete.
    let slice: Backfill = migration
        .backfill
        .unwrap_or(|_, _, _| Box::pin(async { Ok(None) }));
    loop {
        let from = after.clone();
        let next = in_transaction(connection, migration, move |connection| {
            let from = from.clone();
            Box::pin(async move {
                let next = slice(connection, from, SLICE)
                    .await
                    .map_err(|source| MigrationError::Failed { migration, source })?;
                if next.is_some() || is_last {
                    applied::record_progress(connection, &migration, next.clone()).await?;
                }
                Ok(next)
            })
        })
        .await?;
        match next {
            None => return Ok(()),
            Some(next) if next == after => return Err(MigrationError::Stuck(migration)),
            Some(next) => after = next,
        }
    }
}

/// Executes the work in a transaction, and repeats it while other transactions hold the locks.
async fn in_transaction<T>(
    connection: &mut Connection,
    migration: Migration,
    work: impl for<'c> Fn(&'c mut Connection) -> BoxFuture<'c, Result<T, MigrationError>> + Send,
) -> Result<T, MigrationError> {
    let (began, mut pauses) = (Instant::now(), pauses());
    loop {
        connection.batch(BEGIN).await?;
        let done = work(&mut *connection).await;
        let done = match done {
            Ok(done) => connection
                .batch("COMMIT")
                .await
                .map(|()| done)
                .map_err(MigrationError::from),
            Err(error) => {
                // If this fails, the connection is unusable, and the first error is the cause.
                let _ = connection.batch("ROLLBACK").await;
                Err(error)
            }
        };
        match done {
            Err(error) if error.is_lock_conflict() => {
                if began.elapsed() > PATIENCE {
                    return Err(MigrationError::Locked {
                        migration,
                        minutes: PATIENCE.as_secs() / 60,
                    });
                }
                tracing::info!(%migration, %error, "migration waits for a lock");
                tokio::time::sleep(pauses.next().unwrap_or(LONGEST_PAUSE)).await;
            }
            done => return done,
        }
    }
}

/// The pauses between attempts, which get longer.
fn pauses() -> impl Iterator<Item = Duration> {
    std::iter::successors(Some(FIRST_PAUSE), |pause| {
        Some((*pause * 3 / 2).min(LONGEST_PAUSE))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// While an attempt waits for a lock, other statements wait behind it.
    #[test]
    fn pauses_between_attempts_leave_the_table_to_other_statements() {
        let pauses: Vec<Duration> = pauses().take(20).collect();
        assert!(pauses.is_sorted());
        assert_eq!(pauses[0], FIRST_PAUSE);
        assert_eq!(pauses[19], LONGEST_PAUSE);
        let paused: Duration = pauses.iter().sum();
        assert!(paused > Duration::from_millis(300) * 20 * 10);
    }
}
