//! The table of the applied migrations. Every release reads it, so its columns never change.

use crate::engine::migrations::error::MigrationError;
use crate::engine::migrations::migration::{Migration, MigrationKind};
use crate::engine::sql;
use crate::engine::sql::{Connection, DatabaseKind};

pub(crate) const TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (
    version        BIGINT NOT NULL PRIMARY KEY,
    kind           TEXT   NOT NULL CHECK (kind IN ('expand', 'contract')),
    name           TEXT   NOT NULL,
    -- The digest of the migration's text.
    digest         TEXT   NOT NULL,
    -- The id after which the backfill continues, if there is one; NULL once the migration is complete.
    backfill_after TEXT
)";

crate::engine::sql::row! {
    struct AppliedRow of schema_migrations {
        version: i64,
        kind: String,
        name: String,
        digest: String,
        backfill_after: Option<String>,
    }
}

/// The remaining work.
pub(crate) struct Plan {
    pub(crate) pending: Vec<Pending>,
    /// Whether no migration was ever applied.
    pub(crate) is_empty: bool,
}

/// A migration that is not complete.
#[derive(Clone)]
pub(crate) struct Pending {
    pub(crate) migration: Migration,
    /// The id after which its backfill continues; `None` if none of it was applied.
    pub(crate) backfill_after: Option<String>,
}

impl Plan {
    /// Returns the plan for a database without tables.
    pub(crate) fn for_empty(migrations: &[Migration]) -> Self {
        let pending = migrations.iter().map(|migration| Pending {
            migration: *migration,
            backfill_after: None,
        });
        Self {
            pending: pending.collect(),
            is_empty: true,
        }
    }

    /// Whether an expanding migration is pending. This release does not work without it.
    pub(crate) fn must_expand(&self) -> bool {
        self.pending
            .iter()
            .any(|pending| pending.migration.kind == MigrationKind::Expand)
    }
}

/// Reads the remaining work. Changes nothing.
///
/// # Errors
/// If a migration was applied with another text, or a newer release contracted the schema.
pub(crate) async fn plan(
    kind: DatabaseKind,
    connection: &mut Connection,
    migrations: &[Migration],
) -> Result<Plan, MigrationError> {
    let exists = match kind {
        DatabaseKind::Sqlite => {
            "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'schema_migrations'"
        }
        DatabaseKind::Postgres => {
            "SELECT COUNT(*) FROM pg_class WHERE oid = to_regclass('schema_migrations')"
        }
    };
    let (tables,): (i64,) = sql::query_as(exists).fetch_one(&mut *connection).await?;
    if tables == 0 {
        return Ok(Plan::for_empty(migrations));
    }
    let applied: Vec<AppliedRow> = sql::query_as(sql::statement!(
        "SELECT ",
        AppliedRow::COLUMNS,
        " FROM schema_migrations ORDER BY version"
    ))
    .fetch_all(connection)
    .await?;
    compare(&applied, migrations)
}

fn compare(applied: &[AppliedRow], migrations: &[Migration]) -> Result<Plan, MigrationError> {
    for row in applied {
        let known = migrations.iter().find(|one| one.version == row.version);
        match known {
            Some(known) if known.digest() != row.digest => {
                return Err(MigrationError::Changed(*known));
            }
            // An expanding migration of a newer release keeps everything that this release uses.
            None if row.kind != MigrationKind::Expand.as_str() => {
                return Err(MigrationError::Contracted {
                    version: row.version,
                    name: row.name.clone(),
                });
            }
            Some(_) | None => {}
        }
    }
    let pending = migrations.iter().filter_map(|migration| {
        let row = applied.iter().find(|row| row.version == migration.version);
        let backfill_after = match row {
            Some(row) => Some(row.backfill_after.clone()?),
            None => None,
        };
        Some(Pending {
            migration: *migration,
            backfill_after,
        })
    });
    Ok(Plan {
        pending: pending.collect(),
        is_empty: applied.is_empty(),
    })
}

/// Records that the statements of a migration were executed.
pub(crate) async fn record(
    connection: &mut Connection,
    migration: &Migration,
    backfill_after: Option<String>,
) -> sql::Result<()> {
    sql::query(
        "INSERT INTO schema_migrations (version, kind, name, digest, backfill_after) VALUES ($1, $2, $3, $4, $5)",
    )
    .bind(migration.version)
    .bind(migration.kind.as_str())
    .bind(migration.name)
    .bind(migration.digest())
    .bind(backfill_after)
    .execute(connection)
    .await?;
    Ok(())
}

pub(crate) async fn record_progress(
    connection: &mut Connection,
    migration: &Migration,
    backfill_after: Option<String>,
) -> sql::Result<()> {
    sql::query("UPDATE schema_migrations SET backfill_after = $2 WHERE version = $1")
        .bind(migration.version)
        .bind(backfill_after)
        .execute(connection)
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [Migration; 2] = [
        Migration::new("0001_expand_a", "a"),
        Migration::new("0002_contract_b", "b"),
    ];

    fn row(migration: &Migration) -> AppliedRow {
        AppliedRow {
            version: migration.version,
            kind: migration.kind.as_str().to_owned(),
            name: migration.name.to_owned(),
            digest: migration.digest(),
            backfill_after: None,
        }
    }

    fn pending(applied: &[AppliedRow]) -> Vec<i64> {
        let plan = compare(applied, &KNOWN).unwrap_or_else(|error| panic!("{error}"));
        plan.pending
            .iter()
            .map(|one| one.migration.version)
            .collect()
    }

    #[test]
    fn unapplied_and_incomplete_migrations_are_pending() {
        assert_eq!(pending(&[]), [1, 2]);
        assert_eq!(pending(&[row(&KNOWN[0])]), [2]);
        let midway = AppliedRow {
            backfill_after: Some("x".to_owned()),
            ..row(&KNOWN[0])
        };
        assert_eq!(pending(&[midway, row(&KNOWN[1])]), [1]);
    }

    #[test]
    fn an_older_release_accepts_newer_expanding_migrations_only() {
        let newer = row(&Migration::new("0003_expand_c", "c"));
        assert_eq!(pending(&[row(&KNOWN[0]), row(&KNOWN[1]), newer]), [0; 0]);
        let newer = row(&Migration::new("0003_contract_c", "c"));
        let refused = compare(&[row(&KNOWN[0]), newer], &KNOWN).err();
        assert_eq!(
            refused.map(|error| error.to_string()).as_deref(),
            Some(
                "a newer release applied migration 0003_contract_c, which removed tables or columns that this release \
                 uses; start a release that supports it, or restore a backup"
            )
        );
    }

    #[test]
    fn a_migration_with_another_text_is_an_error() {
        let other = row(&Migration::new("0001_expand_a", "other"));
        assert!(matches!(
            compare(&[other], &KNOWN),
            Err(MigrationError::Changed(_))
        ));
    }
}
