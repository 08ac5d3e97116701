//! Logins.

pub(crate) mod completion;

use crate::engine::deferred;
use crate::engine::rows::{cell, digest, from_json, moment, parse, to_json};
use crate::engine::sql;
use crate::tables::sign_in::open_sign_ins;
use crate::{OpenSignIns, Result, Store, StoreError};
use assent_model::change::Change;
use assent_model::clock::Timestamp;
use assent_model::id::{LoginId, SessionId};
use assent_model::login::{GivenAnswer, Login, LoginStage};

crate::engine::sql::row! {
    struct LoginRow of logins {
        id: String,
        browser: String,
        context: String,
        request: String,
        approval_id: Option<String>,
        session_id: Option<String>,
        answered_at: Option<i64>,
        answer: Option<String>,
        created_at: i64,
        expires_at: i64,
    }
}

impl TryFrom<LoginRow> for Login {
    type Error = StoreError;
    fn try_from(row: LoginRow) -> Result<Self> {
        let answered = row.answered_at.zip(row.answer);
        let stage = match (answered, row.approval_id, row.session_id) {
            (Some((at, answer)), ..) => LoginStage::Answered(GivenAnswer {
                at: moment(at),
                answer: from_json(&answer, cell("logins", "answer", &row.id))?,
            }),
            (None, Some(approval), _) => {
                LoginStage::Asked(parse(&approval, cell("logins", "approval_id", &row.id))?)
            }
            (None, None, Some(session)) => {
                LoginStage::SignedIn(parse(&session, cell("logins", "session_id", &row.id))?)
            }
            (None, None, None) => LoginStage::Identify,
        };
        Ok(Self {
            id: parse(&row.id, cell("logins", "id", &row.id))?,
            browser: digest(&row.browser, cell("logins", "browser", &row.id))?,
            context: from_json(&row.context, cell("logins", "context", &row.id))?,
            request: from_json(&row.request, cell("logins", "request", &row.id))?,
            stage,
            created_at: moment(row.created_at),
            expires_at: moment(row.expires_at),
        })
    }
}

impl Store {
    /// Adds a login that a signed-in user began.
    pub async fn insert_login(&self, login: Login) -> Result<()> {
        self.insert_login_within(login, None).await
    }

    /// Adds a login, unless it is there already. `bounds` apply to logins without authentication: others above them are
    /// removed.
    pub async fn insert_login_within(
        &self,
        login: Login,
        bounds: Option<OpenSignIns>,
    ) -> Result<()> {
        self.write((login, bounds), |db, (login, bounds)| {
            Box::pin(async move {
                let session = match &login.stage {
                    LoginStage::SignedIn(session) => Some(session.to_string()),
                    LoginStage::Identify | LoginStage::Asked(_) | LoginStage::Answered(_) => None,
                };
                sql::query(
                    "INSERT INTO logins (id, browser, context, request, created_at, expires_at, session_id, network,
                       network_56, network_48, known)
                     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (id) DO NOTHING",
                )
                .bind(login.id.to_string())
                .bind(login.browser.to_text())
                .bind(to_json(&login.context)?)
                .bind(to_json(&login.request)?)
                .bind(login.created_at.millis())
                .bind(login.expires_at.millis())
                .bind(session)
                .bind(bounds.as_ref().map(|bounds| bounds.network.clone()))
                .bind(bounds.as_ref().and_then(|bounds| bounds.wider_network(0)))
                .bind(bounds.as_ref().and_then(|bounds| bounds.wider_network(1)))
                .bind(bounds.as_ref().is_some_and(|bounds| bounds.is_known))
                .execute(&mut *db)
                .await?;
                match bounds {
                    Some(bounds) => open_sign_ins::evict_sign_ins(db, login, bounds).await,
                    None => Ok(()),
                }
            })
        })
        .await
    }

    /// The login with this id, unless it has expired at `now`.
    pub async fn login(&self, id: LoginId, now: Timestamp) -> Result<Option<Login>> {
        sql::query_as::<LoginRow>(sql::statement!(
            "SELECT ",
            LoginRow::COLUMNS,
            " FROM logins WHERE id = $1 AND expires_at > $2"
        ))
        .bind(id.to_string())
        .bind(now.millis())
        .fetch_value(self.readers.lookups())
        .await
    }

    /// Removes the approval and the session from a login, so that the user may try again. The session is then one that
    /// the user declined. Nothing happens if the login was answered.
    pub async fn reset_login(&self, id: LoginId) -> Result<()> {
        self.write((), move |db, ()| {
            Box::pin(async move {
                sql::query(
                    "UPDATE logins SET approval_id = NULL, session_id = NULL,
                                       declined_session_id = COALESCE(session_id, declined_session_id)
                     WHERE id = $1 AND answered_at IS NULL",
                )
                .bind(id.to_string())
                .execute(db)
                .await?;
                Ok(())
            })
        })
        .await
    }

    /// Whether the user declined to continue the login with this session.
    pub async fn has_declined(&self, id: LoginId, session: SessionId) -> Result<bool> {
        Ok(
            sql::query("SELECT 1 FROM logins WHERE id = $1 AND declined_session_id = $2")
                .bind(id.to_string())
                .bind(session.to_string())
                .exists(&self.readers)
                .await?,
        )
    }

    /// Records that the user continues with the browser's session. Nothing happens if the login has an approval request
    /// or was answered.
    pub async fn continue_login(&self, id: LoginId, session: SessionId) -> Result<()> {
        self.write((), move |db, ()| {
            Box::pin(async move {
                sql::query(
                    "UPDATE logins SET session_id = $2
                     WHERE id = $1 AND answered_at IS NULL AND approval_id IS NULL",
                )
                .bind(id.to_string())
                .bind(session.to_string())
                .execute(&mut *db)
                .await?;
                deferred::record_change(db, Change::Login(id))
            })
        })
        .await
    }
}
