//! Migrations in one transaction: on SQLite, and on an empty database.

use crate::engine::migrations::applied;
use crate::engine::migrations::applied::Pending;
use crate::engine::migrations::error::MigrationError;
use crate::engine::migrations::migration::{
    Migration, MigrationKind, MigrationOutcome, PostponedMigration,
};
use crate::engine::migrations::older_instances;
use crate::engine::sql::{Connection, DatabaseKind};

/// The number of rows that a slice of a backfill writes.
const SLICE: i64 = 500;

/// Applies the pending migrations, in their order, within the caller's transaction.
pub(crate) async fn apply(
    kind: DatabaseKind,
    connection: &mut Connection,
    pending: Vec<Pending>,
) -> Result<MigrationOutcome, MigrationError> {
    let mut outcome = MigrationOutcome::default();
    for Pending {
        migration,
        backfill_after,
    } in pending
    {
        if migration.kind == MigrationKind::Contract && backfill_after.is_none() {
            // An empty database has the table `instances` from the first migration.
            let instances = older_instances::find(kind, connection, migration.version).await?;
            if !instances.is_empty() {
                outcome.postponed.push(PostponedMigration {
                    migration,
                    instances,
                });
                continue;
            }
        }
        let (is_new, after) = (backfill_after.is_none(), backfill_after.unwrap_or_default());
        match migration.kind {
            // The backfill fills the new tables and columns.
            MigrationKind::Expand => {
                if is_new {
                    execute(kind, connection, migration).await?;
                }
                backfill(connection, migration, after).await?;
            }
            // The backfill moves the data before the statements remove it.
            MigrationKind::Contract => {
                backfill(connection, migration, after).await?;
                execute(kind, connection, migration).await?;
            }
        }
        if is_new {
            applied::record(connection, &migration, None).await?;
        } else {
            applied::record_progress(connection, &migration, None).await?;
        }
        outcome.applied.push(migration);
    }
    Ok(outcome)
}

async fn execute(
    kind: DatabaseKind,
    connection: &mut Connection,
    migration: Migration,
) -> Result<(), MigrationError> {
    connection
        .batch(&migration.transactional_text(kind))
        .await
        .map_err(|source| MigrationError::Failed { migration, source })
}

async fn backfill(
    connection: &mut Connection,
    migration: Migration,
    mut after: String,
) -> Result<(), MigrationError> {
    let Some(slice) = migration.backfill else {
        return Ok(());
    };
    loop {
        let next = slice(&mut *connection, after.clone(), SLICE)
            .await
            .map_err(|source| MigrationError::Failed { migration, source })?;
        match next {
            None => return Ok(()),
            Some(next) if next == after => return Err(MigrationError::Stuck(migration)),
            Some(next) => after = next,
        }
    }
}
