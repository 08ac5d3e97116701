//! Requests with an `Idempotency-Key`, which are executed once.

use std::collections::BTreeSet;

use crate::engine::rows::{cell, digest, moment};
use crate::engine::sql;
use crate::tables::administration::idempotent_executions::insert_subjects;
use crate::{Result, Store};
use assent_model::audit::RequestAttempt;
use assent_model::clock::Timestamp;
use assent_model::secret::Digest;

/// An earlier request with the same key.
#[derive(Clone, Debug)]
pub struct IdempotentRow {
    /// The digest of its body.
    pub body: Digest,
    /// Its response, sealed; `None` while it is in progress, or if the response was lost.
    pub response: Option<String>,
    /// Whether it made a change that was committed.
    pub is_executed: bool,
    /// Until when it may be in progress.
    pub in_progress_until: Timestamp,
}

impl Store {
    /// Claims the key of a request for this attempt until `until`, unless another attempt holds it at `now`. Returns
    /// `None` if the key was free, or else the earlier request.
    pub async fn claim_request(
        &self,
        attempt: RequestAttempt,
        body: Digest,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<IdempotentRow>> {
        self.write(attempt, move |db, RequestAttempt { request, attempt }| {
            Box::pin(async move {
                let claimed: Option<(String,)> = sql::query_as(
                    "INSERT INTO idempotent_requests (id, body_digest, in_progress_until, expires_at, attempt)
                     VALUES ($1, $2, $3, $3, $5)
                     ON CONFLICT (id) DO UPDATE
                     SET body_digest = excluded.body_digest, response = NULL, is_executed = 0,
                         in_progress_until = excluded.in_progress_until, expires_at = excluded.expires_at,
                         attempt = excluded.attempt
                     WHERE idempotent_requests.expires_at <= $4
                     RETURNING id",
                )
                .bind(request)
                .bind(body.to_text())
                .bind(until.millis())
                .bind(now.millis())
                .bind(attempt)
                .fetch_optional(&mut *db)
                .await?;
                if claimed.is_some() {
                    return Ok(None);
                }
                let (body, response, is_executed, until): (String, Option<String>, bool, i64) = sql::query_as(
                    "SELECT body_digest, response, is_executed, in_progress_until FROM idempotent_requests
                     WHERE id = $1",
                )
                .bind(request)
                .fetch_one(db)
                .await?;
                Ok(Some(IdempotentRow {
                    body: digest(&body, cell("idempotent_requests", "body_digest", request))?,
                    response,
                    is_executed,
                    in_progress_until: moment(until),
                }))
            })
        })
        .await
    }

    /// Stores the response of an attempt until `until`. `subjects` are the ids of the users, accounts and other objects
    /// that the request or its response concerns.
    pub async fn store_response(
        &self,
        attempt: RequestAttempt,
        response: String,
        subjects: BTreeSet<String>,
        until: Timestamp,
    ) -> Result<()> {
        self.write((attempt, response, subjects), move |db, (attempt, response, subjects)| {
            Box::pin(async move {
                let RequestAttempt { request, attempt } = attempt;
                let stored = sql::query(
                    "UPDATE idempotent_requests SET response = $3, expires_at = $4 WHERE id = $1 AND attempt = $2",
                )
                .bind(request)
                .bind(attempt)
                .bind(response)
                .bind(until.millis())
                .execute(&mut *db)
                .await?;
                if stored == 0 {
                    return Ok(());
                }
                insert_subjects(db, request, subjects).await
            })
        })
        .await
    }

    /// Releases the key of an attempt that failed, unless it made a change that was committed.
    pub async fn release_unless_executed(&self, attempt: RequestAttempt) -> Result<()> {
        self.write(attempt, |db, RequestAttempt { request, attempt }| {
            Box::pin(async move {
                for statement in [
                    "DELETE FROM idempotent_requests
                     WHERE id = $1 AND attempt = $2 AND response IS NULL AND is_executed = 0",
                    "UPDATE idempotent_requests SET in_progress_until = 0
                     WHERE id = $1 AND attempt = $2 AND response IS NULL",
                ] {
                    sql::query(statement)
                        .bind(request)
                        .bind(attempt)
                        .execute(&mut *db)
                        .await?;
                }
                Ok(())
            })
        })
        .await
    }
}
