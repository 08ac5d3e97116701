//! The schema's migrations. An expanding migration keeps everything that earlier releases use. A contracting migration
//! is applied once no instance of an earlier release runs. One process at a time applies migrations.

pub(crate) mod applied;
mod at_once;
pub(crate) mod error;
mod indexes;
pub(crate) mod list;
pub(crate) mod migration;
pub(crate) mod older_instances;
mod stepwise;

use std::time::Duration;

use crate::engine::partitions;
use crate::engine::sql;
use crate::engine::sql::{Connection, DatabaseKind, Options};

use applied::plan;
use error::MigrationError;

use migration::{Migration, MigrationOutcome, PostponedMigration};

/// The PostgreSQL lock of the process that migrates. A waiting process must not wait inside a statement, because a
/// concurrent index build waits for the end of all statements. It is a lock of a transaction, on a separate connection,
/// because a pooler may assign another connection to each transaction of a session.
const LOCK: &str = "SELECT pg_try_advisory_xact_lock(4711770001)";
/// That transaction is idle for as long as the migrations take.
const BEGIN_LOCK: &str = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0";
/// The portal of the last prepared statement keeps its snapshot, and `CREATE INDEX CONCURRENTLY` waits for the end of
/// older snapshots. A statement of the simple protocol closes the portal, and leaves no snapshot.
const CLOSE_PORTAL: &str = "SELECT 1";
/// The time between two attempts to take the lock.
const LOCK_PAUSE: Duration = Duration::from_millis(200);

/// When `assent serve` applies migrations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MigrationPolicy {
    /// At the start on SQLite and on an empty database; otherwise `assent migrate` applies them.
    #[default]
    SqliteOrEmpty,
    /// At each start.
    Automatic,
    /// Never; `assent migrate` applies them.
    Manual,
}

/// Applies the migrations that this release needs, if the policy permits it.
///
/// # Errors
/// If a migration fails, the policy forbids one that this release needs, or a newer release contracted the schema.
pub(crate) async fn prepare(
    kind: DatabaseKind,
    connection: &mut Connection,
    options: &Options,
    migrations: &[Migration],
    policy: MigrationPolicy,
) -> Result<(), MigrationError> {
    let found = plan(kind, connection, migrations).await?;
    if found.pending.is_empty() {
        return Ok(());
    }
    let is_automatic = match policy {
        MigrationPolicy::SqliteOrEmpty => kind == DatabaseKind::Sqlite || found.is_empty,
        MigrationPolicy::Automatic => true,
        MigrationPolicy::Manual => false,
    };
    if is_automatic {
        let outcome = apply(kind, connection, options, migrations).await?;
        for PostponedMigration {
            migration,
            instances,
        } in outcome.postponed
        {
            let instances: Vec<String> = instances.iter().map(ToString::to_string).collect();
            let instances = instances.join(", ");
            tracing::warn!(%migration, instances, "contracting migration postponed: older instances run");
        }
        return Ok(());
    }
    let names: Vec<String> = found
        .pending
        .iter()
        .map(|pending| pending.migration.to_string())
        .collect();
    if found.must_expand() {
        return Err(MigrationError::Pending(names.join(", ")));
    }
    tracing::info!(
        migrations = names.join(", "),
        "contracting migrations pending: run `assent migrate` once no older instance runs"
    );
    Ok(())
}

/// Applies the pending migrations. Waits while another process migrates; `options` open the connection that holds the
/// lock.
///
/// # Errors
/// If a migration fails, or a newer release contracted the schema.
pub(crate) async fn apply(
    kind: DatabaseKind,
    connection: &mut Connection,
    options: &Options,
    migrations: &[Migration],
) -> Result<MigrationOutcome, MigrationError> {
    let outcome = match kind {
        DatabaseKind::Sqlite => {
            in_one_transaction(kind, connection, migrations, "BEGIN IMMEDIATE").await
        }
        DatabaseKind::Postgres => {
            let mut lock = options.connect().await?;
            wait_for_lock(&mut lock).await?;
            let found = plan(kind, connection, migrations).await?;
            let outcome = if found.is_empty {
                in_one_transaction(kind, connection, migrations, "BEGIN").await
            } else {
                stepwise::apply(connection, found.pending).await
            };
            if outcome.is_ok() {
                partitions::try_to_ensure(connection).await?;
            }
            // The lock ends with its transaction.
            lock.close().await;
            outcome
        }
    };
    for migration in outcome.iter().flat_map(|outcome| &outcome.applied) {
        tracing::info!(%migration, "migration applied");
    }
    outcome
}

async fn in_one_transaction(
    kind: DatabaseKind,
    connection: &mut Connection,
    migrations: &[Migration],
    begin: &str,
) -> Result<MigrationOutcome, MigrationError> {
    connection.batch(begin).await?;
    let applied = async {
        connection.batch(applied::TABLE).await?;
        let found = plan(kind, connection, migrations).await?;
        at_once::apply(kind, connection, found.pending).await
    };
    let applied = applied.await;
    let end = if applied.is_ok() {
        "COMMIT"
    } else {
        "ROLLBACK"
    };
    let ended = connection.batch(end).await;
    // The first error is the cause.
    let outcome = applied?;
    ended?;
    Ok(outcome)
}

async fn wait_for_lock(connection: &mut Connection) -> Result<(), MigrationError> {
    let mut is_reported = false;
    loop {
        connection.batch(BEGIN_LOCK).await?;
        let (is_ours,): (bool,) = sql::query_as(LOCK).fetch_one(&mut *connection).await?;
        if is_ours {
            connection.batch(CLOSE_PORTAL).await?;
            return Ok(());
        }
        connection.batch("ROLLBACK").await?;
        if !is_reported {
            tracing::info!("another process migrates the database, waiting for it");
            is_reported = true;
        }
        tokio::time::sleep(LOCK_PAUSE).await;
    }
}
