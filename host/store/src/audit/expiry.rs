//! Deletes the oldest entries of the audit log. It verifies them before the deletion, because nothing can verify them
//! afterwards.

use std::sync::Arc;

use crate::audit::context::{ChainContext, EndRow};
use crate::audit::verification::{AFTER, RecordRow};
use crate::engine::partitions;
use crate::engine::partitions::Partition;
use crate::engine::sql;
use crate::engine::sql::{Connection, DatabaseKind};
use crate::operations::retention::SLICE;
use crate::{Result, Store, StoreError};
use assent_model::audit::chain::{End, Mark, Positions, Record, StoredMark, Walk};
use assent_model::clock::Timestamp;
use assent_model::id::first_text_of;
use assent_model::secret::Digest;

/// The entries of a lane that retention deletes: those up to `last`, and whether they and the anchor before them are
/// intact.
struct ExpiredEntries {
    lane: i64,
    before: Mark,
    last: Mark,
    is_intact: bool,
}

/// The rows that slices may delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SliceOf {
    /// All rows: on SQLite, or if the role may not drop partitions.
    All,
    /// Those of the default partition. The others are dropped with their partitions.
    DefaultPartition,
}

/// The outcome of dropping old partitions.
enum DropOutcome {
    /// No partition remains that can be dropped now.
    Done,
    /// The role may not drop tables.
    Denied,
}

/// The first entry of a lane that is not in the default partition.
const FIRST_PARTITIONED: &str = "SELECT MIN(seq) FROM audit_entries
     WHERE lane = $1 AND seq > $2 AND tableoid <> CAST('audit_entries_default' AS regclass)";

impl Store {
    /// Deletes entries that are older than `before` and not later than `streamed`: a slice of each lane, and on
    /// PostgreSQL also whole partitions. Returns the number of entries in the slices, and whether another call may
    /// delete more.
    pub(crate) async fn delete_old_audit_entries(
        &self,
        before: Timestamp,
        streamed: Option<&Positions>,
    ) -> Result<(u64, bool)> {
        match self.instance.kind {
            DatabaseKind::Sqlite => self.delete_slices(SliceOf::All, before, streamed).await,
            DatabaseKind::Postgres => {
                let of_default = SliceOf::DefaultPartition;
                let slices = self.delete_slices(of_default, before, streamed).await?;
                if slices.1 {
                    return Ok(slices);
                }
                match self.drop_old_audit_partitions(before, streamed).await? {
                    DropOutcome::Done => Ok(slices),
                    DropOutcome::Denied => self.delete_slices(SliceOf::All, before, streamed).await,
                }
            }
        }
    }

    async fn delete_slices(
        &self,
        of: SliceOf,
        before: Timestamp,
        streamed: Option<&Positions>,
    ) -> Result<(u64, bool)> {
        let (mut deleted, mut has_more) = (0, false);
        for lane in self.audit_lanes().await? {
            let limit = streamed.map_or(i64::MAX, |streamed| streamed.get(lane));
            let slice = self.delete_slice(lane, of, before, limit).await?;
            deleted += slice;
            has_more |= slice >= u64::from(SLICE);
        }
        Ok((deleted, has_more))
    }

    /// Deletes a slice of a lane: entries that are older than `before`, up to the position `limit`.
    async fn delete_slice(
        &self,
        lane: i64,
        of: SliceOf,
        before: Timestamp,
        limit: i64,
    ) -> Result<u64> {
        self.write(Arc::clone(&self.chaining), move |db, context| {
            Box::pin(async move {
                let anchor = lock_anchor(db, context, lane).await?;
                let end = match of {
                    SliceOf::All => i64::MAX,
                    SliceOf::DefaultPartition => first_partitioned(db, lane, &anchor).await?,
                };
                let rows: Vec<RecordRow> = sql::query_as(AFTER)
                    .bind(lane)
                    .bind(anchor.mark.seq)
                    .bind(SLICE)
                    .fetch_all(&mut *db)
                    .await?;
                let records = rows.into_iter().map(Record::from);
                let old = records.take_while(|record| {
                    record.at < before.millis() && record.seq <= limit && record.seq < end
                });
                let mut expired = ExpiredEntries::after(lane, &anchor);
                expired.add(old);
                if expired.last.seq == anchor.mark.seq {
                    return Ok(0);
                }
                let deleted = sql::query(match of {
                    SliceOf::All => {
                        "DELETE FROM audit_entries WHERE lane = $1 AND seq > $2 AND seq <= $3"
                    }
                    SliceOf::DefaultPartition => {
                        "DELETE FROM audit_entries_default WHERE lane = $1 AND seq > $2 AND seq <= $3"
                    }
                })
                .bind(lane)
                .bind(anchor.mark.seq)
                .bind(expired.last.seq)
                .execute(&mut *db)
                .await?;
                expired.move_anchor(db, context).await?;
                Ok(deleted)
            })
        })
        .await
    }

    /// Drops the partitions that contain only entries older than `before`.
    async fn drop_old_audit_partitions(
        &self,
        before: Timestamp,
        streamed: Option<&Positions>,
    ) -> Result<DropOutcome> {
        let mut lease = self.writer.lease().await?;
        let all = partitions::list(&mut lease, "audit_entries").await;
        lease.end(all.as_ref().err());
        for partition in all?.into_iter().filter(|one| one.end <= before) {
            let Some(expired) = self.verify_partition(&partition, streamed).await? else {
                return Ok(DropOutcome::Done);
            };
            let mut lease = self.writer.lease().await?;
            match drop_partition(&mut lease, &self.chaining, &partition, &expired).await {
                Ok(()) => lease.give_back(),
                // Another session reads the log, for example a backup. The next run tries again.
                Err(StoreError::Database(error)) if error.is_lock_timeout() => {
                    tracing::info!(
                        partition = partition.name,
                        "partition in use, dropped later"
                    );
                    return Ok(DropOutcome::Done);
                }
                Err(StoreError::Database(error)) if error.is_denied() => {
                    tracing::warn!(
                        partition = partition.name,
                        "database role lacks the permission to drop a partition, deleting its rows instead"
                    );
                    return Ok(DropOutcome::Denied);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(DropOutcome::Done)
    }

    /// Verifies the entries of a partition, lane by lane. Returns `None` if a stream has not received all of them, or
    /// if the default partition contains older ones, which slices must delete first.
    async fn verify_partition(
        &self,
        partition: &Partition,
        streamed: Option<&Positions>,
    ) -> Result<Option<Vec<ExpiredEntries>>> {
        let end = first_text_of(partition.end);
        let mut all = Vec::new();
        for lane in self.audit_lanes().await? {
            let anchor = self.audit_anchor(lane).await?;
            let mut expired = ExpiredEntries::after(lane, &anchor);
            loop {
                let page = self.audit_records(lane, expired.last.seq, SLICE).await?;
                let read = page.len();
                // Within a lane, the ids ascend.
                let old: Vec<Record> = page.into_iter().take_while(|one| one.id < end).collect();
                let is_last = old.len() < read || read < SLICE as usize;
                expired.add(old.into_iter());
                if is_last {
                    break;
                }
            }
            if expired.last.seq == anchor.mark.seq {
                continue;
            }
            let older: Option<(i64,)> = sql::query_as(
                "SELECT seq FROM audit_entries_default WHERE lane = $1 AND seq <= $2 LIMIT 1",
            )
            .bind(lane)
            .bind(expired.last.seq)
            .fetch_optional(&self.readers)
            .await?;
            let is_streamed =
                streamed.is_none_or(|streamed| streamed.get(lane) >= expired.last.seq);
            if older.is_some() || !is_streamed {
                return Ok(None);
            }
            all.push(expired);
        }
        Ok(Some(all))
    }
}

/// The position of the first entry after the anchor that is not in the default partition.
async fn first_partitioned(db: &mut Connection, lane: i64, anchor: &StoredMark) -> Result<i64> {
    let (first,): (Option<i64>,) = sql::query_as(FIRST_PARTITIONED)
        .bind(lane)
        .bind(anchor.mark.seq)
        .fetch_one(db)
        .await?;
    Ok(first.unwrap_or(i64::MAX))
}

impl ExpiredEntries {
    fn after(lane: i64, anchor: &StoredMark) -> Self {
        Self {
            lane,
            before: anchor.mark.clone(),
            last: anchor.mark.clone(),
            is_intact: anchor.authentic,
        }
    }

    fn add(&mut self, records: impl Iterator<Item = Record>) {
        let mut walk = Walk::after(self.lane, self.last.clone());
        for record in records {
            self.is_intact = self.is_intact && walk.step(&record).is_ok();
            self.last = Mark {
                seq: record.seq,
                digest: Digest::from_text(&record.digest).unwrap_or(Mark::START.digest),
            };
        }
    }

    /// Moves the anchor of the lane. It stays authentic only if the deleted entries are intact.
    async fn move_anchor(&self, db: &mut Connection, context: &ChainContext) -> Result<()> {
        // An empty code is never authentic.
        let code = if self.is_intact {
            context
                .end_code(End::Anchor, self.lane, &self.last, 0)?
                .to_text()
        } else {
            String::new()
        };
        let moved = sql::query(
            "UPDATE audit_anchors SET seq = $2, digest = $3, mac = $4 WHERE lane = $1 AND seq = $5",
        )
        .bind(self.lane)
        .bind(self.last.seq)
        .bind(self.last.digest.to_text())
        .bind(code)
        .bind(self.before.seq)
        .execute(db)
        .await?;
        if moved == 1 {
            Ok(())
        } else {
            Err(StoreError::Overtaken(
                "another instance deletes old audit entries",
            ))
        }
    }
}

/// Returns the anchor of a lane, and locks it until the transaction ends.
async fn lock_anchor(db: &mut Connection, context: &ChainContext, lane: i64) -> Result<StoredMark> {
    // An `UPDATE` locks a row in both databases.
    let row: Option<EndRow> = sql::query_as(
        "UPDATE audit_anchors SET seq = seq WHERE lane = $1
         RETURNING seq, digest, CAST(0 AS BIGINT) AS known_root, mac, CAST(NULL AS TEXT) AS id",
    )
    .bind(lane)
    .fetch_optional(db)
    .await?;
    let row = row.unwrap_or_else(EndRow::before_first);
    context.stored_end(End::Anchor, lane, &row)
}

/// Drops a partition and moves the anchors in one transaction.
async fn drop_partition(
    db: &mut Connection,
    context: &ChainContext,
    partition: &Partition,
    expired: &[ExpiredEntries],
) -> Result<()> {
    db.batch(partitions::BEGIN).await?;
    for lane in expired {
        lane.move_anchor(db, context).await?;
    }
    db.batch(&format!("DROP TABLE {}", partition.name)).await?;
    db.batch("COMMIT").await?;
    tracing::info!(partition = partition.name, "old partition dropped");
    Ok(())
}
