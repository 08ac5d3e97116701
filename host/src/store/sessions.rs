//! Sessions.

use sqlx::AnyConnection;

use super::rows::{digest, from_json, moment, parse, to_json};
use super::{Result, Store};
use crate::clock::Timestamp;
use crate::id::SessionId;
use crate::model::session::{Authentication, Session};
use crate::model::token::CodeGrant;
use crate::secret::Digest;

#[derive(sqlx::FromRow)]
struct SessionRow {
    id: String,
    digest: String,
    sid: String,
    user_id: String,
    auth_time: i64,
    amr: String,
    expires_at: i64,
}

pub(super) async fn insert(db: &mut AnyConnection, session: &Session, digest: Digest, now: Timestamp) -> Result<()> {
    sqlx::query(
        "INSERT INTO sessions (id, digest, sid, user_id, auth_time, amr, created_at, expires_at, logged_out)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0)",
    )
    .bind(session.id.to_string())
    .bind(digest.to_text())
    .bind(session.sid.clone())
    .bind(session.user_id.to_string())
    .bind(session.authentication.at.millis())
    .bind(to_json(&session.authentication.amr)?)
    .bind(now.millis())
    .bind(session.expires_at.millis())
    .execute(db)
    .await?;
    Ok(())
}

pub(super) async fn end(db: &mut AnyConnection, id: SessionId, now: Timestamp) -> Result<()> {
    sqlx::query("UPDATE sessions SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL")
        .bind(id.to_string())
        .bind(now.millis())
        .execute(db)
        .await?;
    Ok(())
}

/// Notes that the application of a code takes part in its session.
pub(super) async fn join(db: &mut AnyConnection, code: &CodeGrant) -> Result<()> {
    sqlx::query(
        "INSERT INTO session_applications (sid, application_id, user_id) VALUES ($1, $2, $3)
         ON CONFLICT (sid, application_id) DO NOTHING",
    )
    .bind(code.context.sid.clone())
    .bind(code.application.to_string())
    .bind(code.subject.user_id.to_string())
    .execute(db)
    .await?;
    Ok(())
}

impl Store {
    /// The session with this id and the digest of its cookie, if it has not ended at `now`.
    pub async fn open_session(&self, id: SessionId, now: Timestamp) -> Result<Option<(Session, Digest)>> {
        let row: Option<SessionRow> = sqlx::query_as(
            "SELECT id, digest, sid, user_id, auth_time, amr, expires_at FROM sessions
             WHERE id = $1 AND ended_at IS NULL AND expires_at > $2",
        )
        .bind(id.to_string())
        .bind(now.millis())
        .fetch_optional(&self.readers)
        .await?;
        row.map(|row| {
            let session = Session {
                id: parse(&row.id, "a session's id")?,
                sid: row.sid,
                user_id: parse(&row.user_id, "a session's user")?,
                authentication: Authentication {
                    at: moment(row.auth_time),
                    amr: from_json(&row.amr, "a session's methods")?,
                },
                expires_at: moment(row.expires_at),
            };
            Ok((session, digest(&row.digest, "a session's digest")?))
        })
        .transpose()
    }

    /// Ends a session.
    pub async fn end_session(&self, id: SessionId, now: Timestamp) -> Result<()> {
        self.write(move |db| Box::pin(async move { end(db, id, now).await })).await
    }
}
