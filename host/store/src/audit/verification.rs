//! Reads the hash chain for its verification and its export, and deletes its oldest entries.

use std::sync::Arc;

use super::chain::{MarkRow, lock, set};
use crate::retention::SLICE;
use crate::sql;
use crate::{Result, Store};
use assent_model::audit::Event;
use assent_model::audit::chain::{End, Mark, Record, StoredMark, Walk};
use assent_model::clock::Timestamp;
use assent_model::secret::Digest;

crate::sql::row! {
    struct RecordRow {
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

/// Reads records. A digest that is missing is one that does not fit.
macro_rules! records_where {
    ($condition:literal) => {
        concat!(
            "SELECT seq, COALESCE(previous, '') AS previous, COALESCE(digest, '') AS digest, id, happened_at, event,
                    actor_kind, actor, user_id, application_id, approval_id, detail, personal, personal_salt,
                      personal_digest,
                    origin, origin_salt, origin_digest
             FROM audit_entries WHERE ",
            $condition
        )
    };
}

const AFTER: &str = records_where!("seq > $1 ORDER BY seq LIMIT $2");
impl Store {
    /// An end of the audit log's chain.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn audit_end(&self, end: End) -> Result<StoredMark> {
        let row: Option<MarkRow> =
            sql::query_as("SELECT seq, digest, mac FROM audit_chain WHERE name = $1")
                .bind(end.as_str())
                .fetch_optional(&self.readers)
                .await?;
        row.map_or(
            Ok(StoredMark {
                mark: Mark::START,
                authentic: false,
            }),
            |row| row.verify(&self.chaining, end),
        )
    }

    /// Up to `limit` entries after this position, in their order.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn audit_records(&self, after: i64, limit: u32) -> Result<Vec<Record>> {
        let rows: Vec<RecordRow> = sql::query_as(AFTER)
            .bind(after)
            .bind(i64::from(limit))
            .fetch_all(&self.readers)
            .await?;
        Ok(rows.into_iter().map(Record::from).collect())
    }

    /// An entry that stands outside of the chain: before its beginning, after its end, or without a position.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn stray_audit_entry(&self) -> Result<Option<String>> {
        // One statement sees the ends and the entries of one moment; each part looks at an end of the index.
        let row: Option<(String,)> = sql::query_as(
            "SELECT id FROM (SELECT id FROM audit_entries WHERE seq IS NULL LIMIT 1) AS without
             UNION ALL
             SELECT id FROM (SELECT id, seq FROM audit_entries WHERE seq IS NOT NULL
               ORDER BY seq DESC LIMIT 1) AS latest
             WHERE seq > (SELECT seq FROM audit_chain WHERE name = 'head')
             UNION ALL
             SELECT id FROM (SELECT id, seq FROM audit_entries WHERE seq IS NOT NULL ORDER BY seq LIMIT 1) AS earliest
             WHERE seq <= (SELECT seq FROM audit_chain WHERE name = 'anchor')",
        )
        .fetch_optional(&self.readers)
        .await?;
        Ok(row.map(|(id,)| id))
    }

    /// The position of the last entry that tells that this user was erased or deleted.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn last_erasure(&self, user: &str) -> Result<Option<i64>> {
        let row: Option<(i64,)> = sql::query_as(
            "SELECT seq FROM audit_entries WHERE user_id = $1 AND event IN ($2, $3) ORDER BY seq DESC LIMIT 1",
        )
        .bind(user.to_owned())
        .bind(Event::UserErased.as_str())
        .bind(Event::UserDeleted.as_str())
        .fetch_optional(&self.readers)
        .await?;
        Ok(row.map(|(seq,)| seq))
    }

    /// Takes away a slice of the oldest entries, those made before `before`, and moves the anchor; none beyond
    /// `streamed`. How many there were.
    pub(crate) async fn delete_old_audit_entries(
        &self,
        before: Timestamp,
        streamed: i64,
    ) -> Result<u64> {
        let chaining = Arc::clone(&self.chaining);
        self.write(move |db| {
            let chaining = Arc::clone(&chaining);
            Box::pin(async move {
                let anchor = lock(db, &chaining, End::Anchor).await?;
                let rows: Vec<RecordRow> = sql::query_as(AFTER)
                    .bind(anchor.mark.seq)
                    .bind(i64::try_from(SLICE).unwrap_or(i64::MAX))
                    .fetch_all(&mut *db)
                    .await?;
                // What is taken away is looked at a last time: nobody can do so afterwards.
                let mut walk = Walk::after(anchor.mark.clone());
                let mut whole = anchor.authentic;
                let mut last = None;
                for record in rows.into_iter().map(Record::from) {
                    if record.at >= before.millis() || record.seq > streamed {
                        break;
                    }
                    whole = whole && walk.step(&record).is_ok();
                    last = Some(Mark {
                        seq: record.seq,
                        digest: Digest::from_text(&record.digest).unwrap_or(Mark::START.digest),
                    });
                }
                let Some(last) = last else { return Ok(0) };
                let deleted = sql::query("DELETE FROM audit_entries WHERE seq > $1 AND seq <= $2")
                    .bind(anchor.mark.seq)
                    .bind(last.seq)
                    .execute(&mut *db)
                    .await?;
                set(db, &chaining, End::Anchor, &last, whole).await?;
                Ok(deleted)
            })
        })
        .await
    }
}
