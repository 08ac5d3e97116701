//! The reasons for which the schema cannot be migrated.

use crate::engine::migrations::migration::Migration;
use crate::engine::sql;

/// Why the schema could not be migrated.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MigrationError {
    #[error(transparent)]
    Database(#[from] sql::Error),
    #[error("migration {migration} failed: {source}")]
    Failed {
        migration: Migration,
        source: sql::Error,
    },
    #[error(
        "migration {0} was applied with another text; this database belongs to another build of Assent"
    )]
    Changed(Migration),
    #[error(
        "a newer release applied migration {version:04}_contract_{name}, which removed tables or columns that this \
         release uses; start a release that supports it, or restore a backup"
    )]
    Contracted { version: i64, name: String },
    #[error(
        "the database lacks migrations of this release ({0}); run `assent migrate`, then start again"
    )]
    Pending(String),
    #[error(
        "migration {migration} waited {minutes} minutes for a lock that other sessions hold, and changed nothing; look \
         for long transactions in pg_stat_activity, then run `assent migrate` again"
    )]
    Locked { migration: Migration, minutes: u64 },
    #[error(
        "migration {migration} builds indexes concurrently, so it must not have this statement: {statement}"
    )]
    MixedStatements {
        migration: Migration,
        statement: String,
    },
    #[error("the backfill of migration {0} made no progress")]
    Stuck(Migration),
}

impl MigrationError {
    /// Whether another transaction held a lock for too long, so that the same work may succeed a moment later.
    pub(crate) fn is_lock_conflict(&self) -> bool {
        match self {
            Self::Database(source) | Self::Failed { source, .. } => {
                source.is_lock_timeout() || source.lost_to_another()
            }
            _ => false,
        }
    }
}
