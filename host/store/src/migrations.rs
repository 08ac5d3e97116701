//! The schema's migrations. Each is applied once, in the order of their versions, by one instance at a time.

use assent_model::secret::Digest;

use crate::sql::{self, Connection, DatabaseKind};

/// A step of the schema. A released one is never changed.
struct Migration {
    version: i64,
    name: &'static str,
    text: &'static str,
}

const MIGRATIONS: [Migration; 1] = [Migration {
    version: 1,
    name: "initial",
    text: include_str!("../migrations/0001_expand_initial.sql"),
}];

const TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (
    version    BIGINT NOT NULL PRIMARY KEY,
    name       TEXT   NOT NULL,
    -- The digest of the migration's text.
    digest     TEXT   NOT NULL
)";

/// The key of the lock that instances which start at the same time wait at.
const LOCK: &str = "SELECT pg_advisory_xact_lock(4711770001)";

/// Brings the tables up to date, in one transaction.
///
/// # Errors
/// The reason, in words for the operator.
pub(crate) async fn apply(
    kind: DatabaseKind,
    connection: &mut Connection,
) -> std::result::Result<(), String> {
    let begin = match kind {
        DatabaseKind::Sqlite => "BEGIN IMMEDIATE",
        DatabaseKind::Postgres => "BEGIN",
    };
    let applied = async {
        connection.batch(begin).await?;
        if kind == DatabaseKind::Postgres {
            connection.batch(LOCK).await?;
        }
        let applied = apply_pending(connection).await;
        let end = if applied.is_ok() {
            "COMMIT"
        } else {
            "ROLLBACK"
        };
        connection.batch(end).await?;
        applied
    };
    applied.await.map_err(|error| error.to_string())
}

/// Why the tables could not be brought up to date.
#[derive(Debug, thiserror::Error)]
enum MigrationError {
    #[error(transparent)]
    Database(#[from] sql::Error),
    #[error("migration {version} ({name}) failed: {source}")]
    Failed {
        version: i64,
        name: &'static str,
        source: sql::Error,
    },
    #[error(
        "migration {0} was applied with another text; this database is of another build of Assent"
    )]
    Changed(i64),
    #[error(
        "the database has migration {0}, which this release does not know; start a newer release"
    )]
    Unknown(i64),
}

async fn apply_pending(connection: &mut Connection) -> std::result::Result<(), MigrationError> {
    connection.batch(TABLE).await?;
    let applied: Vec<(i64, String)> =
        sql::query_as("SELECT version, digest FROM schema_migrations ORDER BY version")
            .fetch_all(&mut *connection)
            .await?;
    if let Some((version, _)) = applied
        .iter()
        .find(|(version, _)| MIGRATIONS.iter().all(|known| known.version != *version))
    {
        return Err(MigrationError::Unknown(*version));
    }
    for migration in &MIGRATIONS {
        let digest = Digest::of(migration.text.as_bytes()).to_text();
        match applied
            .iter()
            .find(|(version, _)| *version == migration.version)
        {
            Some((_, found)) if *found == digest => {}
            Some(_) => return Err(MigrationError::Changed(migration.version)),
            None => apply_one(connection, migration, digest).await?,
        }
    }
    Ok(())
}

async fn apply_one(
    connection: &mut Connection,
    migration: &Migration,
    digest: String,
) -> std::result::Result<(), MigrationError> {
    connection
        .batch(migration.text)
        .await
        .map_err(|source| MigrationError::Failed {
            version: migration.version,
            name: migration.name,
            source,
        })?;
    sql::query("INSERT INTO schema_migrations (version, name, digest) VALUES ($1, $2, $3)")
        .bind(migration.version)
        .bind(migration.name)
        .bind(digest)
        .execute(connection)
        .await?;
    Ok(())
}
