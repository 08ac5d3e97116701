//! Devices and the right to enrol one.

use crate::rows::{cell, digest, from_json, moment, parse, to_json};
use crate::{Result, Store, StoreError, UserGuard, audit, taken, users};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::device::{Device, Enrolment, LinkMaker, PushSubscription};
use assent_model::id::{DeviceId, EnrolmentId, LoginId, UserId};

#[derive(sqlx::FromRow)]
struct DeviceRow {
    id: String,
    user_id: String,
    name: String,
    public_key: String,
    push: Option<String>,
    created_at: i64,
    revoked_at: Option<i64>,
}

impl TryFrom<DeviceRow> for Device {
    type Error = StoreError;
    fn try_from(row: DeviceRow) -> Result<Self> {
        Ok(Self {
            id: parse(&row.id, cell("devices", "id", &row.id))?,
            user_id: parse(&row.user_id, cell("devices", "user_id", &row.id))?,
            name: row.name,
            key: from_json(&row.public_key, cell("devices", "public_key", &row.id))?,
            push: row
                .push
                .map(|push| from_json(&push, cell("devices", "push", &row.id)))
                .transpose()?,
            created_at: moment(row.created_at),
            revoked_at: row.revoked_at.map(moment),
        })
    }
}

#[derive(sqlx::FromRow)]
struct EnrolmentRow {
    id: String,
    user_id: String,
    digest: String,
    expires_at: i64,
    made_by: Option<String>,
}

pub(crate) async fn insert_enrolment(
    db: &mut sqlx::AnyConnection,
    enrolment: &Enrolment,
    now: Timestamp,
) -> Result<()> {
    let made_by = enrolment.made_by.map(|maker| match maker {
        LinkMaker::Device(device) => device.to_string(),
        LinkMaker::Code => BY_CODE.to_owned(),
    });
    sqlx::query(
        "INSERT INTO enrolments (id, user_id, digest, created_at, expires_at, made_by) VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(enrolment.id.to_string())
    .bind(enrolment.user_id.to_string())
    .bind(enrolment.digest.to_text())
    .bind(now.millis())
    .bind(enrolment.expires_at.millis())
    .bind(made_by)
    .execute(db)
    .await?;
    Ok(())
}

/// What stands in the place of a device where a recovery code made a link.
const BY_CODE: &str = "code";

/// Holds a person and one of their devices until the transaction ends: whoever suspends the one or revokes the other waits, or
/// was before. Whether the person may sign in and the device is theirs and not revoked.
pub(crate) async fn hold_with_owner(
    db: &mut sqlx::AnyConnection,
    user: UserId,
    device: DeviceId,
) -> Result<bool> {
    let user = user.to_string();
    let open = sqlx::query("UPDATE users SET state = state WHERE id = $1 AND state = 'active'")
        .bind(user.clone())
        .execute(&mut *db)
        .await?;
    let own = sqlx::query(
        "UPDATE devices SET name = name WHERE id = $1 AND user_id = $2 AND revoked_at IS NULL",
    )
    .bind(device.to_string())
    .bind(user)
    .execute(db)
    .await?;
    Ok(open.rows_affected() > 0 && own.rows_affected() > 0)
}

/// Ends the links that a person's devices and recovery codes made, and nobody used.
pub(crate) async fn end_own_links(db: &mut sqlx::AnyConnection, user: UserId) -> Result<()> {
    sqlx::query(
        "DELETE FROM enrolments WHERE user_id = $1 AND made_by IS NOT NULL AND used_at IS NULL",
    )
    .bind(user.to_string())
    .execute(db)
    .await?;
    Ok(())
}

/// Ends the links that nobody used, whoever made them.
pub(crate) async fn end_links(db: &mut sqlx::AnyConnection, user: UserId) -> Result<()> {
    sqlx::query("DELETE FROM enrolments WHERE user_id = $1 AND used_at IS NULL")
        .bind(user.to_string())
        .execute(db)
        .await?;
    Ok(())
}

/// The same, of somebody who is invited.
async fn end_links_of_invited(db: &mut sqlx::AnyConnection, user: UserId) -> Result<()> {
    sqlx::query(
        "DELETE FROM enrolments WHERE user_id = $1 AND used_at IS NULL
           AND EXISTS (SELECT 1 FROM users WHERE users.id = $1 AND users.state = 'invited')",
    )
    .bind(user.to_string())
    .execute(db)
    .await?;
    Ok(())
}

/// Holds a device until the transaction ends, so that whoever revokes it waits, or was before. What is about a device and an
/// approval touches them in this order.
pub(crate) async fn hold(db: &mut sqlx::AnyConnection, id: DeviceId) -> Result<()> {
    sqlx::query("UPDATE devices SET name = name WHERE id = $1")
        .bind(id.to_string())
        .execute(db)
        .await?;
    Ok(())
}

/// Holds the device that approved a login, if one did.
pub(crate) async fn hold_approver(db: &mut sqlx::AnyConnection, login: LoginId) -> Result<()> {
    sqlx::query(
        "UPDATE devices SET name = name
         WHERE id = (SELECT approvals.device_id FROM logins JOIN approvals ON approvals.id = logins.approval_id
                     WHERE logins.id = $1)",
    )
    .bind(login.to_string())
    .execute(db)
    .await?;
    Ok(())
}

/// Notes that a device decided something.
pub(crate) async fn used(db: &mut sqlx::AnyConnection, id: DeviceId, now: Timestamp) -> Result<()> {
    sqlx::query("UPDATE devices SET used_at = $2 WHERE id = $1")
        .bind(id.to_string())
        .bind(now.millis())
        .execute(db)
        .await?;
    Ok(())
}

impl Store {
    /// Adds the right to enrol a device, which is this person's. Somebody who is invited has one such right at a time: nobody's
    /// phone was asked about it, so an earlier one ends.
    ///
    /// # Errors
    /// [`StoreError::Stale`] if they are not as they were seen.
    pub async fn insert_enrolment(
        &self,
        enrolment: Enrolment,
        whom: impl Into<UserGuard>,
        entries: Vec<Entry>,
        now: Timestamp,
    ) -> Result<()> {
        let whom = whom.into();
        self.write(move |db| {
            let (enrolment, entries) = (enrolment.clone(), entries.clone());
            Box::pin(async move {
                whom.held(db).await?;
                end_links_of_invited(db, enrolment.user_id).await?;
                insert_enrolment(db, &enrolment, now).await?;
                audit::append(db, &entries).await
            })
        })
        .await
    }

    /// Adds the right to enrol a device that another made. `false`, and nothing done, if that was revoked or its owner may not
    /// sign in.
    pub async fn insert_enrolment_by_device(
        &self,
        enrolment: Enrolment,
        device: DeviceId,
        entry: Entry,
        now: Timestamp,
    ) -> Result<bool> {
        self.write(move |db| {
            let (enrolment, entry) = (enrolment.clone(), entry.clone());
            Box::pin(async move {
                if !hold_with_owner(db, enrolment.user_id, device).await? {
                    return Ok(false);
                }
                insert_enrolment(db, &enrolment, now).await?;
                audit::append(db, &[entry]).await?;
                Ok(true)
            })
        })
        .await
    }

    /// The right to enrol with this id, if it was not used and is still good at `now`.
    pub async fn open_enrolment(
        &self,
        id: EnrolmentId,
        now: Timestamp,
    ) -> Result<Option<Enrolment>> {
        let row: Option<EnrolmentRow> = sqlx::query_as(
            "SELECT id, user_id, digest, expires_at, made_by FROM enrolments WHERE id = $1 AND used_at IS NULL AND expires_at > $2",
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
                made_by: match row.made_by.as_deref() {
                    None => None,
                    Some(BY_CODE) => Some(LinkMaker::Code),
                    Some(id) => Some(LinkMaker::Device(parse(
                        id,
                        cell("enrolments", "made_by", ""),
                    )?)),
                },
            })
        })
        .transpose()
    }

    /// Uses the right to enrol and adds the device. A user who was invited is active from then on, which `activated` is to
    /// tell of, and their other links are over. Whether the right was still there to be used, by somebody who may sign in or is
    /// invited to.
    pub async fn enrol_device(
        &self,
        enrolment: EnrolmentId,
        device: Device,
        entries: Vec<Entry>,
        activated: Option<Entry>,
    ) -> Result<bool> {
        self.write(move |db| {
            let (device, entries, activated) = (device.clone(), entries.clone(), activated.clone());
            Box::pin(async move {
                // The person first: of two links that are used at once, the one ends the other, or comes after it.
                users::hold(db, device.user_id).await?;
                let claimed: Option<(String,)> = sqlx::query_as(
                    "UPDATE enrolments SET used_at = $2
                     WHERE id = $1 AND user_id = $3 AND used_at IS NULL AND expires_at > $2
                       AND EXISTS (SELECT 1 FROM users WHERE users.id = $3 AND users.state IN ('invited', 'active'))
                     RETURNING id",
                )
                .bind(enrolment.to_string())
                .bind(device.created_at.millis())
                .bind(device.user_id.to_string())
                .fetch_optional(&mut *db)
                .await?;
                if claimed.is_none() {
                    return Ok(false);
                }
                sqlx::query(
                    "INSERT INTO devices (id, user_id, name, public_key, created_at) VALUES ($1, $2, $3, $4, $5)",
                )
                .bind(device.id.to_string())
                .bind(device.user_id.to_string())
                .bind(device.name.clone())
                .bind(to_json(&device.key)?)
                .bind(device.created_at.millis())
                .execute(&mut *db)
                .await
                .map_err(taken("the device's key"))?;
                audit::append(db, &entries).await?;
                users::activate(db, device.user_id, activated.as_ref(), device.created_at).await?;
                Ok(true)
            })
        })
        .await
    }

    /// The device with this id, revoked or not.
    pub async fn device(&self, id: DeviceId) -> Result<Option<Device>> {
        let row: Option<DeviceRow> = sqlx::query_as("SELECT * FROM devices WHERE id = $1")
            .bind(id.to_string())
            .fetch_optional(&self.readers)
            .await?;
        row.map(Device::try_from).transpose()
    }

    /// A person's devices that are not revoked.
    pub async fn devices_of(&self, user: UserId) -> Result<Vec<Device>> {
        let rows: Vec<DeviceRow> = sqlx::query_as(
            "SELECT * FROM devices WHERE user_id = $1 AND revoked_at IS NULL ORDER BY id",
        )
        .bind(user.to_string())
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter().map(Device::try_from).collect()
    }

    /// Says where a device can be woken, or that it no longer can.
    pub async fn set_push(&self, id: DeviceId, push: Option<PushSubscription>) -> Result<()> {
        self.write(move |db| {
            let push = push.clone();
            Box::pin(async move {
                sqlx::query("UPDATE devices SET push = $2 WHERE id = $1")
                    .bind(id.to_string())
                    .bind(push.as_ref().map(to_json).transpose()?)
                    .execute(db)
                    .await?;
                Ok(())
            })
        })
        .await
    }

    /// Removes this push subscription of a device, unless another one took its place. Whether it was removed.
    pub async fn remove_push(&self, id: DeviceId, push: PushSubscription) -> Result<bool> {
        self.write(move |db| {
            let push = push.clone();
            Box::pin(async move {
                let removed =
                    sqlx::query("UPDATE devices SET push = NULL WHERE id = $1 AND push = $2")
                        .bind(id.to_string())
                        .bind(to_json(&push)?)
                        .execute(db)
                        .await?;
                Ok(removed.rows_affected() > 0)
            })
        })
        .await
    }
}
