//! The session that a request presents, with its user: one read.

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
    pub user: User,
}

pub(crate) const SIGNED_IN_SESSION: &str = sql::statement!(
    "SELECT sessions.id AS session_id, digest, sid, user_id, auth_time, amr, channel, expires_at, ",
    UserRow::COLUMNS,
    " FROM sessions JOIN users ON users.id = sessions.user_id WHERE sessions.id IN ({$}) AND ended_at IS NULL"
);

crate::engine::sql::row! {
    pub(crate) struct SignedInRow {
        session_id: String,
        digest: String,
        sid: String,
        user_id: String,
        auth_time: i64,
        amr: String,
        channel: Option<String>,
        expires_at: i64,
        user: UserRow,
    }
}

impl Row for SignedInRow {
    type Key = String;
    type Value = SignedInSession;
    fn key(&self) -> String {
        self.session_id.clone()
    }
}

impl TryFrom<SignedInRow> for SignedInSession {
    type Error = StoreError;
    fn try_from(row: SignedInRow) -> Result<Self> {
        let cell = |column| cell("sessions", column, &row.session_id);
        Ok(Self {
            session: Session {
                id: parse(&row.session_id, cell("id"))?,
                user_id: parse(&row.user_id, cell("user_id"))?,
                authentication: Authentication {
                    at: moment(row.auth_time),
                    amr: from_json(&row.amr, cell("amr"))?,
                    channel: row.channel,
                },
                expires_at: moment(row.expires_at),
                sid: row.sid,
            },
            digest: digest(&row.digest, cell("digest"))?,
            user: row.user.try_into()?,
        })
    }
}
