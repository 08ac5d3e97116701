//! Requests that are done once.

use std::collections::BTreeSet;

use crate::rows::{cell, digest, moment};
use crate::sql;
use crate::{Result, Store};
use assent_model::clock::Timestamp;
use assent_model::secret::Digest;

/// A request that was there before.
#[derive(Clone, Debug)]
pub struct IdempotentRow {
    /// The digest of its body.
    pub body: Digest,
    /// Its answer, sealed; `None` while it is under way, or if it was lost.
    pub answer: Option<String>,
    /// Whether it made a change that was committed.
    pub is_executed: bool,
    /// Until when it may be under way.
    pub in_progress_until: Timestamp,
}

impl Store {
    /// Claims the key of a request until `until`, unless it is claimed at `now`. `None` if it was free; else what is
    /// there.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn claim_request(
        &self,
        id: String,
        body: Digest,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<IdempotentRow>> {
        self.write(move |db| {
            let id = id.clone();
            Box::pin(async move {
                let claimed: Option<(String,)> = sql::query_as(
                    "INSERT INTO idempotent_requests (id, body_digest, in_progress_until, expires_at)
                     VALUES ($1, $2, $3, $3)
                     ON CONFLICT (id) DO UPDATE
                     SET body_digest = excluded.body_digest, response = NULL, is_executed = 0,
                         in_progress_until = excluded.in_progress_until, expires_at = excluded.expires_at
                     WHERE idempotent_requests.expires_at <= $4
                     RETURNING id",
                )
                .bind(id.clone())
                .bind(body.to_text())
                .bind(until.millis())
                .bind(now.millis())
                .fetch_optional(&mut *db)
                .await?;
                if claimed.is_some() {
                    return Ok(None);
                }
                let (body, answer, is_executed, until): (String, Option<String>, bool, i64) = sql::query_as(
                    "SELECT body_digest, response, is_executed, in_progress_until FROM idempotent_requests
                     WHERE id = $1",
                )
                .bind(id.clone())
                .fetch_one(db)
                .await?;
                Ok(Some(IdempotentRow {
                    body: digest(&body, cell("idempotent_requests", "body_digest", &id))?,
                    answer,
                    is_executed,
                    in_progress_until: moment(until),
                }))
            })
        })
        .await
    }

    /// Keeps the answer of a request until then. `subjects` are the ids of users, accounts and others that the request
    /// or its answer is about.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn store_response(
        &self,
        id: String,
        answer: String,
        subjects: BTreeSet<String>,
        until: Timestamp,
    ) -> Result<()> {
        self.write(move |db| {
            let (id, answer, subjects) = (id.clone(), answer.clone(), subjects.clone());
            Box::pin(async move {
                let kept = sql::query("UPDATE idempotent_requests SET response = $2, expires_at = $3 WHERE id = $1")
                    .bind(id.clone())
                    .bind(answer)
                    .bind(until.millis())
                    .execute(&mut *db)
                    .await?;
                if kept == 0 {
                    return Ok(());
                }
                for subject in subjects {
                    sql::query(
                        "INSERT INTO idempotent_request_subjects (request_id, subject) VALUES ($1, $2)
                         ON CONFLICT DO NOTHING",
                    )
                    .bind(id.clone())
                    .bind(subject)
                    .execute(&mut *db)
                    .await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// Gives the key of a request back.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn release_request(&self, id: String) -> Result<()> {
        self.write(move |db| {
            let id = id.clone();
            Box::pin(async move {
                sql::query("DELETE FROM idempotent_requests WHERE id = $1 AND response IS NULL")
                    .bind(id)
                    .execute(db)
                    .await?;
                Ok(())
            })
        })
        .await
    }

    /// Gives the key of a request back, unless the request made a change that was committed.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn release_unless_executed(&self, id: String) -> Result<()> {
        self.write(move |db| {
            let id = id.clone();
            Box::pin(async move {
                for statement in [
                    "DELETE FROM idempotent_requests WHERE id = $1 AND response IS NULL AND is_executed = 0",
                    "UPDATE idempotent_requests SET in_progress_until = 0 WHERE id = $1 AND response IS NULL",
                ] {
                    sql::query(statement).bind(id.clone()).execute(&mut *db).await?;
                }
                Ok(())
            })
        })
        .await
    }
}
