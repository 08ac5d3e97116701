//! Logins under way.

use std::time::Duration;

use super::consents::ConsentGiven;
use super::rows::{digest, from_json, moment, parse, to_json};
use super::{
    OpenSignIns, Result, Store, StoreError, accounts, audit, codes, consents, devices, open_sign_ins, sessions,
};
use crate::clock::Timestamp;
use crate::id::{ApprovalId, LoginId, SessionId};
use crate::model::audit::{Entry, Origin};
use crate::model::login::{Login, LoginStage};
use crate::model::saml::Participation;
use crate::model::session::Session;
use crate::model::token::CodeGrant;
use crate::secret::Digest;

#[derive(sqlx::FromRow)]
struct LoginRow {
    id: String,
    browser: String,
    context: String,
    request: String,
    approval_id: Option<String>,
    session_id: Option<String>,
    answered_at: Option<i64>,
    created_at: i64,
    expires_at: i64,
}

impl TryFrom<LoginRow> for Login {
    type Error = StoreError;
    fn try_from(row: LoginRow) -> Result<Self> {
        let stage = match (row.answered_at, row.approval_id, row.session_id) {
            (Some(_), ..) => LoginStage::Answered,
            (None, Some(approval), _) => LoginStage::Asked(parse(&approval, "a login's approval")?),
            (None, None, Some(session)) => LoginStage::SignedIn(parse(&session, "a login's session")?),
            (None, None, None) => LoginStage::Identify,
        };
        Ok(Self {
            id: parse(&row.id, "a login's id")?,
            browser: digest(&row.browser, "a login's browser")?,
            context: from_json(&row.context, "a login's browser")?,
            request: from_json(&row.request, "a login's request")?,
            stage,
            created_at: moment(row.created_at),
            expires_at: moment(row.expires_at),
        })
    }
}

/// What comes of a login that is answered: all of it becomes durable at once, or nothing.
#[derive(Clone, Debug, Default)]
pub struct LoginAnswer {
    /// The session that begins, with the digest of its cookie.
    pub session: Option<(Session, Digest)>,
    /// Where its browser is.
    pub from: Origin,
    /// The browser's session before, which ends.
    pub replaces: Option<SessionId>,
    /// What the application is given.
    pub given: Option<Given>,
    /// What the person agreed to, to be remembered.
    pub consent: Option<ConsentGiven>,
    /// What the audit log is told.
    pub entries: Vec<Entry>,
    /// What it is told if the account was invited, and is active from then on.
    pub activated: Option<Entry>,
}

/// What an application is given that a person signs in to.
#[derive(Clone, Debug)]
pub enum Given {
    /// An authorization code.
    Code(Box<CodeGrant>),
    /// A SAML assertion, which makes it take part in the person's session, the one with this id; but for one of a trial.
    Assertion(SessionId, Option<Participation>),
}

impl Given {
    /// The session that it is given in.
    const fn session(&self) -> SessionId {
        match self {
            Self::Code(code) => code.subject.session_id,
            Self::Assertion(session, _) => *session,
        }
    }
}

impl Store {
    /// Adds a login that a signed-in user began.
    pub async fn insert_login(&self, login: Login) -> Result<()> {
        self.insert_login_within(login, None).await
    }

    /// Adds a login. `bounds` apply to logins without authentication: over them the oldest are removed.
    pub async fn insert_login_within(&self, login: Login, bounds: Option<OpenSignIns>) -> Result<()> {
        self.write(move |db| {
            let (login, bounds) = (login.clone(), bounds.clone());
            Box::pin(async move {
                let session = match login.stage {
                    LoginStage::SignedIn(session) => Some(session.to_string()),
                    LoginStage::Identify | LoginStage::Asked(_) | LoginStage::Answered => None,
                };
                sqlx::query(
                    "INSERT INTO logins (id, browser, context, request, created_at, expires_at, session_id, network)
                     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                )
                .bind(login.id.to_string())
                .bind(login.browser.to_text())
                .bind(to_json(&login.context)?)
                .bind(to_json(&login.request)?)
                .bind(login.created_at.millis())
                .bind(login.expires_at.millis())
                .bind(session)
                .bind(bounds.as_ref().map(|bounds| bounds.network.clone()))
                .execute(&mut *db)
                .await?;
                match &bounds {
                    Some(bounds) => open_sign_ins::evict(db, bounds).await,
                    None => Ok(()),
                }
            })
        })
        .await
    }

    /// Uses up the approval of a step in the console, if it was given no longer ago than `fresh`: which one it was.
    pub async fn claim_step(&self, id: LoginId, fresh: Duration, now: Timestamp) -> Result<Option<ApprovalId>> {
        self.write(move |db| {
            Box::pin(async move {
                devices::hold_approver(db, id).await?;
                let claimed: Option<(String,)> = sqlx::query_as(
                    "UPDATE logins SET answered_at = $2 WHERE id = $1 AND answered_at IS NULL AND expires_at > $2
                     AND EXISTS (SELECT 1 FROM approvals
                                 WHERE approvals.id = logins.approval_id AND approvals.login_id = logins.id
                                   AND approvals.state = 'approved' AND approvals.decided_at >= $3)
                     RETURNING approval_id",
                )
                .bind(id.to_string())
                .bind(now.millis())
                .bind((now - fresh).millis())
                .fetch_optional(db)
                .await?;
                claimed.map(|(approval,)| parse(&approval, "a step's approval")).transpose()
            })
        })
        .await
    }

    /// The login with this id, unless its time is over at `now`.
    pub async fn login(&self, id: LoginId, now: Timestamp) -> Result<Option<Login>> {
        let row: Option<LoginRow> = sqlx::query_as("SELECT * FROM logins WHERE id = $1 AND expires_at > $2")
            .bind(id.to_string())
            .bind(now.millis())
            .fetch_optional(&self.readers)
            .await?;
        row.map(Login::try_from).transpose()
    }

    /// Forgets the approval that a login asked for, and the session that it would have gone on with, so that the person
    /// may try again. Nothing happens to a login that was answered.
    pub async fn reset_login(&self, id: LoginId) -> Result<()> {
        self.write(move |db| {
            Box::pin(async move {
                sqlx::query(
                    "UPDATE logins SET approval_id = NULL, session_id = NULL WHERE id = $1 AND answered_at IS NULL",
                )
                .bind(id.to_string())
                .execute(db)
                .await?;
                Ok(())
            })
        })
        .await
    }

    /// Notes that the person goes on with the session that their browser has. `false`, and nothing done, if the phone
    /// was asked, or the login was answered.
    pub async fn continue_login(&self, id: LoginId, session: SessionId) -> Result<bool> {
        self.write(move |db| {
            Box::pin(async move {
                let updated = sqlx::query(
                    "UPDATE logins SET session_id = $2
                     WHERE id = $1 AND answered_at IS NULL AND approval_id IS NULL",
                )
                .bind(id.to_string())
                .bind(session.to_string())
                .execute(db)
                .await?;
                Ok(updated.rows_affected() > 0)
            })
        })
        .await
    }

    /// Claims the login's one answer and makes it durable. `false`, and nothing done, if it was answered before or is
    /// over. A new session needs an approval of this login that is `approved`; a code without one needs the session
    /// that the login goes on with, which must not have ended.
    pub async fn answer_login(&self, id: LoginId, answer: LoginAnswer, now: Timestamp) -> Result<bool> {
        self.write(move |db| {
            let answer = answer.clone();
            Box::pin(async move {
                if let (None, Some(given)) = (&answer.session, &answer.given)
                    && !sessions::hold(db, given.session(), now).await?
                {
                    return Ok(false);
                }
                if answer.session.is_some() {
                    devices::hold_approver(db, id).await?;
                }
                let statement = match (&answer.session, &answer.given) {
                    (Some(_), _) => {
                        "UPDATE logins SET answered_at = $2 WHERE id = $1 AND answered_at IS NULL AND expires_at > $2
                         AND EXISTS (SELECT 1 FROM approvals
                                     WHERE approvals.id = logins.approval_id AND approvals.login_id = logins.id
                                       AND approvals.state = 'approved')
                         RETURNING id"
                    }
                    (None, Some(_)) => {
                        "UPDATE logins SET answered_at = $2 WHERE id = $1 AND answered_at IS NULL AND expires_at > $2
                         AND approval_id IS NULL
                         AND EXISTS (SELECT 1 FROM sessions
                                     WHERE sessions.id = logins.session_id AND sessions.ended_at IS NULL
                                       AND sessions.expires_at > $2)
                         RETURNING id"
                    }
                    (None, None) => {
                        "UPDATE logins SET answered_at = $2 WHERE id = $1 AND answered_at IS NULL AND expires_at > $2
                         RETURNING id"
                    }
                };
                let claimed: Option<(String,)> =
                    sqlx::query_as(statement).bind(id.to_string()).bind(now.millis()).fetch_optional(&mut *db).await?;
                if claimed.is_none() {
                    return Ok(false);
                }
                if let Some(old) = answer.replaces {
                    sessions::replace(db, old, answer.session.as_ref().map(|(session, _)| session), now).await?;
                }
                if let Some((session, digest)) = &answer.session {
                    sessions::insert(db, session, *digest, id, &answer.from, now).await?;
                }
                match &answer.given {
                    Some(Given::Code(code)) => {
                        codes::insert(db, code).await?;
                        // The application never learns of a trial's.
                        if code.context.trial.is_none() {
                            sessions::join(db, code).await?;
                        }
                    }
                    Some(Given::Assertion(_, Some(participation))) => sessions::take_part(db, participation).await?,
                    Some(Given::Assertion(_, None)) | None => {}
                }
                audit::append(db, &answer.entries).await?;
                if let Some(entry) = &answer.activated {
                    accounts::signed_in_to(db, entry).await?;
                }
                if let Some(consent) = &answer.consent {
                    consents::remember(db, consent, now).await?;
                }
                Ok(true)
            })
        })
        .await
    }
}
