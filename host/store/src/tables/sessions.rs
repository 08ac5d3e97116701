//! Sessions.

pub(crate) mod logout;
pub(crate) mod portal;
pub(crate) mod saml_logouts;
pub(crate) mod saml_participants;
pub(crate) mod sign_on_state;
pub(crate) mod signed_in;

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use crate::engine::batch::bulk_sql::BulkSql;
use crate::engine::locked_rows::LockedRow;
use crate::engine::sql;
use crate::engine::sql::Connection;

use crate::engine::rows::{cell, parse, to_json};
use crate::{Result, Store, audit};
use assent_model::audit::{Entry, Origin};
use assent_model::clock::Timestamp;
use assent_model::id::{ApprovalId, DeviceId, SessionId, UserId};
use assent_model::saml::{Participation, SessionBrowser, SessionEnd};
use assent_model::secret::Digest;
use assent_model::session::Session;

use saml_participants::ParticipantRow;
use signed_in::SignedInSession;

/// Adds the session that an approval began, with the device of the approval, and the location of its browser.
pub(crate) async fn insert(
    db: &mut Connection,
    session: &Session,
    digest: Digest,
    approval: ApprovalId,
    from: &Origin,
    now: Timestamp,
) -> Result<()> {
    sql::query(
        "INSERT INTO sessions (id, digest, sid, user_id, auth_time, amr, channel, created_at, expires_at, signed_out,
                               ip_address, browser, device_id, without_browser)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, $10, $11,
                 (SELECT approvals.device_id FROM approvals WHERE approvals.id = $12 AND approvals.user_id = $4),
                 (SELECT COUNT(*) FROM approvals WHERE approvals.id = $12 AND approvals.backchannel_id IS NOT NULL))",
    )
    .bind(session.id.to_string())
    .bind(digest.to_text())
    .bind(&session.sid)
    .bind(session.user_id.to_string())
    .bind(session.authentication.at.millis())
    .bind(to_json(&session.authentication.amr)?)
    .bind(&session.authentication.channel)
    .bind(now.millis())
    .bind(session.expires_at.millis())
    .bind(from.address.map(|address| address.to_string()))
    .bind(&from.browser)
    .bind(approval.to_string())
    .execute(db)
    .await?;
    Ok(())
}

/// Ends the earlier session of a browser, because another one begins in it. If both have the same `sid`, the session of
/// the user continues under it. Otherwise the user is also logged out of the applications of the earlier session.
pub(crate) async fn replace(
    db: &mut Connection,
    old: SessionId,
    new: Option<&Session>,
    now: Timestamp,
) -> Result<()> {
    let ended: Option<(String,)> = sql::query_as(
        "UPDATE sessions SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL RETURNING sid",
    )
    .bind(old.to_string())
    .bind(now.millis())
    .fetch_optional(&mut *db)
    .await?;
    match ended {
        // The service providers cannot be notified, because the browser is being redirected elsewhere.
        Some((sid,)) if new.is_none_or(|new| new.sid != sid) => {
            log_out(db, &sid, now).await.map(drop)
        }
        _ => Ok(()),
    }
}

/// Ends the sessions with this `sid`, with their tokens and their participation in applications. Returns the
/// applications that only the browser can notify.
pub(crate) async fn log_out(db: &mut Connection, sid: &str, now: Timestamp) -> Result<SessionEnd> {
    let mut browsers = Vec::new();
    // A concurrent sign-in with the same `sid`, for which the first statement waited, may have added another session.
    let all = "UPDATE sessions SET ended_at = COALESCE(ended_at, $2), signed_out = 1 WHERE sid = $1 RETURNING digest";
    let open = "UPDATE sessions SET ended_at = COALESCE(ended_at, $2), signed_out = 1
                WHERE sid = $1 AND signed_out = 0 RETURNING digest";
    let mut statement = all;
    loop {
        let ended: Vec<(String,)> = sql::query_as(statement)
            .bind(sid.to_owned())
            .bind(now.millis())
            .fetch_all(&mut *db)
            .await?;
        if ended.is_empty() {
            break;
        }
        browsers.extend(ended.into_iter().map(|(cookie,)| SessionBrowser {
            sid: sid.to_owned(),
            cookie,
        }));
        statement = open;
    }
    let clients = sql::query_as(
        "DELETE FROM session_applications WHERE sid = $1 RETURNING sid, application_id, subject",
    )
    .bind(sid.to_owned())
    .fetch_all(&mut *db)
    .await?;
    let clients = logout::queue(db, clients, now).await?;
    let participants: Vec<Participation> = sql::query_as::<ParticipantRow>(
        "DELETE FROM saml_participants WHERE sid = $1 RETURNING sid, application_id, user_id, name_format, name, \
         session_index",
    )
    .bind(sid.to_owned())
    .fetch_values(&mut *db)
    .await?;
    let ended = SessionEnd {
        participants,
        frontchannel: logout::frontchannel(&clients)?,
        browsers,
        ended_before: false,
    };
    // Otherwise the browser sees no page that names applications.
    if ended.needs_browser() {
        logout::remember(db, &clients, now).await?;
    }
    Ok(ended)
}

/// Logs the user out of the applications of expired sessions, when the user signs out afterwards. Returns `None` if a
/// session with this `sid` is still open.
async fn log_out_if_ended(
    db: &mut Connection,
    sid: &str,
    now: Timestamp,
) -> Result<Option<SessionEnd>> {
    let open: Option<(i64,)> = sql::query_as(
        "SELECT 1 FROM sessions WHERE sid = $1 AND ended_at IS NULL AND expires_at > $2 LIMIT 1",
    )
    .bind(sid.to_owned())
    .bind(now.millis())
    .fetch_optional(&mut *db)
    .await?;
    match open {
        Some(_) => Ok(None),
        None => log_out(db, sid, now).await.map(Some),
    }
}

/// Ends all sessions of a user.
pub(crate) async fn log_out_everywhere(
    db: &mut Connection,
    user: UserId,
    now: Timestamp,
) -> Result<()> {
    sql::query(
        "UPDATE sessions SET ended_at = COALESCE(ended_at, $2), signed_out = 1 WHERE user_id = $1 AND signed_out = 0",
    )
    .bind(user.to_string())
    .bind(now.millis())
    .execute(&mut *db)
    .await?;
    let clients =
        sql::query_as("DELETE FROM session_applications WHERE user_id = $1 RETURNING sid, application_id, subject")
            .bind(user.to_string())
            .fetch_all(&mut *db)
            .await?;
    sql::query("DELETE FROM saml_participants WHERE user_id = $1")
        .bind(user.to_string())
        .execute(&mut *db)
        .await?;
    logout::queue(db, clients, now).await.map(drop)
}

/// Removes an application from all sessions of a user, who may no longer use it.
pub(crate) async fn leave_application(
    db: &mut Connection,
    user: String,
    application: String,
    now: Timestamp,
) -> Result<()> {
    let clients = sql::query_as(
        "DELETE FROM session_applications WHERE user_id = $1 AND application_id = $2
         RETURNING sid, application_id, subject",
    )
    .bind(&user)
    .bind(&application)
    .fetch_all(&mut *db)
    .await?;
    sql::query("DELETE FROM saml_participants WHERE user_id = $1 AND application_id = $2")
        .bind(user)
        .bind(application)
        .execute(&mut *db)
        .await?;
    logout::queue(db, clients, now).await.map(drop)
}

static LOCK_OPEN: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "UPDATE sessions SET signed_out = 0, used_at = v.column2 FROM (VALUES {($, $)}) AS v
         WHERE sessions.id = v.column1 AND ended_at IS NULL AND expires_at > v.column2 RETURNING sessions.id",
        0,
    )
});

/// The latest use of each session.
pub(crate) fn latest_uses(
    uses: impl Iterator<Item = (SessionId, Timestamp)>,
) -> Vec<(SessionId, Timestamp)> {
    let mut latest: BTreeMap<SessionId, Timestamp> = BTreeMap::new();
    for (id, now) in uses {
        let known = latest.entry(id).or_insert(now);
        *known = (*known).max(now);
    }
    latest.into_iter().collect()
}

/// Returns those of the sessions that are open, and records their uses at these times. Until the commit they cannot be
/// ended: a logout that waits for such a row sees everything that this transaction stores about the session.
pub(crate) async fn lock_open_sessions(
    db: &mut Connection,
    uses: &[(SessionId, Timestamp)],
) -> Result<HashSet<SessionId>> {
    let mut query = sql::query_as::<(String,)>(LOCK_OPEN.sql_for(uses.len()));
    for (id, now) in LOCK_OPEN.padded(uses) {
        query = query.bind(id.to_string()).bind(now.millis());
    }
    let open = query.fetch_all(db).await?.into_iter();
    open.map(|(id,)| parse(&id, cell("sessions", "id", &id)))
        .collect()
}

/// Returns whether a session is open, like [`lock_open_sessions`].
pub(crate) async fn lock_open_session(
    db: &mut Connection,
    id: SessionId,
    now: Timestamp,
) -> Result<bool> {
    let open = lock_open_sessions(db, &[(id, now)]).await?;
    Ok(!open.is_empty())
}

impl Store {
    /// The device that approved the sign-in of an open session. `None` if no device did, or the device is revoked.
    pub async fn device_of_session(&self, id: SessionId) -> Result<Option<DeviceId>> {
        let found: Option<(String,)> = sql::query_as(
            "SELECT devices.id FROM sessions JOIN devices ON devices.id = sessions.device_id
             WHERE sessions.id = $1 AND sessions.ended_at IS NULL AND devices.revoked_at IS NULL",
        )
        .bind(id.to_string())
        .fetch_optional(self.readers.lookups())
        .await?;
        found
            .map(|(device,)| parse(&device, cell("sessions", "device_id", &id.to_string())))
            .transpose()
    }

    /// The session with this id and its user, if it has not ended at `now`.
    pub async fn open_session(
        &self,
        id: SessionId,
        now: Timestamp,
    ) -> Result<Option<SignedInSession>> {
        let found = self.lookups.sessions.call(id.to_string()).await?;
        Ok(found.filter(|found| found.session.expires_at > now))
    }

    /// Postpones the end of an open session to `until`. Nothing happens if it ends later already.
    pub async fn prolong_session(&self, id: SessionId, until: Timestamp) -> Result<()> {
        self.writer.write_to_row(Some(LockedRow::Session(id)), None, (), move |db, ()| {
            Box::pin(async move {
                sql::query(
                    "UPDATE sessions SET expires_at = $2 WHERE id = $1 AND expires_at < $2 AND ended_at IS NULL",
                )
                .bind(id.to_string())
                .bind(until.millis())
                .execute(db)
                .await?;
                Ok(())
            })
        })
        .await
    }

    /// Ends the sessions with this `sid` because the user signed out, and the grants of their sign-ins except for
    /// `offline_access`. Clients are notified over the back channel. The browser must notify the returned applications.
    /// `entry` is logged, unless the sessions had ended before.
    pub async fn log_out(&self, sid: String, entry: Entry, now: Timestamp) -> Result<SessionEnd> {
        self.write((sid, entry), move |db, (sid, entry)| {
            Box::pin(async move {
                // The lock lets one of several concurrent requests end the sessions.
                let open: Vec<(String, String)> = sql::query_as(
                    "UPDATE sessions SET signed_out = signed_out WHERE sid = $1 AND ended_at IS NULL
                     RETURNING id, user_id",
                )
                .bind(sid)
                .fetch_all(&mut *db)
                .await?;
                let ended_before = open.is_empty();
                if let Some((session, user)) = open.into_iter().next() {
                    let user = parse(&user, cell("sessions", "user_id", &session))?;
                    audit::append(db, &[entry.clone().about(user)]).await?;
                }
                let ended = log_out(db, sid, now).await?;
                Ok(SessionEnd {
                    ended_before,
                    ..ended
                })
            })
        })
        .await
    }

    /// Logs the user out of the applications of a session that has expired. Returns `None` and changes nothing if a
    /// session with this `sid` is still open in some browser.
    pub async fn log_out_if_ended(
        &self,
        sid: String,
        now: Timestamp,
    ) -> Result<Option<SessionEnd>> {
        self.write(sid, move |db, sid| Box::pin(log_out_if_ended(db, sid, now)))
            .await
    }
}
