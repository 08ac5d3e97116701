//! Logouts that notify SAML service providers one after the other, and then clients over the front channel.

use crate::engine::sql;
use crate::engine::sql::Connection;

use crate::engine::rows::{cell, digest, from_json, moment, parse, to_json};
use crate::tables::sessions::saml_participants::name_id;
use crate::{Result, Store, StoreError, Transition};
use assent_model::clock::Timestamp;
use assent_model::id::{Did, LogoutId};
use assent_model::login::GivenAnswer;
use assent_model::saml::{Logout, LogoutContinuation, LogoutOutcome, LogoutTurn};
use assent_model::secret::Digest;

crate::engine::sql::row! {
    struct LogoutRow {
        id: String,
        browsers: String,
        continuation: String,
        expires_at: i64,
        browser: Option<String>,
        frames_until: Option<i64>,
    }
}

impl TryFrom<LogoutRow> for Logout {
    type Error = StoreError;
    fn try_from(row: LogoutRow) -> Result<Self> {
        let at = |column| cell("saml_logouts", column, &row.id);
        Ok(Self {
            id: parse(&row.id, at("id"))?,
            browsers: from_json(&row.browsers, at("browsers"))?,
            continuation: from_json(&row.continuation, at("continuation"))?,
            browser: row
                .browser
                .as_ref()
                .map(|browser| digest(browser, at("browser")))
                .transpose()?,
            frames_until: row.frames_until.map(moment),
            expires_at: moment(row.expires_at),
        })
    }
}

crate::engine::sql::row! {
    struct TurnRow {
        id: String,
        application_id: String,
        sid: String,
        name_format: String,
        name: String,
        requested_at: Option<i64>,
        outcome: Option<String>,
    }
}

impl TryFrom<TurnRow> for LogoutTurn {
    type Error = StoreError;
    fn try_from(row: TurnRow) -> Result<Self> {
        Ok(Self {
            request: row.id.clone(),
            application: parse(
                &row.application_id,
                cell("saml_logout_requests", "application_id", &row.id),
            )?,
            sid: row.sid,
            name_id: name_id(
                &row.name_format,
                row.name,
                cell("saml_logout_requests", "name_format", &row.id),
            )?,
            requested_at: row.requested_at.map(moment),
            outcome: match row.outcome.as_deref() {
                None => None,
                Some("notified") => Some(LogoutOutcome::Ended),
                Some("failed") => Some(LogoutOutcome::Failed),
                Some(_) => {
                    return Err(cell("saml_logout_requests", "outcome", &row.id).unexpected());
                }
            },
        })
    }
}

const fn outcome_text(outcome: LogoutOutcome) -> &'static str {
    match outcome {
        LogoutOutcome::Ended => "notified",
        LogoutOutcome::Failed => "failed",
    }
}

async fn insert_turn(
    db: &mut Connection,
    logout: LogoutId,
    position: usize,
    turn: &LogoutTurn,
) -> Result<()> {
    sql::query(
        "INSERT INTO saml_logout_requests (id, logout_id, application_id, position, sid, name_format, name, outcome)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(&turn.request)
    .bind(logout.to_string())
    .bind(turn.application.to_string())
    .bind(i64::try_from(position).unwrap_or(i64::MAX))
    .bind(&turn.sid)
    .bind(turn.name_id.format.uri())
    .bind(&turn.name_id.value)
    .bind(turn.outcome.map(outcome_text))
    .execute(db)
    .await?;
    Ok(())
}

impl Store {
    /// Stores a logout with the service providers that must be notified, in their order.
    pub async fn insert_saml_logout(
        &self,
        logout: Logout,
        turns: Vec<LogoutTurn>,
        now: Timestamp,
    ) -> Result<()> {
        self.write((logout, turns), move |db, (logout, turns)| {
            Box::pin(async move {
                sql::query(
                    "INSERT INTO saml_logouts (id, browsers, continuation, created_at, expires_at, browser)
                     VALUES ($1, $2, $3, $4, $5, $6)",
                )
                .bind(logout.id.to_string())
                .bind(to_json(&logout.browsers)?)
                .bind(to_json(&logout.continuation)?)
                .bind(now.millis())
                .bind(logout.expires_at.millis())
                .bind(logout.browser.map(Digest::to_text))
                .execute(&mut *db)
                .await?;
                for (position, turn) in turns.iter().enumerate() {
                    insert_turn(db, logout.id, position, turn).await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// A logout, with its service providers in their order. Returns `None` if there is no such logout, it has expired,
    /// or it has finished so long ago that its end is not repeated.
    pub async fn saml_logout(
        &self,
        id: LogoutId,
        now: Timestamp,
    ) -> Result<Option<(Logout, Vec<LogoutTurn>)>> {
        let open: Option<LogoutRow> = sql::query_as(
            "SELECT id, browsers, continuation, expires_at, browser, frames_until FROM saml_logouts
             WHERE id = $1 AND expires_at > $2 AND (finished_at IS NULL OR finished_at > $3)",
        )
        .bind(id.to_string())
        .bind(now.millis())
        .bind((now - GivenAnswer::REPEATABLE).millis())
        .fetch_optional(&self.readers)
        .await?;
        let Some(open) = open else {
            return Ok(None);
        };
        let logout = open.try_into()?;
        let turns = sql::query_as::<TurnRow>(
            "SELECT id, application_id, sid, name_format, name, requested_at, outcome FROM saml_logout_requests
             WHERE logout_id = $1 ORDER BY position",
        )
        .bind(id.to_string())
        .fetch_values(&self.readers)
        .await?;
        Ok(Some((logout, turns)))
    }

    /// The last logout that this browser began by signing out, after `since`, and after which it continues there.
    pub async fn recent_saml_logout(
        &self,
        browser: Digest,
        continuation: &LogoutContinuation,
        since: Timestamp,
    ) -> Result<Option<LogoutId>> {
        let found: Option<(String,)> = sql::query_as(
            "SELECT id FROM saml_logouts WHERE browser = $1 AND created_at > $2 AND continuation = $3
             ORDER BY id DESC LIMIT 1",
        )
        .bind(browser.to_text())
        .bind(since.millis())
        .bind(to_json(continuation)?)
        .fetch_optional(&self.readers)
        .await?;
        found
            .map(|(id,)| parse(&id, cell("saml_logouts", "id", &id)))
            .transpose()
    }

    /// Records that the turn of a service provider begins now. Nothing happens if it began before.
    pub async fn start_saml_logout_turn(&self, request: String, now: Timestamp) -> Result<()> {
        self.write(request, move |db, request| {
            Box::pin(async move {
                sql::query(
                    "UPDATE saml_logout_requests SET requested_at = $2
                     WHERE id = $1 AND requested_at IS NULL AND outcome IS NULL",
                )
                .bind(request)
                .bind(now.millis())
                .execute(db)
                .await?;
                Ok(())
            })
        })
        .await
    }

    /// Records the outcome of a LogoutRequest. Returns the logout if the request belongs to this service provider and
    /// had no outcome yet.
    pub async fn settle_saml_logout(
        &self,
        request: String,
        application: Did,
        outcome: LogoutOutcome,
    ) -> Result<Option<LogoutId>> {
        self.write((request, application), move |db, (request, application)| {
            Box::pin(async move {
                let row: Option<(String, String)> = sql::query_as(
                    "UPDATE saml_logout_requests SET outcome = $3
                     WHERE id = $1 AND application_id = $2 AND outcome IS NULL RETURNING id, logout_id",
                )
                .bind(request)
                .bind(application.to_string())
                .bind(outcome_text(outcome))
                .fetch_optional(db)
                .await?;
                row.map(|(id, logout)| parse(&logout, cell("saml_logout_requests", "logout_id", &id)))
                    .transpose()
            })
        })
        .await
    }

    /// Records that the frames of the clients have time until then. Nothing happens if their time began before.
    pub async fn start_logout_frames(&self, id: LogoutId, until: Timestamp) -> Result<()> {
        self.write((), move |db, ()| {
            Box::pin(async move {
                sql::query("UPDATE saml_logouts SET frames_until = $2 WHERE id = $1 AND frames_until IS NULL")
                    .bind(id.to_string())
                    .bind(until.millis())
                    .execute(db)
                    .await?;
                Ok(())
            })
        })
        .await
    }

    /// Ends the time of the frames, and records the clients whose frames the browser loaded. A client that accepted a
    /// logout token keeps that outcome.
    pub async fn settle_logout_frames(
        &self,
        id: LogoutId,
        loaded: Vec<(String, Did)>,
    ) -> Result<()> {
        self.write(loaded, move |db, loaded| {
            Box::pin(async move {
                sql::query("UPDATE saml_logouts SET frames_until = 0 WHERE id = $1")
                    .bind(id.to_string())
                    .execute(&mut *db)
                    .await?;
                for (sid, application) in loaded {
                    sql::query(
                        "UPDATE logout_clients SET outcome = 'loaded'
                         WHERE sid = $1 AND application_id = $2 AND outcome IS NULL",
                    )
                    .bind(sid)
                    .bind(application.to_string())
                    .execute(&mut *db)
                    .await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// Claims the end of a logout, which only one caller may finish.
    pub async fn finish_saml_logout(&self, id: LogoutId, now: Timestamp) -> Result<Transition> {
        self.write((), move |db, ()| {
            Box::pin(async move {
                let finished = sql::query(
                    "UPDATE saml_logouts SET finished_at = $2
                     WHERE id = $1 AND finished_at IS NULL AND expires_at > $2",
                )
                .bind(id.to_string())
                .bind(now.millis())
                .execute(db)
                .await?;
                Ok(Transition::of_rows(finished))
            })
        })
        .await
    }
}
