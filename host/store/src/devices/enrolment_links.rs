//! Links to enrol a device.

use crate::devices::locks::lock_active_device;
use crate::rows::{cell, digest, moment, parse};
use crate::sql;
use crate::{DeviceWrite, Result, Store, UserGuard, audit};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::device::{Enrolment, LinkMaker};
use assent_model::id::{DeviceId, EnrolmentId, UserId};

crate::sql::row! {
    struct EnrolmentRow {
        id: String,
        user_id: String,
        digest: String,
        expires_at: i64,
        created_by: Option<String>,
    }
}

pub(crate) async fn insert_enrolment(
    db: &mut crate::sql::Connection,
    enrolment: &Enrolment,
    now: Timestamp,
) -> Result<()> {
    let created_by = enrolment.created_by.map(|maker| match maker {
        LinkMaker::Device(device) => device.to_string(),
        LinkMaker::Code => BY_CODE.to_owned(),
    });
    sql::query(
        "INSERT INTO enrolments (id, user_id, digest, created_at, expires_at, created_by) VALUES ($1, $2, $3, $4, $5, \
         $6)",
    )
    .bind(enrolment.id.to_string())
    .bind(enrolment.user_id.to_string())
    .bind(enrolment.digest.to_text())
    .bind(now.millis())
    .bind(enrolment.expires_at.millis())
    .bind(created_by)
    .execute(db)
    .await?;
    Ok(())
}

/// The value of `created_by` for a link that a recovery code created.
const BY_CODE: &str = "code";

/// Ends the unused links that a user's devices and recovery codes created.
pub(crate) async fn end_own_links(db: &mut crate::sql::Connection, user: UserId) -> Result<()> {
    sql::query(
        "DELETE FROM enrolments WHERE user_id = $1 AND created_by IS NOT NULL AND used_at IS NULL",
    )
    .bind(user.to_string())
    .execute(db)
    .await?;
    Ok(())
}

/// Ends all unused links of a user, no matter how they were created.
pub(crate) async fn end_links(db: &mut crate::sql::Connection, user: UserId) -> Result<()> {
    sql::query("DELETE FROM enrolments WHERE user_id = $1 AND used_at IS NULL")
        .bind(user.to_string())
        .execute(db)
        .await?;
    Ok(())
}

/// Ends the unused links of an invited user.
async fn end_links_of_invited(db: &mut crate::sql::Connection, user: UserId) -> Result<()> {
    sql::query(
        "DELETE FROM enrolments WHERE user_id = $1 AND used_at IS NULL
           AND EXISTS (SELECT 1 FROM users WHERE users.id = $1 AND users.state = 'invited')",
    )
    .bind(user.to_string())
    .execute(db)
    .await?;
    Ok(())
}

impl Store {
    /// Adds an enrolment link of a user. An invited user has one link at a time: no device approves its use, so a new
    /// link ends the earlier one.
    ///
    /// # Errors
    /// [`StoreError::Stale`] if the user's version does not match `guard`.
    pub async fn insert_enrolment(
        &self,
        enrolment: Enrolment,
        guard: impl Into<UserGuard>,
        entries: Vec<Entry>,
        now: Timestamp,
    ) -> Result<()> {
        let guard = guard.into();
        self.write(move |db| {
            let (enrolment, entries) = (enrolment.clone(), entries.clone());
            Box::pin(async move {
                guard.lock(db).await?;
                end_links_of_invited(db, enrolment.user_id).await?;
                insert_enrolment(db, &enrolment, now).await?;
                audit::append(db, &entries).await
            })
        })
        .await
    }

    /// Adds an enrolment link that another device created.
    ///
    /// # Errors
    /// If the database fails, or the audit log cannot be extended.
    pub async fn insert_enrolment_by_device(
        &self,
        enrolment: Enrolment,
        device: DeviceId,
        entry: Entry,
        now: Timestamp,
    ) -> Result<DeviceWrite> {
        self.write(move |db| {
            let (enrolment, entry) = (enrolment.clone(), entry.clone());
            Box::pin(async move {
                if !lock_active_device(db, enrolment.user_id, device).await? {
                    return Ok(DeviceWrite::Inactive);
                }
                insert_enrolment(db, &enrolment, now).await?;
                audit::append(db, &[entry]).await?;
                Ok(DeviceWrite::Done)
            })
        })
        .await
    }

    /// The enrolment link with this id, if it is unused and valid at `now`.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn open_enrolment(
        &self,
        id: EnrolmentId,
        now: Timestamp,
    ) -> Result<Option<Enrolment>> {
        let row: Option<EnrolmentRow> = sql::query_as(
            "SELECT id, user_id, digest, expires_at, created_by FROM enrolments WHERE id = $1 AND used_at IS NULL AND \
             expires_at > $2",
        )
        .bind(id.to_string())
        .bind(now.millis())
        .fetch_optional(&self.readers)
        .await?;
        row.map(|row| {
            Ok(Enrolment {
                id: parse(&row.id, cell("enrolments", "id", &row.id))?,
                user_id: parse(&row.user_id, cell("enrolments", "user_id", &row.id))?,
                digest: digest(&row.digest, cell("enrolments", "digest", &row.id))?,
                expires_at: moment(row.expires_at),
                created_by: match row.created_by.as_deref() {
                    None => None,
                    Some(BY_CODE) => Some(LinkMaker::Code),
                    Some(device) => Some(LinkMaker::Device(parse(
                        device,
                        cell("enrolments", "created_by", &row.id),
                    )?)),
                },
            })
        })
        .transpose()
    }
}
