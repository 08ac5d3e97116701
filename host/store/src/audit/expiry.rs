//! Deletes the oldest entries of the audit log. What is deleted is verified a last time: nobody can do so afterwards.

use std::sync::Arc;

use crate::audit::context::ChainContext;
use crate::audit::verification::RecordRow;
use crate::partitions::{self, Partition};
use crate::retention::SLICE;
use crate::sql::{self, Connection, DatabaseKind};
use crate::{Result, Store, StoreError};
use assent_model::audit::chain::{End, Mark, Positions, Record, StoredMark, Walk};
use assent_model::clock::Timestamp;
use assent_model::id::first_text_of;
use assent_model::secret::Digest;

/// What retention deletes of a lane: the entries up to this one, and whether they and the anchor before are intact.
struct Expired {
    lane: i64,
    before: Mark,
    last: Mark,
    is_intact: bool,
}

/// The place of each row. PostgreSQL drops the rows of old partitions with the partition.
const SQLITE: &str = sql::statement!(
    "SELECT ",
    RecordRow::COLUMNS,
    " FROM audit_entries WHERE lane = $1 AND seq > $2 AND seq <= $2 + $3 ORDER BY seq, id"
);
const DEFAULT_PARTITION: &str = sql::statement!(
    "SELECT ",
    RecordRow::COLUMNS,
    " FROM audit_entries WHERE lane = $1 AND seq > $2 AND seq <= $2 + $3
        AND tableoid = CAST('audit_entries_default' AS regclass)
      ORDER BY seq, id"
);

impl Store {
    /// Deletes entries from before `before`, but no later ones than `streamed`: on PostgreSQL the partitions that have
    /// no others, and of the default partition a slice of each lane; on SQLite a slice of each lane. Returns how many
    /// entries slices had, and whether another call may delete more.
    pub(crate) async fn delete_old_audit_entries(
        &self,
        before: Timestamp,
        streamed: Option<&Positions>,
    ) -> Result<(u64, bool)> {
        if self.instance.kind == DatabaseKind::Postgres {
            self.drop_old_audit_partitions(before, streamed).await?;
        }
        let (mut deleted, mut has_more) = (0, false);
        for lane in self.audit_lanes().await? {
            let limit = streamed.map_or(i64::MAX, |streamed| streamed.get(lane));
            let slice = self.delete_slice(lane, before, limit).await?;
            deleted += slice;
            has_more |= slice >= SLICE;
        }
        Ok((deleted, has_more))
    }

    /// Deletes a slice of a lane: entries from before `before`, up to the position `limit`.
    async fn delete_slice(&self, lane: i64, before: Timestamp, limit: i64) -> Result<u64> {
        let context = Arc::clone(&self.chaining);
        self.write(move |db| {
            let context = Arc::clone(&context);
            Box::pin(async move {
                let anchor = lock_anchor(db, &context, lane).await?;
                let text = match db.kind() {
                    DatabaseKind::Sqlite => SQLITE,
                    DatabaseKind::Postgres => DEFAULT_PARTITION,
                };
                let rows: Vec<RecordRow> = sql::query_as(text)
                    .bind(lane)
                    .bind(anchor.mark.seq)
                    .bind(i64::try_from(SLICE).unwrap_or(i64::MAX))
                    .fetch_all(&mut *db)
                    .await?;
                let records = rows.into_iter().map(Record::from);
                let old =
                    records.take_while(|record| record.at < before.millis() && record.seq <= limit);
                let mut expired = Expired::after(lane, &anchor);
                expired.add(old);
                if expired.last.seq == anchor.mark.seq {
                    return Ok(0);
                }
                let deleted = sql::query(
                    "DELETE FROM audit_entries WHERE lane = $1 AND seq > $2 AND seq <= $3",
                )
                .bind(lane)
                .bind(anchor.mark.seq)
                .bind(expired.last.seq)
                .execute(&mut *db)
                .await?;
                expired.move_anchor(db, &context).await?;
                Ok(deleted)
            })
        })
        .await
    }

    /// Drops the partitions that have only entries from before `before`.
    async fn drop_old_audit_partitions(
        &self,
        before: Timestamp,
        streamed: Option<&Positions>,
    ) -> Result<()> {
        let mut lease = self.writer.lease().await?;
        let all = partitions::list(&mut lease, "audit_entries").await;
        lease.end(all.as_ref().err());
        for partition in all?.into_iter().filter(|one| one.end <= before) {
            let Some(expired) = self.verify_partition(&partition, streamed).await? else {
                return Ok(());
            };
            let mut lease = self.writer.lease().await?;
            let dropped = drop_partition(&mut lease, &self.chaining, &partition, &expired).await;
            match dropped {
                Ok(()) => lease.give_back(),
                // Somebody reads the log, for example a backup. The next run tries again.
                Err(StoreError::Database(error)) if error.is_lock_timeout() => {
                    tracing::info!(
                        partition = partition.name,
                        "partition in use, dropped later"
                    );
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Verifies the entries of a partition, lane by lane. `None` if a stream has not had all of them.
    async fn verify_partition(
        &self,
        partition: &Partition,
        streamed: Option<&Positions>,
    ) -> Result<Option<Vec<Expired>>> {
        let end = first_text_of(partition.end);
        let mut all = Vec::new();
        for lane in self.audit_lanes().await? {
            let anchor = self.audit_anchor(lane).await?;
            let mut expired = Expired::after(lane, &anchor);
            loop {
                let page = self
                    .audit_records(
                        lane,
                        expired.last.seq,
                        u32::try_from(SLICE).unwrap_or(u32::MAX),
                    )
                    .await?;
                let read = page.len() as u64;
                // Within a lane, ids ascend.
                let old: Vec<Record> = page.into_iter().take_while(|one| one.id < end).collect();
                let is_last = (old.len() as u64) < read || read < SLICE;
                expired.add(old.into_iter());
                if is_last {
                    break;
                }
            }
            if expired.last.seq == anchor.mark.seq {
                continue;
            }
            if streamed.is_some_and(|streamed| streamed.get(lane) < expired.last.seq) {
                return Ok(None);
            }
            all.push(expired);
        }
        Ok(Some(all))
    }
}

impl Expired {
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

    /// Moves the anchor of the lane. It stays authentic only if what was deleted is intact.
    async fn move_anchor(&self, db: &mut Connection, context: &ChainContext) -> Result<()> {
        // The code of another place is that of no place.
        let code = if self.is_intact {
            context
                .end_code(End::Anchor, self.lane, &self.last)?
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

/// The anchor of a lane, which nobody else moves until this transaction ends.
async fn lock_anchor(db: &mut Connection, context: &ChainContext, lane: i64) -> Result<StoredMark> {
    let row: Option<(i64, String, String)> = sql::query_as(
        "UPDATE audit_anchors SET seq = seq WHERE lane = $1 RETURNING seq, digest, mac",
    )
    .bind(lane)
    .fetch_optional(db)
    .await?;
    let (seq, digest, mac) = row.unwrap_or_default();
    let digest = Digest::from_text(&digest);
    let mark = Mark {
        seq,
        digest: digest.unwrap_or(Mark::START.digest),
    };
    let authentic = digest.is_some() && context.verify_end(End::Anchor, lane, &mark, &mac)?;
    Ok(StoredMark { mark, authentic })
}

/// Drops a partition and moves the anchors, at once.
async fn drop_partition(
    db: &mut Connection,
    context: &ChainContext,
    partition: &Partition,
    expired: &[Expired],
) -> Result<()> {
    db.batch(partitions::BEGIN).await?;
    for lane in expired {
        lane.move_anchor(db, context).await?;
    }
    db.batch(&format!("DROP TABLE {}", partition.name)).await?;
    for lane in expired {
        // Older ones of the default partition.
        sql::query("DELETE FROM audit_entries WHERE lane = $1 AND seq <= $2")
            .bind(lane.lane)
            .bind(lane.last.seq)
            .execute(&mut *db)
            .await?;
    }
    db.batch("COMMIT").await?;
    tracing::info!(partition = partition.name, "old partition dropped");
    Ok(())
}
