//! The outcome of applying migrations.

use crate::engine::migrations::migration::Migration;
use crate::engine::migrations::older_instances::OlderInstance;

/// The outcome of applying migrations.
#[derive(Clone, Debug, Default)]
pub struct MigrationOutcome {
    /// The migrations that were applied or completed, in their order.
    pub applied: Vec<Migration>,
    /// The contracting migrations that wait for the end of older instances.
    pub postponed: Vec<PostponedMigration>,
}

/// A postponed contracting migration.
#[derive(Clone, Debug)]
pub struct PostponedMigration {
    /// The migration.
    pub migration: Migration,
    /// The running instances that do not know it.
    pub instances: Vec<OlderInstance>,
}
