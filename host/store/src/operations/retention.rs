//! The deletion of expired rows.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::Instant;

use crate::engine::partitions;
use crate::engine::sql;
use crate::engine::sql::{Connection, DatabaseKind};
use crate::{Result, Store, StoreError};
use assent_model::clock::{Clock, Timestamp};
use assent_model::id::first_text_of;

/// The most rows that one write deletes, so that other writes can run in between.
pub(crate) const SLICE: u32 = 500;

/// How long rows are stored after their creation.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// Logins and the approvals of protected actions, and their requests with them.
    pub logins: Duration,
    /// Sessions.
    pub sessions: Duration,
    /// Enrolment links.
    pub enrolments: Duration,
    /// Operator tokens.
    pub admin_tokens: Duration,
    /// Claim traces.
    pub traces: Duration,
    /// Receipts of approvals; zero deletes all.
    pub receipts: Duration,
    /// Entries of the audit log.
    pub audit: Duration,
    /// The streams that must have received an entry before its deletion.
    pub streams: &'static [&'static str],
    /// Denials, counted from the last one of a series.
    pub denials: Duration,
}

/// How long the lock of a user or typed name without requests is stored. No request is pending longer.
const SUBJECTS: Duration = Duration::from_secs(86_400);

/// How long a row that concerns another object is stored after its expiry. An instance may still accept the object if
/// its clock is behind.
const MARGIN: Duration = Duration::from_secs(86_400);

/// How long a back-channel request is stored after its expiry.
const BACKCHANNEL_REQUESTS: Duration = Duration::from_secs(30 * 86_400);

/// How long an initial access token is stored after its expiry.
const REGISTRATION_TOKENS: Duration = Duration::from_secs(30 * 86_400);
/// How long the rows of other runs of the server are stored after their last probe.
const INSTANCES: Duration = Duration::from_secs(30 * 86_400);
/// The lease on retention. It is longer than the time between two runs, so the same instance does all of them.
const LEASE: Duration = Duration::from_secs(20 * 60);
/// How often a long run extends the lease.
const RENEWAL: Duration = Duration::from_secs(60);

/// Deletes rows that are older than `$1` and meet the condition, by their ids, which begin with the time. It continues
/// after the previous slice (`$4`) instead of at the start of the index. There, PostgreSQL keeps deleted rows while an
/// old snapshot is open.
macro_rules! by_id {
    ($table:literal, $condition:literal) => {
        concat!(
            "DELETE FROM ",
            $table,
            " WHERE id IN (SELECT id FROM ",
            $table,
            " WHERE id >= $4 AND id < $1 AND ",
            $condition,
            " ORDER BY id LIMIT $2) RETURNING id"
        )
    };
}

/// Deletes rows by their end, which differs from row to row. The outer condition checks the end again, because a
/// concurrent request may change it.
macro_rules! by_end {
    ($table:literal, $id:literal, $end:literal) => {
        concat!(
            "DELETE FROM ",
            $table,
            " WHERE ",
            $id,
            " IN (SELECT ",
            $id,
            " FROM ",
            $table,
            " WHERE ",
            $end,
            " >= $3 AND ",
            $end,
            " < $1 ORDER BY ",
            $end,
            " LIMIT $2) AND ",
            $end,
            " < $1 RETURNING ",
            $end
        )
    };
}

/// A run of retention by the instance that holds the lease. A run without a clock needs no lease.
struct RetentionRun<'a> {
    store: &'a Store,
    clock: Option<&'a dyn Clock>,
    renewed: Instant,
}

impl RetentionRun<'_> {
    /// Whether another slice follows. The last slice is one that is not full.
    ///
    /// # Errors
    /// If another instance has taken over.
    async fn has_next_slice(&mut self, deleted: usize) -> Result<bool> {
        if deleted < SLICE as usize {
            return Ok(false);
        }
        if let Some(clock) = self.clock
            && self.renewed.elapsed() > RENEWAL
        {
            if !self.store.claim_lease(NAME, LEASE, clock.now()).await? {
                return Err(StoreError::Overtaken("another instance deletes old rows"));
            }
            self.renewed = Instant::now();
        }
        Ok(true)
    }
}

const NAME: &str = "retention";

impl Store {
    /// Applies the retention if this instance has the lease and its clock is trusted. On PostgreSQL the clock may
    /// differ from the database's by 5 s. On SQLite it may be at most an hour ahead of the newest timestamp of earlier
    /// runs. Returns the number of deleted rows, or `None` if this instance may not delete.
    pub async fn run_retention(
        &self,
        retention: Retention,
        clock: &dyn Clock,
    ) -> Result<Option<u64>> {
        let Some(limit) = self.trusted_now(clock).await? else {
            return Ok(None);
        };
        if !self.claim_lease(NAME, LEASE, clock.now()).await? {
            return Ok(None);
        }
        let turn = RetentionRun {
            store: self,
            clock: Some(clock),
            renewed: Instant::now(),
        };
        self.delete_old(retention, limit, turn).await.map(Some)
    }

    /// Deletes expired rows after their retention, without a lease and without a check of the clock. Returns their
    /// number.
    pub async fn apply_retention(&self, retention: Retention, now: Timestamp) -> Result<u64> {
        let turn = RetentionRun {
            store: self,
            clock: None,
            renewed: Instant::now(),
        };
        self.delete_old(retention, now, turn).await
    }

    /// The statement that deletes old claim traces. PostgreSQL drops whole partitions of them first.
    async fn deletion_of_traces(&self, before: Timestamp) -> Result<&'static str> {
        Ok(match self.instance.kind {
            DatabaseKind::Postgres if self.maintain_partitions(before).await? => {
                by_id!("claim_traces_default", "created_at <= $3")
            }
            _ => by_id!("claim_traces", "created_at <= $3"),
        })
    }

    async fn delete_old(
        &self,
        retention: Retention,
        now: Timestamp,
        mut turn: RetentionRun<'_>,
    ) -> Result<u64> {
        let mut deleted = 0;
        let old_traces = self.deletion_of_traces(now - retention.traces).await?;
        self.clear_ended_actions(now).await?;
        for (statement, lifetime) in [
            (by_id!("logins", "expires_at < $3"), retention.logins),
            (
                by_id!("action_approvals", "expires_at < $3"),
                retention.logins,
            ),
            (by_id!("caller_checks", "expires_at < $3"), retention.logins),
            (
                by_id!("sign_on_requests", "expires_at < $3"),
                retention.logins,
            ),
            (
                by_id!("pushed_requests", "expires_at < $3"),
                retention.logins,
            ),
            (by_id!("saml_logouts", "expires_at < $3"), retention.logins),
            (
                by_id!("enrolments", "expires_at < $3"),
                retention.enrolments,
            ),
            (
                by_id!("admin_tokens", "expires_at < $3"),
                retention.admin_tokens,
            ),
            (old_traces, retention.traces),
            (by_id!("receipts", "decided_at <= $3"), retention.receipts),
            (
                by_id!("client_requests", "created_at < $3"),
                Duration::from_secs(60 * 60),
            ),
        ] {
            deleted += self
                .delete_by_id(statement, now - lifetime, now, &mut turn)
                .await?;
        }
        let late = now - MARGIN;
        for (statement, before) in [
            (by_end!("token_families", "id", "retain_until"), now),
            (by_end!("revoked_tokens", "id", "expires_at"), late),
            (by_end!("replay_cache", "id", "expires_at"), late),
            (
                by_end!("passkey_ceremonies", "device_id", "expires_at"),
                now,
            ),
            (by_end!("idempotent_requests", "id", "expires_at"), now),
            (by_end!("device_authorizations", "id", "expires_at"), late),
            // The user and the administrators see what an application asked, and a denial pauses it meanwhile.
            (
                by_end!("backchannel_requests", "id", "expires_at"),
                now - BACKCHANNEL_REQUESTS,
            ),
            (by_end!("logout_clients", "sid", "ended_at"), late),
            // The row outlives the session that the test sign-in created.
            (by_end!("test_sign_ins", "id", "expires_at"), late),
            (
                by_end!("approval_subjects", "subject", "locked_at"),
                now - SUBJECTS,
            ),
            (by_end!("instances", "id", "seen_at"), now - INSTANCES),
            // The console shows an expired token for a while.
            (
                by_end!("registration_tokens", "id", "expires_at"),
                now - REGISTRATION_TOKENS,
            ),
            // An open report has no end, so it stays.
            (
                by_end!("reports", "id", "settled_at"),
                now - retention.audit,
            ),
        ] {
            deleted += self.delete_by_end(statement, before, &mut turn).await?;
        }
        deleted += self.delete_old_changes(&mut turn).await?;
        let streamed = self.streamed_positions(retention.streams).await?;
        loop {
            let (slice, has_more) = self
                .delete_old_audit_entries(now - retention.audit, streamed.as_ref())
                .await?;
            deleted += slice;
            if !has_more
                || !turn
                    .has_next_slice(usize::try_from(slice).unwrap_or(usize::MAX))
                    .await?
            {
                break;
            }
        }
        self.sum_up_counts().await?;
        deleted += self
            .delete_expired_cooldowns(now - retention.denials, now)
            .await?;
        Ok(deleted
            + self
                .delete_sessions(now - retention.sessions, now, &mut turn)
                .await?)
    }

    /// Creates partitions in advance, and drops those of traces from before this time. Returns whether the role may
    /// drop them.
    async fn maintain_partitions(&self, traces_before: Timestamp) -> Result<bool> {
        let mut lease = self.writer.lease().await?;
        let mut result = partitions::try_to_ensure(&mut lease).await;
        if result.is_ok() {
            result = partitions::drop_old_traces(&mut lease, traces_before).await;
        }
        lease.end(result.as_ref().err());
        match result {
            Ok(()) => Ok(true),
            Err(error) if error.is_lock_timeout() => Ok(true),
            Err(error) if error.is_denied() => {
                tracing::warn!(
                    "database role lacks the permission to drop a partition, deleting its rows instead"
                );
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn delete_by_id(
        &self,
        statement: &'static str,
        before: Timestamp,
        now: Timestamp,
        turn: &mut RetentionRun<'_>,
    ) -> Result<u64> {
        self.delete_each_slice((String::new(),), turn, move |db, (after,)| {
            Box::pin(async move {
                Ok(sql::query_as(statement)
                    .bind(first_text_of(before))
                    .bind(SLICE)
                    .bind(now.millis())
                    .bind(after)
                    .fetch_all(db)
                    .await?)
            })
        })
        .await
    }

    async fn delete_by_end(
        &self,
        statement: &'static str,
        before: Timestamp,
        turn: &mut RetentionRun<'_>,
    ) -> Result<u64> {
        self.delete_each_slice((i64::MIN,), turn, move |db, (after,)| {
            Box::pin(async move {
                Ok(sql::query_as(statement)
                    .bind(before.millis())
                    .bind(SLICE)
                    .bind(*after)
                    .fetch_all(db)
                    .await?)
            })
        })
        .await
    }

    /// Deletes the changes that existed at the previous call, which is minutes ago. So it does not depend on a clock.
    /// The newest row stays, because SQLite derives the next number from it.
    async fn delete_old_changes(&self, turn: &mut RetentionRun<'_>) -> Result<u64> {
        let (newest,): (Option<i64>,) = sql::query_as("SELECT MAX(seq) FROM changes")
            .fetch_one(&self.readers)
            .await?;
        let before = self
            .old_changes
            .swap(newest.unwrap_or_default(), Ordering::Relaxed);
        self.delete_each_slice((0,), turn, move |db, (after,): &(i64,)| {
            Box::pin(async move {
                Ok(sql::query_as(
                    "DELETE FROM changes
                     WHERE seq IN (SELECT seq FROM changes WHERE seq >= $1 AND seq < $2 ORDER BY seq LIMIT $3)
                     RETURNING seq",
                )
                .bind(*after)
                .bind(before)
                .bind(SLICE)
                .fetch_all(db)
                .await?)
            })
        })
        .await
    }

    /// Deletes sessions. With the last row of a session id (`sid`), the rows of its applications are deleted. A session
    /// that expired so long ago causes no notification of applications any more.
    async fn delete_sessions(
        &self,
        before: Timestamp,
        now: Timestamp,
        turn: &mut RetentionRun<'_>,
    ) -> Result<u64> {
        let first = (String::new(), String::new());
        self.delete_each_slice(first, turn, move |db, (after, _)| {
            Box::pin(async move {
                let slice: Vec<(String, String)> = sql::query_as(
                    "DELETE FROM sessions
                     WHERE id IN (SELECT id FROM sessions WHERE id >= $4 AND id < $1 AND expires_at < $3
                       ORDER BY id LIMIT $2)
                     RETURNING id, sid",
                )
                .bind(first_text_of(before))
                .bind(SLICE)
                .bind(now.millis())
                .bind(after)
                .fetch_all(&mut *db)
                .await?;
                for (_, sid) in &slice {
                    for statement in [
                        "DELETE FROM session_applications
                         WHERE sid = $1 AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.sid = $1)",
                        "DELETE FROM saml_participants
                         WHERE sid = $1 AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.sid = $1)",
                    ] {
                        sql::query(statement).bind(sid).execute(&mut *db).await?;
                    }
                }
                Ok(slice)
            })
        })
        .await
    }

    /// Deletes slice after slice, each in a write of its own. `delete_slice` begins at the key it receives, because the
    /// start of the index has deleted rows, and returns the keys of the deleted rows.
    async fn delete_each_slice<K: Clone + Ord + Send + Sync + 'static>(
        &self,
        first: K,
        turn: &mut RetentionRun<'_>,
        delete_slice: impl for<'c> Fn(&'c mut Connection, &'c K) -> BoxFuture<'c, Result<Vec<K>>>
        + Copy
        + Send
        + Sync
        + 'static,
    ) -> Result<u64> {
        let (mut from, mut deleted) = (first, 0);
        loop {
            let slice = self.write(from.clone(), delete_slice).await?;
            deleted += slice.len() as u64;
            if !turn.has_next_slice(slice.len()).await? {
                return Ok(deleted);
            }
            from = slice.into_iter().max().unwrap_or(from);
        }
    }
}
