//! Test sign-ins: an administrator's trials of an application's sign-in.

use crate::engine::deferred;
use crate::engine::sql;
use crate::engine::sql::Connection;

use crate::engine::rows::{cell, digest, moment, parse};
use crate::{Result, Store, StoreError, Transition, audit};
use assent_model::audit::Entry;
use assent_model::change::Change;
use assent_model::clock::Timestamp;
use assent_model::id::{FamilyId, LoginId, SessionId, TestSignInId};
use assent_model::secret::Digest;
use assent_model::test_sign_in::{TestSignIn, TestSignInOutcome, TestSignInStage, TestSignInStep};

crate::engine::sql::row! {
    struct TestSignInRow {
        id: String,
        application_id: String,
        user_id: String,
        session_id: String,
        browser: String,
        login_id: Option<String>,
        created_at: i64,
        expires_at: i64,
        claimed_at: Option<i64>,
        outcome: Option<String>,
    }
}

impl TryFrom<TestSignInRow> for TestSignIn {
    type Error = StoreError;
    fn try_from(row: TestSignInRow) -> Result<Self> {
        let stage = match (row.outcome.as_deref(), row.claimed_at) {
            (Some(outcome), _) => TestSignInStage::Finished(
                TestSignInOutcome::parse(outcome)
                    .ok_or_else(|| cell("test_sign_ins", "outcome", &row.id).unexpected())?,
            ),
            (None, Some(_)) => TestSignInStage::Claimed,
            (None, None) => TestSignInStage::Open,
        };
        Ok(Self {
            id: parse(&row.id, cell("test_sign_ins", "id", &row.id))?,
            application: parse(
                &row.application_id,
                cell("test_sign_ins", "application_id", &row.id),
            )?,
            user: parse(&row.user_id, cell("test_sign_ins", "user_id", &row.id))?,
            session: parse(
                &row.session_id,
                cell("test_sign_ins", "session_id", &row.id),
            )?,
            browser: digest(&row.browser, cell("test_sign_ins", "browser", &row.id))?,
            login: row
                .login_id
                .as_deref()
                .map(|id| parse(id, cell("test_sign_ins", "login_id", &row.id)))
                .transpose()?,
            created_at: moment(row.created_at),
            expires_at: moment(row.expires_at),
            claimed_at: row.claimed_at.map(moment),
            stage,
        })
    }
}

/// A stored step of a test sign-in.
#[derive(Clone, Debug)]
pub struct StepRecord {
    /// The step.
    pub name: TestSignInStep,
    /// The time of the step.
    pub at: Timestamp,
    /// The details of the step, sealed.
    pub sealed: String,
}

/// The result of a test sign-in.
#[derive(Clone, Debug)]
pub struct TestSignInResult {
    /// The outcome.
    pub outcome: TestSignInOutcome,
    /// The claims that the application would have received, sealed.
    pub result: String,
    /// The token family of the test sign-in.
    pub family: Option<FamilyId>,
    /// The entry for the audit log.
    pub entry: Entry,
}

async fn insert_step(db: &mut Connection, id: TestSignInId, step: &StepRecord) -> Result<()> {
    sql::query(
        "INSERT INTO test_sign_in_steps (test_sign_in_id, name, at, step) SELECT id, $2, $3,
           $4 FROM test_sign_ins WHERE id = $1
         ON CONFLICT (test_sign_in_id, name) DO UPDATE SET at = excluded.at, step = excluded.step",
    )
    .bind(id.to_string())
    .bind(step.name.as_str())
    .bind(step.at.millis())
    .bind(&step.sealed)
    .execute(&mut *db)
    .await?;
    deferred::record_change(db, Change::TestSignIn(id))
}

impl Store {
    /// Adds a test sign-in, with its first step.
    pub async fn insert_test_sign_in(
        &self,
        test_sign_in: TestSignIn,
        step: StepRecord,
        entry: Entry,
    ) -> Result<()> {
        self.write((test_sign_in, step, entry), |db, (test_sign_in, step, entry)| {
            Box::pin(async move {
                sql::query(
                    "INSERT INTO test_sign_ins (id, application_id, user_id, session_id, browser, created_at,
                       expires_at)
                     VALUES ($1, $2, $3, $4, $5, $6, $7)",
                )
                .bind(test_sign_in.id.to_string())
                .bind(test_sign_in.application.to_string())
                .bind(test_sign_in.user.to_string())
                .bind(test_sign_in.session.to_string())
                .bind(test_sign_in.browser.to_text())
                .bind(test_sign_in.created_at.millis())
                .bind(test_sign_in.expires_at.millis())
                .execute(&mut *db)
                .await?;
                insert_step(&mut *db, test_sign_in.id, step).await?;
                audit::append(db, std::slice::from_ref(entry)).await
            })
        })
        .await
    }

    /// The test sign-in with this id.
    pub async fn test_sign_in(&self, id: TestSignInId) -> Result<Option<TestSignIn>> {
        sql::query_as::<TestSignInRow>(
            "SELECT id, application_id, user_id, session_id, browser, login_id, created_at, expires_at, claimed_at,
               outcome
             FROM test_sign_ins WHERE id = $1",
        )
        .bind(id.to_string())
        .fetch_value(&self.readers)
        .await
    }

    /// The unfinished test sign-ins of a console session that were not answered yet.
    pub async fn open_test_sign_ins(&self, session: SessionId) -> Result<Vec<TestSignIn>> {
        sql::query_as::<TestSignInRow>(
            "SELECT id, application_id, user_id, session_id, browser, login_id, created_at, expires_at, claimed_at,
               outcome
             FROM test_sign_ins WHERE session_id = $1 AND claimed_at IS NULL AND finished_at IS NULL",
        )
        .bind(session.to_string())
        .fetch_values(&self.readers)
        .await
    }

    /// The steps of a test sign-in in their order, and its result. Both are sealed.
    pub async fn test_sign_in_steps(
        &self,
        id: TestSignInId,
    ) -> Result<(Vec<StepRecord>, Option<String>)> {
        let rows: Vec<(String, i64, String)> = sql::query_as(
            "SELECT name, at, step FROM test_sign_in_steps WHERE test_sign_in_id = $1",
        )
        .bind(id.to_string())
        .fetch_all(&self.readers)
        .await?;
        let mut steps = rows
            .into_iter()
            .map(|(name, at, sealed)| {
                let name = TestSignInStep::parse(&name).ok_or_else(|| {
                    cell("test_sign_in_steps", "name", &id.to_string()).unexpected()
                })?;
                Ok(StepRecord {
                    name,
                    at: moment(at),
                    sealed,
                })
            })
            .collect::<Result<Vec<_>>>()?;
        steps.sort_by_key(|step| step.name);
        let result: Option<(Option<String>,)> =
            sql::query_as("SELECT result FROM test_sign_ins WHERE id = $1")
                .bind(id.to_string())
                .fetch_optional(&self.readers)
                .await?;
        Ok((steps, result.and_then(|(result,)| result)))
    }

    /// Stores a step of a test sign-in, and replaces an earlier version of the step.
    pub async fn record_test_sign_in_step(&self, id: TestSignInId, step: StepRecord) -> Result<()> {
        self.write(step, move |db, step| Box::pin(insert_step(db, id, step)))
            .await
    }

    /// Sets the login that may answer a test sign-in, in place of an earlier one. Only the browser with this digest may
    /// do so.
    pub async fn set_test_sign_in_login(
        &self,
        id: TestSignInId,
        login: LoginId,
        browser: Digest,
        now: Timestamp,
    ) -> Result<Transition> {
        self.write((), move |db, ()| {
            Box::pin(async move {
                let updated = sql::query(
                    "UPDATE test_sign_ins SET login_id = $2
                     WHERE id = $1 AND claimed_at IS NULL AND finished_at IS NULL AND expires_at > $3 AND browser = $4",
                )
                .bind(id.to_string())
                .bind(login.to_string())
                .bind(now.millis())
                .bind(browser.to_text())
                .execute(&mut *db)
                .await?;
                deferred::record_change(db, Change::TestSignIn(id))?;
                Ok(Transition::of_rows(updated))
            })
        })
        .await
    }

    /// Records the session that a test sign-in created, so that both end together.
    pub async fn set_test_sign_in_session(
        &self,
        id: TestSignInId,
        session: SessionId,
    ) -> Result<()> {
        self.write((), move |db, ()| {
            Box::pin(async move {
                sql::query("UPDATE test_sign_ins SET created_session = $2 WHERE id = $1")
                    .bind(id.to_string())
                    .bind(session.to_string())
                    .execute(db)
                    .await?;
                Ok(())
            })
        })
        .await
    }

    /// Claims the answer of a test sign-in, which only one caller may give.
    pub async fn claim_test_sign_in(&self, id: TestSignInId, now: Timestamp) -> Result<Transition> {
        self.write((), move |db, ()| {
            Box::pin(async move {
                let claimed = sql::query(
                    "UPDATE test_sign_ins SET claimed_at = $2
                     WHERE id = $1 AND claimed_at IS NULL AND finished_at IS NULL AND expires_at > $2",
                )
                .bind(id.to_string())
                .bind(now.millis())
                .execute(&mut *db)
                .await?;
                deferred::record_change(db, Change::TestSignIn(id))?;
                Ok(Transition::of_rows(claimed))
            })
        })
        .await
    }

    /// Ends a test sign-in: stores its result, and revokes its tokens and its session.
    pub async fn finish_test_sign_in(
        &self,
        id: TestSignInId,
        end: TestSignInResult,
        now: Timestamp,
    ) -> Result<Transition> {
        self.write(end, move |db, end| {
            Box::pin(async move {
                let ended: Option<(Option<String>,)> = sql::query_as(
                    "UPDATE test_sign_ins SET finished_at = $2, outcome = $3, result = $4
                     WHERE id = $1 AND finished_at IS NULL RETURNING created_session",
                )
                .bind(id.to_string())
                .bind(now.millis())
                .bind(end.outcome.as_str())
                .bind(&end.result)
                .fetch_optional(&mut *db)
                .await?;
                let Some((session,)) = ended else { return Ok(Transition::NotOpen) };
                if let Some(family) = end.family {
                    crate::tables::tokens::revoke(&mut *db, family, now).await?;
                }
                if let Some(session) = session {
                    // No application received a token, so none must be notified.
                    sql::query("UPDATE sessions SET ended_at = COALESCE(ended_at, $2), signed_out = 1 WHERE id = $1")
                        .bind(session)
                        .bind(now.millis())
                        .execute(&mut *db)
                        .await?;
                }
                deferred::record_change(db, Change::TestSignIn(id))?;
                audit::append(db, std::slice::from_ref(&end.entry)).await?;
                Ok(Transition::Done)
            })
        })
        .await
    }
}
