//! Forgetting what is over.

use std::time::Duration;

use crate::{Result, Store};
use assent_model::clock::Timestamp;
use assent_model::id::first_text_of;

/// How many rows one write deletes at most, so that other writes get their turn in between.
pub(crate) const SLICE: u64 = 500;

/// How long rows are kept after they were made.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// Logins and the approvals of protected actions, and their requests with them.
    pub logins: Duration,
    /// Access tokens.
    pub access_tokens: Duration,
    /// Refresh tokens: as long as a second use shall still be noticed.
    pub refresh_tokens: Duration,
    /// Sessions.
    pub sessions: Duration,
    /// Enrolment links.
    pub enrolments: Duration,
    /// Administrators' tokens.
    pub admin_tokens: Duration,
    /// What the plugins did.
    pub traces: Duration,
    /// Entries of the audit log.
    pub audit: Duration,
    /// The streams that must have had an entry before it goes.
    pub streams: &'static [&'static str],
    /// Denials, after the last in a row.
    pub denials: Duration,
}

/// How long the lock of a user or typed name without requests is stored. No request is pending longer.
const SUBJECTS: Duration = Duration::from_secs(86_400);

impl Store {
    /// Deletes rows whose time is over and that were made longer ago than they are kept. Row ids begin with the time, so the oldest rows are
    /// the first of each table's own index. How many there were.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn apply_retention(&self, retention: Retention, now: Timestamp) -> Result<u64> {
        let mut swept = 0;
        self.clear_ended_actions(now).await?;
        for (statement, kept) in [
            (
                "DELETE FROM logins WHERE id IN (SELECT id FROM logins WHERE id < $1 AND expires_at < $3 ORDER BY id LIMIT $2)",
                retention.logins,
            ),
            (
                "DELETE FROM action_approvals WHERE id IN (SELECT id FROM action_approvals WHERE id < $1 AND expires_at < $3 ORDER BY id LIMIT $2)",
                retention.logins,
            ),
            (
                "DELETE FROM access_tokens WHERE id IN (SELECT id FROM access_tokens WHERE id < $1 AND expires_at < $3 ORDER BY id LIMIT $2)",
                retention.access_tokens,
            ),
            (
                "DELETE FROM refresh_tokens WHERE id IN (SELECT id FROM refresh_tokens WHERE id < $1 AND expires_at < $3 ORDER BY id LIMIT $2)",
                retention.refresh_tokens,
            ),
            // These two are found by their end, which differs from row to row. A code's is looked at once more as it goes: who
            // exchanges it at this moment moves it.
            (
                "DELETE FROM codes WHERE id IN (SELECT id FROM codes WHERE retain_until < $3 AND id < $1 ORDER BY retain_until LIMIT $2) AND retain_until < $3",
                Duration::ZERO,
            ),
            (
                "DELETE FROM replay_cache WHERE id IN (SELECT id FROM replay_cache WHERE expires_at < $3 AND $1 = $1 ORDER BY expires_at LIMIT $2)",
                Duration::ZERO,
            ),
            (
                "DELETE FROM passkey_ceremonies WHERE device_id IN (SELECT device_id FROM passkey_ceremonies WHERE expires_at < $3 AND $1 = $1 ORDER BY expires_at LIMIT $2) AND expires_at < $3",
                Duration::ZERO,
            ),
            (
                "DELETE FROM idempotent_requests WHERE id IN (SELECT id FROM idempotent_requests WHERE expires_at < $3 AND $1 = $1 ORDER BY expires_at LIMIT $2) AND expires_at < $3",
                Duration::ZERO,
            ),
            (
                "DELETE FROM test_sign_ins WHERE id IN (SELECT id FROM test_sign_ins WHERE expires_at < $3 AND $1 = $1 ORDER BY expires_at LIMIT $2) AND expires_at < $3",
                Duration::ZERO,
            ),
            (
                "DELETE FROM sign_on_requests WHERE id IN (SELECT id FROM sign_on_requests WHERE id < $1 AND expires_at < $3 ORDER BY id LIMIT $2)",
                retention.logins,
            ),
            (
                "DELETE FROM saml_logouts WHERE id IN (SELECT id FROM saml_logouts WHERE id < $1 AND expires_at < $3 ORDER BY id LIMIT $2)",
                retention.logins,
            ),
            (
                "DELETE FROM enrolments WHERE id IN (SELECT id FROM enrolments WHERE id < $1 AND expires_at < $3 ORDER BY id LIMIT $2)",
                retention.enrolments,
            ),
            (
                "DELETE FROM admin_tokens WHERE id IN (SELECT id FROM admin_tokens WHERE id < $1 AND expires_at < $3 ORDER BY id LIMIT $2)",
                retention.admin_tokens,
            ),
            (
                "DELETE FROM claim_traces WHERE id IN (SELECT id FROM claim_traces WHERE id < $1 AND created_at <= $3 ORDER BY id LIMIT $2)",
                retention.traces,
            ),
        ] {
            let before = first_text_of(now - kept);
            loop {
                let deleted = self.delete_slice(statement, before.clone(), now).await?;
                swept += deleted;
                if deleted < SLICE {
                    break;
                }
            }
        }
        let streamed = self.streamed(retention.streams).await?;
        loop {
            let deleted = self
                .delete_old_audit_entries(now - retention.audit, streamed)
                .await?;
            swept += deleted;
            if deleted < SLICE {
                break;
            }
        }
        self.sum_up_counts().await?;
        swept += self
            .delete_expired_cooldowns(now - retention.denials, now)
            .await?;
        swept += self.delete_idle_subjects(now - SUBJECTS).await?;
        let before = first_text_of(now - retention.sessions);
        loop {
            let deleted = self.delete_sessions(before.clone(), now).await?;
            swept += deleted;
            if deleted < SLICE {
                break;
            }
        }
        Ok(swept)
    }

    async fn delete_slice(
        &self,
        statement: &'static str,
        before: String,
        now: Timestamp,
    ) -> Result<u64> {
        self.write(move |db| {
            let before = before.clone();
            Box::pin(async move {
                let slice = i64::try_from(SLICE).unwrap_or(i64::MAX);
                Ok(sqlx::query(statement)
                    .bind(before)
                    .bind(slice)
                    .bind(now.millis())
                    .execute(db)
                    .await?
                    .rows_affected())
            })
        })
        .await
    }

    /// Deletes a slice of sessions. With the last one of its name (`sid`) goes what was noted of its applications: of a
    /// session that ran out by itself so long ago they are not told any more.
    async fn delete_sessions(&self, before: String, now: Timestamp) -> Result<u64> {
        self.write(move |db| {
            let before = before.clone();
            Box::pin(async move {
                let names: Vec<(String,)> = sqlx::query_as(
                    "DELETE FROM sessions
                     WHERE id IN (SELECT id FROM sessions WHERE id < $1 AND expires_at < $3 ORDER BY id LIMIT $2)
                     RETURNING sid",
                )
                .bind(before)
                .bind(i64::try_from(SLICE).unwrap_or(i64::MAX))
                .bind(now.millis())
                .fetch_all(&mut *db)
                .await?;
                let deleted = names.len() as u64;
                for (sid,) in names {
                    for statement in [
                        "DELETE FROM session_applications
                         WHERE sid = $1 AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.sid = $1)",
                        "DELETE FROM saml_participants
                         WHERE sid = $1 AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.sid = $1)",
                    ] {
                        sqlx::query(statement).bind(sid.clone()).execute(&mut *db).await?;
                    }
                }
                Ok(deleted)
            })
        })
        .await
    }
}
