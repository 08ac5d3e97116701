//! Migrations of a PostgreSQL database that others use: each in a transaction of its own, which waits for locks only
//! briefly; indexes concurrently; backfills in slices.

use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::migrations::applied::{self, Pending};
use crate::migrations::error::MigrationError;
use crate::migrations::indexes;
use crate::migrations::migration::{Backfill, Migration, MigrationKind};
use crate::migrations::older_instances::{self, OlderInstance};
use crate::migrations::outcome::{MigrationOutcome, Postponed};
use crate::sql::{Connection, DatabaseKind};

/// A statement that waits for a lock on a table holds up all that come after it, so it gives up after a second.
const BEGIN: &str = "BEGIN; SET LOCAL lock_timeout = '1s'";
/// How often a transaction is tried that does not get its locks, and the time between.
const ATTEMPTS: u32 = 60;
const PAUSE: Duration = Duration::from_millis(500);
/// How many rows a slice of a backfill writes.
const SLICE: i64 = 500;
/// The first heartbeat of an instance waits for the end of the transaction, and then finds the schema contracted.
const HOLD_INSTANCES: &str = "LOCK TABLE instances IN SHARE MODE";

/// Applies what is pending, in its order. A contracting migration that must wait holds up no expanding one.
pub(crate) async fn apply(
    connection: &mut Connection,
    pending: Vec<Pending>,
) -> Result<MigrationOutcome, MigrationError> {
    let mut outcome = MigrationOutcome::default();
    for pending in pending {
        let migration = pending.migration;
        let older = match pending.backfill_after {
            Some(after) => {
                backfill(connection, migration, after).await?;
                Vec::new()
            }
            None => apply_one(connection, migration).await?,
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
            self.postponed.push(Postponed {
                migration,
                instances: older,
            });
        }
    }
}

/// Returns the instances for which it must wait, if there are any. Then nothing was done.
async fn apply_one(
    connection: &mut Connection,
    migration: Migration,
) -> Result<Vec<OlderInstance>, MigrationError> {
    let indexes =
        migration
            .concurrent_indexes()
            .map_err(|statement| MigrationError::MixedStatements {
                migration,
                statement,
            })?;
    let older = older_instances_for(connection, &migration).await?;
    if !older.is_empty() {
        return Ok(older);
    }
    for index in &indexes {
        indexes::build(connection, index)
            .await
            .map_err(|source| MigrationError::Failed { migration, source })?;
    }
    let older = if indexes.is_empty() {
        in_transaction(connection, migration, move |connection| {
            Box::pin(execute(connection, migration))
        })
        .await?
    } else {
        applied::record(connection, &migration, first_position(&migration)).await?;
        Vec::new()
    };
    if older.is_empty() && migration.backfill.is_some() {
        backfill(connection, migration, String::new()).await?;
    }
    Ok(older)
}

async fn execute(
    connection: &mut Connection,
    migration: Migration,
) -> Result<Vec<OlderInstance>, MigrationError> {
    if migration.kind == MigrationKind::Contract {
        connection.batch(HOLD_INSTANCES).await?;
        let older = older_instances_for(connection, &migration).await?;
        if !older.is_empty() {
            return Ok(older);
        }
    }
    connection
        .batch(&migration.transactional_text(DatabaseKind::Postgres))
        .await
        .map_err(|source| MigrationError::Failed { migration, source })?;
    applied::record(connection, &migration, first_position(&migration)).await?;
    Ok(Vec::new())
}

async fn older_instances_for(
    connection: &mut Connection,
    migration: &Migration,
) -> Result<Vec<OlderInstance>, MigrationError> {
    if migration.kind == MigrationKind::Expand {
        return Ok(Vec::new());
    }
    let version = migration.version;
    Ok(older_instances::find(DatabaseKind::Postgres, connection, version).await?)
}

/// Where the backfill begins, if there is one.
fn first_position(migration: &Migration) -> Option<String> {
    migration.backfill.map(|_| String::new())
}

async fn backfill(
    connection: &mut Connection,
    migration: Migration,
    mut after: String,
) -> Result<(), MigrationError> {
    // A release that does not name the backfill any more considers it complete.
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
                applied::record_progress(connection, &migration, next.clone()).await?;
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

/// Does the work in a transaction, again and again while others hold the locks that it needs.
async fn in_transaction<T>(
    connection: &mut Connection,
    migration: Migration,
    work: impl for<'c> Fn(&'c mut Connection) -> BoxFuture<'c, Result<T, MigrationError>> + Send,
) -> Result<T, MigrationError> {
    for _ in 0..ATTEMPTS {
        connection.batch(BEGIN).await?;
        let done = work(&mut *connection).await;
        let done = match done {
            Ok(done) => connection
                .batch("COMMIT")
                .await
                .map(|()| done)
                .map_err(MigrationError::from),
            Err(error) => {
                // If this fails, the connection is of no use, and the first error says why.
                let _ = connection.batch("ROLLBACK").await;
                Err(error)
            }
        };
        match done {
            Err(error) if error.is_lock_conflict() => {
                tracing::info!(%migration, %error, "migration waits for a lock");
                tokio::time::sleep(PAUSE).await;
            }
            done => return done,
        }
    }
    Err(MigrationError::Locked {
        migration,
        attempts: ATTEMPTS,
    })
}
