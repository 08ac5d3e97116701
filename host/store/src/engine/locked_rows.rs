//! The rows that the writes of a transaction lock. Two transactions that locked the same rows in different orders would
//! deadlock, until PostgreSQL rolls one of them back a second later. SQLite has one writer.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::Result;
use crate::engine::batch::bulk_sql::BulkSql;
use crate::engine::sql;
use crate::engine::sql::{Connection, DatabaseKind};
use assent_model::id::{FamilyId, SessionId};

/// A row that a write locks before all others. Writes of families precede those of sessions, and writes without such a
/// row precede both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LockedRow {
    /// A token family.
    Family(FamilyId),
    /// A session.
    Session(SessionId),
}

static FAMILIES: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "SELECT id FROM token_families WHERE id IN ({$}) ORDER BY id FOR NO KEY UPDATE",
        0,
    )
});

static SESSIONS: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "SELECT id FROM sessions WHERE id IN ({$}) ORDER BY id FOR NO KEY UPDATE",
        0,
    )
});

impl LockedRow {
    fn id(self) -> String {
        match self {
            Self::Family(id) => id.to_string(),
            Self::Session(id) => id.to_string(),
        }
    }

    /// The place of its table in the order in which transactions lock rows.
    pub(crate) const fn table(self) -> u8 {
        match self {
            Self::Family(_) => 1,
            Self::Session(_) => 2,
        }
    }
}

/// Locks rows of one table in the order of their ids. A single one is locked by its own write, which saves a round
/// trip.
pub(crate) async fn lock(db: &mut Connection, rows: BTreeSet<LockedRow>) -> Result<()> {
    let texts = match rows.first() {
        Some(LockedRow::Family(_)) => &FAMILIES,
        Some(LockedRow::Session(_)) => &SESSIONS,
        None => return Ok(()),
    };
    if rows.len() < 2 || db.kind() == DatabaseKind::Sqlite {
        return Ok(());
    }
    let ids: Vec<String> = rows.into_iter().map(LockedRow::id).collect();
    let query = sql::query(texts.sql_for(ids.len()));
    let query = texts.padded(&ids).fold(query, |query, id| query.bind(id));
    query.execute(db).await?;
    Ok(())
}
