//! The session that a request presents, with its user: one read.

use std::sync::Arc;

use crate::engine::batch::loader::Row;
use crate::engine::rows::{cell, digest, from_json, moment, parse};
use crate::engine::sql;
use crate::tables::users::row::UserRow;
use crate::{Result, StoreError};
use assent_model::secret::Digest;
use assent_model::session::{Authentication, Session};
use assent_model::user::User;

/// An open session, and its user.
#[derive(Clone, Debug)]
pub struct SignedInSession {
    /// The session.
    pub session: Session,
    /// The digest of its cookie.
    pub digest: Digest,
    /// The user.
    pub user: Arc<User>,
}

pub(crate) const SIGNED_IN_SESSION: &str = sql::statement!(
    "SELECT sessions.id AS session_id, digest, sid, user_id, auth_time, amr, channel, expires_at, ",
    UserRow::COLUMNS,
    " FROM sessions JOIN users ON users.id = sessions.user_id WHERE sessions.id IN ({$}) AND ended_at IS NULL"
);

crate::engine::sql::row! {
    #[derive(Clone)]
    pub(crate) struct SessionRow {
        pub(super) session_id: String,
        digest: String,
        sid: String,
        user_id: String,
        auth_time: i64,
        amr: String,
        channel: Option<String>,
        expires_at: i64,
    }
}

crate::engine::sql::row! {
    pub(crate) struct SignedInRow {
        session: SessionRow,
        user: UserRow,
    }
}

impl Row for SignedInRow {
    type Key = String;
    type Value = SignedInSession;
    fn key(&self) -> String {
        self.session.session_id.clone()
    }
}

impl TryFrom<SignedInRow> for SignedInSession {
    type Error = StoreError;
    fn try_from(row: SignedInRow) -> Result<Self> {
        let (session, digest) = row.session.try_into()?;
        Ok(Self {
            session,
            digest,
            user: Arc::new(row.user.try_into()?),
        })
    }
}

/// A session, and the digest of its cookie.
impl TryFrom<SessionRow> for (Session, Digest) {
    type Error = StoreError;
    fn try_from(row: SessionRow) -> Result<Self> {
        let cell = |column| cell("sessions", column, &row.session_id);
        let session = Session {
            id: parse(&row.session_id, cell("id"))?,
            user_id: parse(&row.user_id, cell("user_id"))?,
            authentication: Authentication {
                at: moment(row.auth_time),
                amr: from_json(&row.amr, cell("amr"))?,
                channel: row.channel,
            },
            expires_at: moment(row.expires_at),
            sid: row.sid,
        };
        Ok((session, digest(&row.digest, cell("digest"))?))
    }
}

/// A session, and the versions of its user, of an application and of the user's account there.
pub(crate) const SIGN_ON_STATE: &str = "SELECT sessions.id AS session_id, sessions.digest, sessions.sid,
        sessions.user_id, sessions.auth_time, sessions.amr, sessions.channel, sessions.expires_at,
        v.column2 AS application_id, p.version AS application_version, p.updated_at AS application_updated_at,
        u.version AS user_version, u.updated_at AS user_updated_at, a.id AS account_id,
        a.version AS account_version, a.updated_at AS account_updated_at
    FROM (VALUES {($, $)}) AS v
    JOIN sessions ON sessions.id = v.column1 AND sessions.ended_at IS NULL
    JOIN applications p ON p.id = v.column2
    JOIN users u ON u.id = sessions.user_id
    JOIN accounts a ON a.application_id = p.id AND a.user_id = u.id";

crate::engine::sql::row! {
    #[derive(Clone)]
    pub(crate) struct SignOnRow {
        pub(super) session: SessionRow,
        pub(super) application_id: String,
        pub(super) application_version: i64,
        pub(super) application_updated_at: i64,
        pub(super) user_version: i64,
        pub(super) user_updated_at: i64,
        pub(super) account_id: String,
        pub(super) account_version: i64,
        pub(super) account_updated_at: i64,
    }
}

impl Row for SignOnRow {
    /// The session and the application.
    type Key = (String, String);
    type Value = Self;
    fn key(&self) -> Self::Key {
        (self.session.session_id.clone(), self.application_id.clone())
    }
}
