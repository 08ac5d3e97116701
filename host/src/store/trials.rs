//! Trials: sign-ins that administrators try in an application's place.

use sqlx::AnyConnection;

use super::rows::{digest, moment, parse};
use super::{Result, Store, StoreError, audit};
use crate::clock::Timestamp;
use crate::id::{CodeId, LoginId, SessionId, TrialId};
use crate::model::audit::Entry;
use crate::model::trial::{Trial, TrialOutcome, TrialStage, TrialStep};
use crate::secret::Digest;

#[derive(sqlx::FromRow)]
struct TrialRow {
    id: String,
    application_id: String,
    user_id: String,
    session_id: String,
    browser: String,
    login_id: Option<String>,
    created_at: i64,
    expires_at: i64,
    taken_at: Option<i64>,
    outcome: Option<String>,
}

impl TryFrom<TrialRow> for Trial {
    type Error = StoreError;
    fn try_from(row: TrialRow) -> Result<Self> {
        let stage = match (row.outcome.as_deref(), row.taken_at) {
            (Some("done"), _) => TrialStage::Finished(TrialOutcome::Done),
            (Some("failed"), _) => TrialStage::Finished(TrialOutcome::Failed),
            (Some(_), _) => return Err(StoreError::Corrupt("a trial's outcome")),
            (None, Some(_)) => TrialStage::Taken,
            (None, None) => TrialStage::Open,
        };
        Ok(Self {
            id: parse(&row.id, "a trial's id")?,
            application: parse(&row.application_id, "a trial's application")?,
            user: parse(&row.user_id, "a trial's user")?,
            session: parse(&row.session_id, "a trial's session")?,
            browser: digest(&row.browser, "a trial's browser")?,
            login: row.login_id.as_deref().map(|id| parse(id, "a trial's login")).transpose()?,
            created_at: moment(row.created_at),
            expires_at: moment(row.expires_at),
            stage,
        })
    }
}

/// A step of a trial as it is kept.
#[derive(Clone, Debug)]
pub struct KeptStep {
    /// Which one.
    pub name: TrialStep,
    /// When it was.
    pub at: Timestamp,
    /// What is known of it, sealed.
    pub sealed: String,
}

/// How a trial ends.
#[derive(Clone, Debug)]
pub struct TrialEnd {
    /// How.
    pub outcome: TrialOutcome,
    /// What the application would have been told, sealed.
    pub result: String,
    /// The family of the tokens that it gave.
    pub family: Option<CodeId>,
    /// What the audit log is told.
    pub entry: Entry,
}

async fn keep_step(db: &mut AnyConnection, id: TrialId, step: &KeptStep) -> Result<()> {
    sqlx::query(
        "INSERT INTO trial_steps (trial_id, name, at, step) SELECT id, $2, $3, $4 FROM trials WHERE id = $1
         ON CONFLICT (trial_id, name) DO UPDATE SET at = excluded.at, step = excluded.step",
    )
    .bind(id.to_string())
    .bind(step.name.as_str())
    .bind(step.at.millis())
    .bind(step.sealed.clone())
    .execute(db)
    .await?;
    Ok(())
}

impl Store {
    /// Adds a trial, with its first step.
    pub async fn insert_trial(&self, trial: Trial, step: KeptStep, entry: Entry) -> Result<()> {
        self.write(move |db| {
            let (trial, step, entry) = (trial.clone(), step.clone(), entry.clone());
            Box::pin(async move {
                sqlx::query(
                    "INSERT INTO trials (id, application_id, user_id, session_id, browser, created_at, expires_at)
                     VALUES ($1, $2, $3, $4, $5, $6, $7)",
                )
                .bind(trial.id.to_string())
                .bind(trial.application.to_string())
                .bind(trial.user.to_string())
                .bind(trial.session.to_string())
                .bind(trial.browser.to_text())
                .bind(trial.created_at.millis())
                .bind(trial.expires_at.millis())
                .execute(&mut *db)
                .await?;
                keep_step(&mut *db, trial.id, &step).await?;
                audit::append(db, &[entry]).await
            })
        })
        .await
    }

    /// The trial with this id.
    pub async fn trial(&self, id: TrialId) -> Result<Option<Trial>> {
        let row: Option<TrialRow> = sqlx::query_as(
            "SELECT id, application_id, user_id, session_id, browser, login_id, created_at, expires_at, taken_at, outcome
             FROM trials WHERE id = $1",
        )
        .bind(id.to_string())
        .fetch_optional(&self.readers)
        .await?;
        row.map(Trial::try_from).transpose()
    }

    /// The trials of a session of the console that go on, and were not answered.
    pub async fn open_trials(&self, session: SessionId) -> Result<Vec<Trial>> {
        let rows: Vec<TrialRow> = sqlx::query_as(
            "SELECT id, application_id, user_id, session_id, browser, login_id, created_at, expires_at, taken_at, outcome
             FROM trials WHERE session_id = $1 AND taken_at IS NULL AND finished_at IS NULL",
        )
        .bind(session.to_string())
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter().map(Trial::try_from).collect()
    }

    /// What a trial went through, in the order of the steps, and its result, sealed both.
    pub async fn trial_steps(&self, id: TrialId) -> Result<(Vec<KeptStep>, Option<String>)> {
        let rows: Vec<(String, i64, String)> =
            sqlx::query_as("SELECT name, at, step FROM trial_steps WHERE trial_id = $1")
                .bind(id.to_string())
                .fetch_all(&self.readers)
                .await?;
        let known = |text: &str| TrialStep::ALL.into_iter().find(|step| step.as_str() == text);
        let mut steps = rows
            .into_iter()
            .map(|(name, at, sealed)| {
                let name = known(&name).ok_or(StoreError::Corrupt("a trial's step"))?;
                Ok(KeptStep { name, at: moment(at), sealed })
            })
            .collect::<Result<Vec<_>>>()?;
        steps.sort_by_key(|step| step.name);
        let result: Option<(Option<String>,)> = sqlx::query_as("SELECT result FROM trials WHERE id = $1")
            .bind(id.to_string())
            .fetch_optional(&self.readers)
            .await?;
        Ok((steps, result.and_then(|(result,)| result)))
    }

    /// Keeps a step of a trial in the place of what was known of it.
    pub async fn note_trial(&self, id: TrialId, step: KeptStep) -> Result<()> {
        self.write(move |db| {
            let step = step.clone();
            Box::pin(async move { keep_step(db, id, &step).await })
        })
        .await
    }

    /// Lets this login answer a trial, and none before it. Whether the trial is open still, and of the browser with this digest.
    pub async fn give_trial_login(&self, id: TrialId, login: LoginId, browser: Digest, now: Timestamp) -> Result<bool> {
        self.write(move |db| {
            Box::pin(async move {
                let updated = sqlx::query(
                    "UPDATE trials SET login_id = $2
                     WHERE id = $1 AND taken_at IS NULL AND finished_at IS NULL AND expires_at > $3 AND browser = $4",
                )
                .bind(id.to_string())
                .bind(login.to_string())
                .bind(now.millis())
                .bind(browser.to_text())
                .execute(db)
                .await?;
                Ok(updated.rows_affected() > 0)
            })
        })
        .await
    }

    /// Notes the session that came of a trial, so that it ends with it.
    pub async fn give_trial_session(&self, id: TrialId, session: SessionId) -> Result<()> {
        self.write(move |db| {
            Box::pin(async move {
                sqlx::query("UPDATE trials SET made_session = $2 WHERE id = $1")
                    .bind(id.to_string())
                    .bind(session.to_string())
                    .execute(db)
                    .await?;
                Ok(())
            })
        })
        .await
    }

    /// Claims the one answer of a trial. `false` if it was answered before, or is over.
    pub async fn take_trial(&self, id: TrialId, now: Timestamp) -> Result<bool> {
        self.write(move |db| {
            Box::pin(async move {
                let claimed: Option<(String,)> = sqlx::query_as(
                    "UPDATE trials SET taken_at = $2
                     WHERE id = $1 AND taken_at IS NULL AND finished_at IS NULL AND expires_at > $2 RETURNING id",
                )
                .bind(id.to_string())
                .bind(now.millis())
                .fetch_optional(db)
                .await?;
                Ok(claimed.is_some())
            })
        })
        .await
    }

    /// Ends a trial: it has a result, and what it gave is over, the session too. `false`, and nothing done, if it had ended
    /// before.
    pub async fn end_trial(&self, id: TrialId, end: TrialEnd, now: Timestamp) -> Result<bool> {
        self.write(move |db| {
            let end = end.clone();
            Box::pin(async move {
                let ended: Option<(Option<String>,)> = sqlx::query_as(
                    "UPDATE trials SET finished_at = $2, outcome = $3, result = $4
                     WHERE id = $1 AND finished_at IS NULL RETURNING made_session",
                )
                .bind(id.to_string())
                .bind(now.millis())
                .bind(end.outcome.as_str())
                .bind(end.result.clone())
                .fetch_optional(&mut *db)
                .await?;
                let Some((session,)) = ended else { return Ok(false) };
                if let Some(family) = end.family {
                    super::codes::revoke(&mut *db, family, now).await?;
                }
                if let Some(session) = session {
                    // No application was told of it, so there is none to tell.
                    sqlx::query("UPDATE sessions SET ended_at = COALESCE(ended_at, $2), logged_out = 1 WHERE id = $1")
                        .bind(session)
                        .bind(now.millis())
                        .execute(&mut *db)
                        .await?;
                }
                audit::append(db, &[end.entry]).await?;
                Ok(true)
            })
        })
        .await
    }
}
