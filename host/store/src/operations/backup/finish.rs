//! The transaction after which an instance may open a restored database.

use std::path::Path;

use crate::audit::append::{append, prepare};
use crate::audit::context::ChainContext;
use crate::audit::lane_acquisition::begin_lane;
use crate::audit::pending;
use crate::audit::signing::sign_heads;
use crate::engine::connect::Target;
use crate::engine::migrations;
use crate::engine::migrations::migration::Migration;
use crate::engine::sql;
use crate::engine::sql::{Connection, DatabaseKind, Options};
use crate::engine::{deferred, partitions};
use crate::operations::backup::ended::EndedCounts;
use crate::operations::backup::marker;
use crate::operations::backup::plan::RestorePlan;
use crate::operations::backup::revocations;
use crate::operations::backup::revocations::ReapplyCounts;
use crate::operations::backup::rules::{RESTORE_RULES, TableAction};
use crate::tables::tokens::begin_epoch;
use crate::{Result, StoreError, audit};
use assent_model::audit::Event;
use assent_model::clock::Timestamp;

/// The outcome of a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreOutcome {
    /// The sessions, tokens and links that ended.
    pub ended: EndedCounts,
    /// The changes of the audit export that were applied.
    pub reapplied: ReapplyCounts,
    /// The epoch of new tokens.
    pub epoch: u32,
}

/// A restored database before its sessions and tokens were ended. No instance opens it.
#[derive(Debug)]
pub struct UnfinishedRestore {
    connection: Connection,
    kind: DatabaseKind,
}

impl UnfinishedRestore {
    /// Opens SQLite's file, which was restored under a temporary name.
    ///
    /// # Errors
    /// If the file cannot be opened, or a migration fails.
    pub async fn open_file(file: &Path, migrations: &[Migration]) -> Result<Self> {
        Self::prepare(
            DatabaseKind::Sqlite,
            &Options::sqlite(file, None),
            migrations,
        )
        .await
    }

    /// Opens the marked PostgreSQL database at `url`.
    ///
    /// # Errors
    /// If the database cannot be opened, or a migration fails.
    pub async fn open(url: &str, migrations: &[Migration]) -> Result<Self> {
        let target = Target::of(url)?;
        Self::prepare(target.kind, &target.migration, migrations).await
    }

    /// Applies the migrations that the backup lacks.
    async fn prepare(
        kind: DatabaseKind,
        options: &Options,
        migrations: &[Migration],
    ) -> Result<Self> {
        let mut connection = options.connect().await?;
        marker::create(&mut connection).await?;
        // The heartbeats of the backup's instances would postpone contracting migrations, but these instances do not
        // run on this database.
        if marker::has_table(&mut connection, "instances").await? {
            connection.batch("DELETE FROM instances").await?;
        }
        migrations::apply(kind, &mut connection, options, migrations)
            .await
            .map_err(|error| StoreError::Restore(error.to_string()))?;
        if kind == DatabaseKind::Postgres {
            partitions::try_to_ensure(&mut connection).await?;
        }
        Ok(Self { connection, kind })
    }

    /// Ends the sessions and tokens of the backup, and applies the later revocations, in one transaction. After its
    /// commit an instance may open the database. `chaining` authenticates the audit log.
    ///
    /// # Errors
    /// No instance can open the database after an error.
    pub async fn finish(
        mut self,
        chaining: &ChainContext,
        plan: &RestorePlan,
    ) -> Result<RestoreOutcome> {
        let begin = match self.kind {
            DatabaseKind::Sqlite => "BEGIN IMMEDIATE",
            DatabaseKind::Postgres => "BEGIN",
        };
        let db = &mut self.connection;
        db.batch(begin).await?;
        let finished = Box::pin(finish(db, chaining, plan)).await;
        if finished.is_err() {
            self.connection.close().await;
            return finished;
        }
        db.batch("COMMIT").await?;
        if self.kind == DatabaseKind::Sqlite {
            // The file will be renamed, and its log would then have the wrong name.
            db.batch("PRAGMA journal_mode = DELETE").await?;
        }
        self.connection.close().await;
        finished
    }
}

async fn finish(
    db: &mut Connection,
    chaining: &ChainContext,
    plan: &RestorePlan,
) -> Result<RestoreOutcome> {
    // No instance waits for the changes of this transaction.
    let work = Box::pin(end_and_reapply(db, plan));
    let (worked, _) = deferred::collect(pending::collect(work)).await;
    let (outcome, mut entries) = worked?;
    begin_new_lane(db, chaining, plan.now).await?;
    prepare(db, chaining, &mut entries).await?;
    if let Some(lane) = append(db, chaining, entries).await? {
        chaining.lanes.return_committed(lane);
    }
    // This is part of the same transaction: an interruption must not leave entries that the root does not cover.
    sign_heads(db, chaining).await?;
    crate::audit::lanes::release(db, &chaining.lanes.take_all()).await?;
    marker::remove(db).await?;
    Ok(outcome)
}

async fn end_and_reapply(db: &mut Connection, plan: &RestorePlan) -> Result<RestoreOutcome> {
    let ended = EndedCounts::read(db, plan.now).await?;
    for rule in RESTORE_RULES {
        match rule.action {
            TableAction::Keep => {}
            TableAction::Empty => {
                // The names are constants of this program.
                db.batch(&format!("DELETE FROM {}", rule.table)).await?;
            }
            TableAction::Change(statement) => {
                sql::query(statement)
                    .bind(plan.now.millis())
                    .execute(&mut *db)
                    .await?;
            }
        }
    }
    let epoch = begin_epoch(db, plan.now).await?;
    let reapplied = match &plan.revocations {
        Some(revocations) => revocations::reapply(db, plan, revocations).await?,
        None => ReapplyCounts::default(),
    };
    let entry = plan
        .entry(Event::DatabaseRestored)
        .with("backup_at", plan.backup_at.seconds())
        .with("audit_export", plan.revocations.is_some());
    let entry = reapplied.write_into(ended.write_into(entry));
    audit::append(db, &[entry]).await?;
    Ok(RestoreOutcome {
        ended,
        reapplied,
        epoch,
    })
}

/// Begins a lane that no instance used after the backup. The numbers of other lanes count up from 1; the number of this
/// one is the time in seconds.
async fn begin_new_lane(
    db: &mut Connection,
    chaining: &ChainContext,
    now: Timestamp,
) -> Result<()> {
    let (greatest,): (i64,) = sql::query_as("SELECT COALESCE(MAX(lane), 0) FROM audit_anchors")
        .fetch_one(&mut *db)
        .await?;
    let lane = now.seconds().max(greatest.saturating_add(1));
    begin_lane(db, chaining, lane).await?;
    sql::query("INSERT INTO audit_lanes (lane, holder, held_until) VALUES ($1, '', 0)")
        .bind(lane)
        .execute(db)
        .await?;
    Ok(())
}
