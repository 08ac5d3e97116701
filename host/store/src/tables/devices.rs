//! Devices, and the links with which they are enrolled.

pub(crate) mod enrolment_links;
pub(crate) mod inbox_row;
pub(crate) mod locks;
pub(crate) mod passkeys;
pub(crate) mod pending_recovery_codes;
pub(crate) mod recovery;

use std::collections::HashMap;
use std::net::IpAddr;

use crate::engine::batch::loader::Row;
use crate::engine::rows::{cell, from_json, moment, parse, to_json};
use crate::engine::sql;
use crate::tables::devices::enrolment_links::way_of;
use crate::tables::users;
use crate::{Result, Store, StoreError, Transition, audit, taken};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::device::{Device, DeviceOrigin, EnrolledBy, PushSubscription};
use assent_model::id::{DeviceId, EnrolmentId, UserId};

use inbox_row::InboxKey;
use inbox_row::InboxSummary;

crate::engine::sql::row! {
    pub(crate) struct DeviceRow of devices {
        id: String,
        user_id: String,
        name: String,
        public_key: String,
        push: Option<String>,
        created_at: i64,
        revoked_at: Option<i64>,
    }
}

pub(crate) const DEVICE_BY_ID: &str = sql::statement!(
    "SELECT ",
    DeviceRow::COLUMNS,
    " FROM devices WHERE id IN ({$})"
);

impl Row for DeviceRow {
    type Key = String;
    type Value = Device;
    fn key(&self) -> String {
        self.id.clone()
    }
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

crate::engine::sql::row! {
    struct ClaimedLink {
        created_by: Option<String>,
        created_at: i64,
        delivery: Option<String>,
        delivery_at: Option<i64>,
    }
}

impl ClaimedLink {
    fn way(&self) -> EnrolledBy {
        way_of(self.created_by.as_deref(), self.delivery.as_deref())
    }

    /// When the link was sent, or created if it was not sent.
    fn issued_at(&self) -> i64 {
        let sent = self
            .delivery_at
            .filter(|_| self.delivery.as_deref() == Some("sent"));
        sent.unwrap_or(self.created_at)
    }
}

crate::engine::sql::row! {
    struct OriginRow {
        id: String,
        enrolled_by: String,
        link_issued_at: i64,
        enrolled_from: Option<String>,
    }
}

/// Records that a device made a decision.
pub(crate) async fn record_use(
    db: &mut crate::engine::sql::Connection,
    id: DeviceId,
    now: Timestamp,
) -> Result<()> {
    sql::query("UPDATE devices SET used_at = $2 WHERE id = $1")
        .bind(id.to_string())
        .bind(now.millis())
        .execute(db)
        .await?;
    Ok(())
}

impl Store {
    /// Uses an enrolment link and adds the device. An invited user becomes active, which `activated` records, and the
    /// user's other links become invalid. A link that the server sent by email confirms the user's address. `from` is
    /// the IP address of the request. Returns [`Transition::NotOpen`] if the link is used, withdrawn or expired, or the
    /// user is neither invited nor active.
    ///
    /// # Errors
    /// [`StoreError::Taken`] if another device has the key.
    pub async fn enrol_device(
        &self,
        enrolment: EnrolmentId,
        (device, from): (Device, Option<IpAddr>),
        entries: Vec<Entry>,
        activated: Option<Entry>,
    ) -> Result<Transition> {
        self.write((device, entries, activated), move |db, (device, entries, activated)| {
            Box::pin(async move {
                // The user is locked first: of two links that are used concurrently, one waits, and is invalid then.
                users::lock_user(db, device.user_id).await?;
                let claimed: Option<ClaimedLink> = sql::query_as(
                    "UPDATE enrolments SET used_at = $2
                     WHERE id = $1 AND user_id = $3 AND used_at IS NULL AND is_withdrawn = 0 AND expires_at > $2
                       AND EXISTS (SELECT 1 FROM users WHERE users.id = $3 AND users.state IN ('invited', 'active'))
                     RETURNING created_by, created_at, delivery, delivery_at",
                )
                .bind(enrolment.to_string())
                .bind(device.created_at.millis())
                .bind(device.user_id.to_string())
                .fetch_optional(&mut *db)
                .await?;
                let Some(link) = claimed else {
                    return Ok(Transition::NotOpen);
                };
                // Only the mailbox received this link. A change of the address would have ended it.
                if link.delivery.is_some() {
                    users::confirm_email(db, device.user_id).await?;
                }
                sql::query(
                    "INSERT INTO devices (id, user_id, name, public_key, created_at, enrolment_id, enrolled_by,
                                          link_issued_at, enrolled_from)
                     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                )
                .bind(device.id.to_string())
                .bind(device.user_id.to_string())
                .bind(&device.name)
                .bind(to_json(&device.key)?)
                .bind(device.created_at.millis())
                .bind(enrolment.to_string())
                .bind(link.way().as_str())
                .bind(link.issued_at())
                .bind(from.map(|address| address.to_string()))
                .execute(&mut *db)
                .await
                .map_err(taken("the device's key"))?;
                audit::append(db, entries).await?;
                users::activate(db, device.user_id, activated.as_ref(), device.created_at).await?;
                Ok(Transition::Done)
            })
        })
        .await
    }

    /// The device that a user enrolled with this link, revoked or not.
    pub async fn device_of_link(
        &self,
        user: UserId,
        enrolment: EnrolmentId,
    ) -> Result<Option<Device>> {
        sql::query_as::<DeviceRow>(sql::statement!(
            "SELECT ",
            DeviceRow::COLUMNS,
            " FROM devices WHERE user_id = $1 AND enrolment_id = $2"
        ))
        .bind(user.to_string())
        .bind(enrolment.to_string())
        .fetch_value(self.readers.lookups())
        .await
    }

    /// The origins of a user's devices that are not revoked.
    pub async fn device_origins(&self, user: UserId) -> Result<HashMap<DeviceId, DeviceOrigin>> {
        let rows: Vec<OriginRow> = sql::query_as(
            "SELECT id, enrolled_by, link_issued_at, enrolled_from FROM devices
             WHERE user_id = $1 AND revoked_at IS NULL",
        )
        .bind(user.to_string())
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .map(|row| {
                let at = |column| cell("devices", column, &row.id);
                let by = EnrolledBy::parse(&row.enrolled_by)
                    .ok_or_else(|| at("enrolled_by").unexpected())?;
                let origin = DeviceOrigin {
                    by,
                    link_issued_at: moment(row.link_issued_at),
                    address: row.enrolled_from.clone(),
                };
                Ok((parse(&row.id, at("id"))?, origin))
            })
            .collect()
    }

    /// The device with this id, revoked or not.
    pub async fn device(&self, id: DeviceId) -> Result<Option<Device>> {
        self.lookups.devices.call(id.to_string()).await
    }

    /// The inbox of a device at `now`; `None` if the device is unknown or revoked. Account notifications count that
    /// happened at `since` or later and after the device was enrolled.
    pub async fn inbox_summary(
        &self,
        device: DeviceId,
        now: Timestamp,
        since: Timestamp,
    ) -> Result<Option<InboxSummary>> {
        let key = InboxKey::new(device, now, since);
        self.lookups.inboxes.call(key).await
    }

    /// The user's devices that are not revoked.
    pub async fn devices_of(&self, user: UserId) -> Result<Vec<Device>> {
        sql::query_as::<DeviceRow>(sql::statement!(
            "SELECT ",
            DeviceRow::COLUMNS,
            " FROM devices WHERE user_id = $1 AND revoked_at IS NULL ORDER BY id"
        ))
        .bind(user.to_string())
        .fetch_values(self.readers.lookups())
        .await
    }

    /// Whether the user has, or ever had, a device or an external authenticator. A revoked device counts until its row
    /// is deleted.
    pub async fn had_authenticator(&self, user: UserId) -> Result<bool> {
        Ok(sql::query(
            "SELECT 1 FROM users WHERE id = $1 AND (EXISTS (SELECT 1 FROM devices WHERE devices.user_id = users.id)
               OR EXISTS (SELECT 1 FROM external_authenticators e WHERE e.user_id = users.id))",
        )
        .bind(user.to_string())
        .exists(&self.readers).await?)
    }

    /// Stores or deletes the push subscription of a device.
    pub async fn set_push(&self, id: DeviceId, push: Option<PushSubscription>) -> Result<()> {
        self.write(push, move |db, push| {
            Box::pin(async move {
                sql::query("UPDATE devices SET push = $2 WHERE id = $1")
                    .bind(id.to_string())
                    .bind(push.as_ref().map(to_json).transpose()?)
                    .execute(db)
                    .await?;
                Ok(())
            })
        })
        .await
    }

    /// Removes this push subscription of a device, unless another one replaced it. Returns whether it was removed.
    pub async fn remove_push(&self, id: DeviceId, push: PushSubscription) -> Result<bool> {
        self.write(push, move |db, push| {
            Box::pin(async move {
                let removed =
                    sql::query("UPDATE devices SET push = NULL WHERE id = $1 AND push = $2")
                        .bind(id.to_string())
                        .bind(to_json(push)?)
                        .execute(db)
                        .await?;
                Ok(removed > 0)
            })
        })
        .await
    }
}
