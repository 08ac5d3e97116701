//! Reads the audit log for verification and export, lane by lane.

use crate::audit::context::{ANCHOR, EndRow, HEAD};
use crate::engine::sql;
use crate::{Result, Store};
use assent_model::audit::Event;
use assent_model::audit::chain::{End, Positions, Record, StoredMark};
use assent_model::clock::Timestamp;

crate::engine::sql::row! {
    pub(super) struct RecordRow of audit_entries {
        lane: i64,
        seq: i64,
        previous: String,
        digest: String,
        id: String,
        happened_at: i64,
        event: String,
        actor_kind: String,
        actor: Option<String>,
        user_id: Option<String>,
        application_id: Option<String>,
        approval_id: Option<String>,
        detail: String,
        personal: Option<String>,
        personal_salt: Option<String>,
        personal_digest: Option<String>,
        origin: Option<String>,
        origin_salt: Option<String>,
        origin_digest: Option<String>,
    }
}

impl From<RecordRow> for Record {
    fn from(row: RecordRow) -> Self {
        Self {
            lane: row.lane,
            seq: row.seq,
            previous: row.previous,
            digest: row.digest,
            id: row.id,
            at: row.happened_at,
            event: row.event,
            actor_kind: row.actor_kind,
            actor: row.actor,
            user: row.user_id,
            application: row.application_id,
            approval: row.approval_id,
            detail: row.detail,
            personal: row.personal,
            salt: row.personal_salt,
            personal_digest: row.personal_digest,
            origin: row.origin,
            origin_salt: row.origin_salt,
            origin_digest: row.origin_digest,
        }
    }
}

/// Reads the records of a lane that follow a position, in their order.
pub(super) const AFTER: &str = sql::statement!(
    "SELECT ",
    RecordRow::COLUMNS,
    " FROM audit_entries WHERE lane = $1 AND seq > $2 ORDER BY seq, id LIMIT $3"
);

impl Store {
    /// The lanes of the log.
    pub async fn audit_lanes(&self) -> Result<Vec<i64>> {
        let rows: Vec<(i64,)> = sql::query_as("SELECT lane FROM audit_anchors ORDER BY lane")
            .fetch_all(&self.readers)
            .await?;
        Ok(rows.into_iter().map(|(lane,)| lane).collect())
    }

    /// The last entry of a lane that retention deleted.
    pub async fn audit_anchor(&self, lane: i64) -> Result<StoredMark> {
        let row: Option<EndRow> = sql::query_as(ANCHOR)
            .bind(lane)
            .fetch_optional(&self.readers)
            .await?;
        let row = row.unwrap_or_else(EndRow::before_first);
        self.chaining.stored_end(End::Anchor, lane, &row)
    }

    /// The last entry of a lane; `None` if there is none.
    pub async fn audit_head(&self, lane: i64) -> Result<Option<StoredMark>> {
        let row: Option<EndRow> = sql::query_as(HEAD)
            .bind(lane)
            .fetch_optional(&self.readers)
            .await?;
        row.map(|row| self.chaining.stored_end(End::Head, lane, &row))
            .transpose()
    }

    /// The positions of the last entries of all lanes.
    pub async fn audit_positions(&self) -> Result<Positions> {
        let rows: Vec<(i64, i64)> = sql::query_as(
            "SELECT lane, COALESCE((SELECT MAX(e.seq) FROM audit_entries AS e WHERE e.lane = a.lane), seq)
             FROM audit_anchors AS a",
        )
        .fetch_all(&self.readers)
        .await?;
        Ok(rows.into_iter().collect())
    }

    /// Up to `limit` entries of a lane that follow this position, in their order.
    pub async fn audit_records(&self, lane: i64, after: i64, limit: u32) -> Result<Vec<Record>> {
        let rows: Vec<RecordRow> = sql::query_as(AFTER)
            .bind(lane)
            .bind(after)
            .bind(limit)
            .fetch_all(&self.readers)
            .await?;
        Ok(rows.into_iter().map(Record::from).collect())
    }

    /// The lane and the id of an entry outside of the lanes: before the beginning of its lane, or in an unknown lane.
    pub async fn stray_audit_entry(&self) -> Result<Option<(i64, String)>> {
        // Each statement reads the beginning of a lane from the index.
        let mut first_lane = i64::MIN;
        loop {
            let first: Option<(i64, String, i64)> = sql::query_as(
                "SELECT lane, id,
                        CASE WHEN seq > COALESCE((SELECT a.seq FROM audit_anchors AS a WHERE a.lane = e.lane), seq)
                             THEN 0 ELSE 1 END
                 FROM audit_entries AS e WHERE lane >= $1 ORDER BY lane, seq LIMIT 1",
            )
            .bind(first_lane)
            .fetch_optional(&self.readers)
            .await?;
            match first {
                None => return Ok(None),
                Some((lane, id, 1)) => return Ok(Some((lane, id))),
                Some((i64::MAX, ..)) => return Ok(None),
                Some((lane, ..)) => first_lane = lane + 1,
            }
        }
    }

    /// The time of the last entry about the erasure or the deletion of this user.
    pub async fn last_erasure(&self, user: &str) -> Result<Option<Timestamp>> {
        let row: Option<(i64,)> = sql::query_as(
            "SELECT happened_at FROM audit_entries WHERE user_id = $1 AND event IN ($2, $3) ORDER BY id DESC LIMIT 1",
        )
        .bind(user.to_owned())
        .bind(Event::UserErased.as_str())
        .bind(Event::UserDeleted.as_str())
        .fetch_optional(&self.readers)
        .await?;
        Ok(row.map(|(at,)| Timestamp::from_millis(at)))
    }
}
