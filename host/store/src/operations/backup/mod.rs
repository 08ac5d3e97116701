//! Backups of a database, and their restore. A restore ends sessions, tokens and codes, because some of them may have
//! ended after the backup.

mod content;
mod ended;
mod finish;
mod marker;
mod plan;
mod revocations;
mod rules;
mod snapshot;
mod target;

pub use content::BackupContent;
pub use ended::EndedCounts;
pub use finish::{RestoreOutcome, UnfinishedRestore};
pub(crate) use marker::reject_unfinished_restore;
pub use plan::{RestorePlan, Revocation};
pub use revocations::ReapplyCounts;
pub use rules::{RESTORE_RULES, TableAction, TableRule};
pub use snapshot::{PostgresSnapshot, copy_sqlite};
pub use target::{PostgresTarget, RestoreTarget};
