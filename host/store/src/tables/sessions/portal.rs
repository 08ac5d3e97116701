//! The objects that users see and end on the portal. Each statement names the user that must own the object.

use std::collections::HashMap;

use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::tables::devices::enrolment_links;

use crate::engine::rows::{cell, moment, parse};
use crate::tables::backchannel::withdrawal;
use crate::tables::sessions;
use crate::tables::users::deprovisioning;
use crate::{DeviceWrite, Result, Store, UserGuard, audit};
use assent_model::audit::{Entry, Origin};
use assent_model::clock::Timestamp;
use assent_model::id::{DeviceId, SessionId, UserId};
use assent_model::recovery::CodesOfDevice;
use assent_model::saml::SessionEnd;

/// The most open sessions of a user that are read.
const MOST_SESSIONS: i64 = 200;

/// A session that has not ended, as its user sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenSession {
    /// The row's id.
    pub id: SessionId,
    /// The session id (`sid`).
    pub sid: String,
    /// When the user last signed in.
    pub signed_in_at: Timestamp,
    /// The expiry, if it is not used again.
    pub expires_at: Timestamp,
    /// Whether a test sign-in created it. No browser has its cookie, so no use moves its expiry.
    pub is_test_sign_in: bool,
    /// When it last admitted the user to an application without a new sign-in.
    pub used_at: Option<Timestamp>,
    /// Whether an application's request without a browser, or the code of a device, began it. No browser has its
    /// cookie.
    pub without_browser: bool,
    /// The location of its browser at that time, if it is known.
    pub from: Origin,
    /// The names of the applications that the user used in it.
    pub applications: Vec<String>,
}

crate::engine::sql::row! {
    struct OpenSessionRow {
        id: String,
        sid: String,
        auth_time: i64,
        expires_at: i64,
        test_sign_in: Option<String>,
        used_at: Option<i64>,
        ip_address: Option<String>,
        browser: Option<String>,
        without_browser: i64,
    }
}

impl Store {
    /// The user's sessions that have not ended at `now`, the latest first.
    pub async fn open_sessions_of(&self, user: UserId, now: Timestamp) -> Result<Vec<OpenSession>> {
        let rows: Vec<OpenSessionRow> = sql::query_as(
            "SELECT sessions.id, sid, auth_time, sessions.expires_at, test_sign_ins.id AS test_sign_in, used_at,
                    ip_address, sessions.browser, without_browser
             FROM sessions LEFT JOIN test_sign_ins ON test_sign_ins.created_session = sessions.id
             WHERE sessions.user_id = $1 AND ended_at IS NULL AND sessions.expires_at > $2
             ORDER BY sessions.id DESC LIMIT $3",
        )
        .bind(user.to_string())
        .bind(now.millis())
        .bind(MOST_SESSIONS)
        .fetch_all(&self.readers)
        .await?;
        let used: Vec<(String, String)> = sql::query_as(
            "SELECT part.sid, applications.name FROM session_applications AS part
             JOIN applications ON applications.id = part.application_id WHERE part.user_id = $1
             UNION
             SELECT part.sid, applications.name FROM saml_participants AS part
             JOIN applications ON applications.id = part.application_id WHERE part.user_id = $1
             ORDER BY 2, 1",
        )
        .bind(user.to_string())
        .fetch_all(&self.readers)
        .await?;
        let mut applications: HashMap<String, Vec<String>> = HashMap::new();
        for (sid, name) in used {
            applications.entry(sid).or_default().push(name);
        }
        rows.into_iter()
            .map(|row| {
                let address = row
                    .ip_address
                    .map(|text| parse(&text, cell("sessions", "ip_address", &row.id)))
                    .transpose()?;
                Ok(OpenSession {
                    id: parse(&row.id, cell("sessions", "id", &row.id))?,
                    applications: applications.get(&row.sid).cloned().unwrap_or_default(),
                    sid: row.sid,
                    signed_in_at: moment(row.auth_time),
                    expires_at: moment(row.expires_at),
                    is_test_sign_in: row.test_sign_in.is_some(),
                    used_at: row.used_at.map(moment),
                    without_browser: row.without_browser != 0,
                    from: Origin {
                        address,
                        browser: row.browser,
                    },
                })
            })
            .collect()
    }

    /// Ends one session of a user, as a sign-out in its browser would. Returns `None` and changes nothing if the user
    /// has no such open session. Its SAML service providers cannot be notified from another browser.
    ///
    /// # Errors
    /// [`StoreError::Stale`](crate::StoreError::Stale) if the user's version does not match `guard`.
    pub async fn end_session_of(
        &self,
        guard: impl Into<UserGuard>,
        id: SessionId,
        entry: Entry,
        now: Timestamp,
    ) -> Result<Option<SessionEnd>> {
        let guard = guard.into();
        self.write(entry, move |db, entry| {
            Box::pin(async move {
                let user = guard.lock(db).await?;
                let open: Option<(String,)> = sql::query_as(
                    "SELECT sid FROM sessions WHERE id = $1 AND user_id = $2 AND ended_at IS NULL",
                )
                .bind(id.to_string())
                .bind(user.to_string())
                .fetch_optional(&mut *db)
                .await?;
                let Some((sid,)) = open else { return Ok(None) };
                audit::append(db, std::slice::from_ref(entry)).await?;
                sessions::log_out(db, &sid, now).await.map(Some)
            })
        })
        .await
    }

    /// Whether any session of a user ended after `since`.
    pub async fn has_ended_session(&self, user: UserId, since: Timestamp) -> Result<bool> {
        Ok(
            sql::query("SELECT 1 FROM sessions WHERE user_id = $1 AND ended_at > $2 LIMIT 1")
                .bind(user.to_string())
                .bind(since.millis())
                .exists(&self.readers)
                .await?,
        )
    }

    /// Whether a session of a user ended after `since`.
    pub async fn is_session_ended_of(
        &self,
        user: UserId,
        id: SessionId,
        since: Timestamp,
    ) -> Result<bool> {
        Ok(
            sql::query("SELECT 1 FROM sessions WHERE id = $1 AND user_id = $2 AND ended_at > $3")
                .bind(id.to_string())
                .bind(user.to_string())
                .bind(since.millis())
                .exists(&self.readers)
                .await?,
        )
    }

    /// Whether a device of a user was revoked after `since`.
    pub async fn is_device_revoked_of(
        &self,
        user: UserId,
        id: DeviceId,
        since: Timestamp,
    ) -> Result<bool> {
        Ok(
            sql::query("SELECT 1 FROM devices WHERE id = $1 AND user_id = $2 AND revoked_at > $3")
                .bind(id.to_string())
                .bind(user.to_string())
                .bind(since.millis())
                .exists(&self.readers)
                .await?,
        )
    }

    /// Ends all sessions of a user except the one with the id `keep`, as a sign-out in their browsers would. `entry`
    /// receives their number, and is logged if there were any.
    ///
    /// # Errors
    /// [`StoreError::Stale`](crate::StoreError::Stale) if the user's version does not match `guard`.
    pub async fn end_other_sessions_of(
        &self,
        guard: impl Into<UserGuard>,
        keep: String,
        entry: Entry,
        now: Timestamp,
    ) -> Result<SessionEnd> {
        let guard = guard.into();
        self.write((keep, entry), move |db, (keep, entry)| {
            Box::pin(async move {
                let user = guard.lock(db).await?;
                end_sessions(db, user, keep, entry, now).await
            })
        })
        .await
    }

    /// When each of the user's devices last made a decision. Only devices that are not revoked and that made one.
    pub async fn device_uses(&self, user: UserId) -> Result<HashMap<DeviceId, Timestamp>> {
        let rows: Vec<(String, i64)> = sql::query_as(
            "SELECT id, used_at FROM devices WHERE user_id = $1 AND revoked_at IS NULL AND used_at IS NOT NULL",
        )
        .bind(user.to_string())
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .map(|(id, at)| Ok((parse(&id, cell("devices", "id", &id))?, moment(at))))
            .collect()
    }

    /// Renames a device of a user.
    pub async fn rename_device_of(
        &self,
        user: UserId,
        id: DeviceId,
        name: String,
        entry: Entry,
    ) -> Result<DeviceWrite> {
        self.write((name, entry), move |db, (name, entry)| {
            Box::pin(async move {
                let renamed =
                    sql::query("UPDATE devices SET name = $3 WHERE id = $1 AND user_id = $2 AND revoked_at IS NULL")
                        .bind(id.to_string())
                        .bind(user.to_string())
                        .bind(name)
                        .execute(&mut *db)
                        .await?;
                if renamed == 0 {
                    return Ok(DeviceWrite::Inactive);
                }
                audit::append(db, std::slice::from_ref(entry)).await?;
                Ok(DeviceWrite::Done)
            })
        })
        .await
    }

    /// Revokes a device of a user. It ends the device's unused approvals, the user's pending requests, and the sessions
    /// that the device approved, as a sign-out would. It ends also the links that devices and codes created, and,
    /// depending on `codes`, the recovery codes that the device created. `entry` receives the numbers of sessions and
    /// codes. Returns `None` and changes nothing if the user has no such device.
    ///
    /// # Errors
    /// [`StoreError::Stale`](crate::StoreError::Stale) if the user's version does not match `guard`.
    pub async fn revoke_device_of(
        &self,
        guard: impl Into<UserGuard>,
        id: DeviceId,
        codes: CodesOfDevice,
        entry: Entry,
        now: Timestamp,
    ) -> Result<Option<SessionEnd>> {
        let guard = guard.into();
        self.write(entry, move |db, entry| {
            Box::pin(async move {
                let user = guard.lock(db).await?;
                revoke_device(db, user, id, codes, entry, now).await
            })
        })
        .await
    }
}

/// Ends all sessions of a user except one, and the back-channel requests that could become sessions: see
/// [`Store::end_other_sessions_of`].
pub(crate) async fn end_sessions(
    db: &mut Connection,
    user: UserId,
    keep: &str,
    entry: &Entry,
    now: Timestamp,
) -> Result<SessionEnd> {
    withdrawal::withdraw_of(db, user, now).await?;
    let open: Vec<(String,)> = sql::query_as(
        "SELECT DISTINCT sid FROM sessions WHERE user_id = $1 AND sid <> $2 AND ended_at IS NULL ORDER BY sid",
    )
    .bind(user.to_string())
    .bind(keep.to_owned())
    .fetch_all(&mut *db)
    .await?;
    if !open.is_empty() {
        audit::append(db, &[entry.clone().with("sessions", open.len())]).await?;
    }
    end_all(db, open, now).await
}

/// Revokes a device: see [`Store::revoke_device_of`].
pub(crate) async fn revoke_device(
    db: &mut Connection,
    user: UserId,
    id: DeviceId,
    codes: CodesOfDevice,
    entry: &Entry,
    now: Timestamp,
) -> Result<Option<SessionEnd>> {
    let revoked = sql::query(
        "UPDATE devices SET revoked_at = $3, push = NULL
         WHERE id = $1 AND user_id = $2 AND revoked_at IS NULL",
    )
    .bind(id.to_string())
    .bind(user.to_string())
    .bind(now.millis())
    .execute(&mut *db)
    .await?;
    if revoked == 0 {
        return Ok(None);
    }
    deprovisioning::deprovision_device(db, id, now).await?;
    deprovisioning::withdraw_pending_of(db, user, now).await?;
    // A thief of the device may have created another way in.
    enrolment_links::end_own_links(db, user).await?;
    let ended =
        sql::query("DELETE FROM recovery_codes WHERE user_id = $1 AND created_by = $2 AND $3 = 1")
            .bind(user.to_string())
            .bind(id.to_string())
            .bind(codes == CodesOfDevice::End)
            .execute(&mut *db)
            .await?;
    let begun: Vec<(String,)> = sql::query_as(
        "SELECT DISTINCT sid FROM sessions
         WHERE user_id = $1 AND device_id = $2 AND ended_at IS NULL ORDER BY sid",
    )
    .bind(user.to_string())
    .bind(id.to_string())
    .fetch_all(&mut *db)
    .await?;
    let entry = entry
        .clone()
        .with("sessions", begun.len())
        .with("recovery_codes", ended);
    audit::append(db, &[entry]).await?;
    end_all(db, begun, now).await.map(Some)
}

async fn end_all(db: &mut Connection, sids: Vec<(String,)>, now: Timestamp) -> Result<SessionEnd> {
    let mut all = SessionEnd::default();
    for (sid,) in sids {
        all.add(sessions::log_out(db, &sid, now).await?);
    }
    Ok(all)
}
