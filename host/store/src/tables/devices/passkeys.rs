//! Passkeys, and the state of their ceremonies. A challenge is answered once: the answer deletes its row.

use std::collections::HashMap;

use crate::engine::sql;
use crate::engine::sql::Connection;

use crate::engine::rows::{cell, moment, parse};
use crate::{DeviceWrite, Result, Store, StoreError, audit, taken};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::id::{DeviceId, UserId};
use assent_model::passkey::{DevicePasskey, PasskeyCredential, PasskeySignIn, PasskeyUse};
use assent_model::secret::Digest;

crate::engine::sql::row! {
    struct PasskeyRow of passkeys {
        credential_id: String,
        credential: String,
        counter: i64,
        added_at: i64,
        sign_in: String,
        agreed_at: Option<i64>,
        device_id: String,
    }
}

impl TryFrom<PasskeyRow> for DevicePasskey {
    type Error = StoreError;
    fn try_from(row: PasskeyRow) -> Result<Self> {
        let id = &row.device_id;
        let sign_in = match (row.sign_in.as_str(), row.agreed_at) {
            ("unavailable", None) => PasskeySignIn::Unavailable,
            ("declined", None) => PasskeySignIn::Declined,
            ("agreed", Some(at)) => PasskeySignIn::Agreed { at: moment(at) },
            _ => return Err(cell("passkeys", "sign_in", id).unexpected()),
        };
        Ok(Self {
            device_id: parse(id, cell("passkeys", "device_id", id))?,
            credential: PasskeyCredential {
                id: hex::decode(&row.credential_id)
                    .map_err(|_| cell("passkeys", "credential_id", id).unexpected())?,
                record: row.credential,
            },
            counter: u32::try_from(row.counter)
                .map_err(|_| cell("passkeys", "counter", id).unexpected())?,
            added_at: moment(row.added_at),
            sign_in,
        })
    }
}

/// The outcome of an assertion of a passkey with a verified signature (WebAuthn section 7.2, step 22).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum PasskeyUseOutcome {
    /// The use is recorded.
    Accepted,
    /// Nothing was done: the passkey was removed, or another use had this signature counter or a greater one.
    Rejected,
}

impl Store {
    /// The passkey of a device, if it has one.
    pub async fn passkey(&self, device: DeviceId) -> Result<Option<DevicePasskey>> {
        sql::query_as::<PasskeyRow>(sql::statement!(
            "SELECT ",
            PasskeyRow::COLUMNS,
            " FROM passkeys WHERE device_id = $1"
        ))
        .bind(device.to_string())
        .fetch_value(self.readers.lookups())
        .await
    }

    /// The passkey with this credential id, of a device that is not revoked.
    pub async fn passkey_by_credential(&self, credential: &[u8]) -> Result<Option<DevicePasskey>> {
        sql::query_as::<PasskeyRow>(sql::statement!(
            "SELECT ",
            PasskeyRow::COLUMNS,
            " FROM passkeys JOIN devices ON devices.id = passkeys.device_id
             WHERE passkeys.credential_id = $1 AND devices.revoked_at IS NULL"
        ))
        .bind(hex::encode(credential))
        .fetch_value(self.readers.lookups())
        .await
    }

    /// The user's devices with a passkey, and whether the passkey may be used for sign-ins.
    pub async fn passkeys_of(&self, user: UserId) -> Result<HashMap<DeviceId, PasskeySignIn>> {
        let rows: Vec<PasskeyRow> = sql::query_as(sql::statement!(
            "SELECT ",
            PasskeyRow::COLUMNS,
            " FROM passkeys JOIN devices ON devices.id = passkeys.device_id
             WHERE devices.user_id = $1 AND devices.revoked_at IS NULL"
        ))
        .bind(user.to_string())
        .fetch_all(self.readers.lookups())
        .await?;
        rows.into_iter()
            .map(|row| DevicePasskey::try_from(row).map(|one| (one.device_id, one.sign_in)))
            .collect()
    }

    /// Stores the state of a device's ceremony, and replaces an unanswered one.
    pub async fn begin_ceremony(
        &self,
        device: DeviceId,
        purpose: Digest,
        state: String,
        expires_at: Timestamp,
    ) -> Result<()> {
        self.write(state, move |db, state| {
            Box::pin(async move {
                sql::query(
                    "INSERT INTO passkey_ceremonies (device_id, purpose, state, expires_at) VALUES ($1, $2, $3, $4)
                     ON CONFLICT (device_id)
                     DO UPDATE SET purpose = excluded.purpose, state = excluded.state,
                       expires_at = excluded.expires_at",
                )
                .bind(device.to_string())
                .bind(purpose.to_text())
                .bind(state)
                .bind(expires_at.millis())
                .execute(db)
                .await?;
                Ok(())
            })
        })
        .await
    }

    /// Claims the state of the device's ceremony for this purpose, if there is one at `now`. Only one caller gets it.
    pub async fn claim_ceremony(
        &self,
        device: DeviceId,
        purpose: Digest,
        now: Timestamp,
    ) -> Result<Option<String>> {
        self.write((), move |db, ()| {
            Box::pin(async move {
                let claimed: Option<(String,)> = sql::query_as(
                    "DELETE FROM passkey_ceremonies WHERE device_id = $1 AND purpose = $2 AND expires_at > $3
                     RETURNING state",
                )
                .bind(device.to_string())
                .bind(purpose.to_text())
                .bind(now.millis())
                .fetch_optional(db)
                .await?;
                Ok(claimed.map(|(state,)| state))
            })
        })
        .await
    }

    /// Adds a passkey.
    ///
    /// [`StoreError::Taken`] if the device has one already, or another device has the same passkey.
    pub async fn add_passkey(
        &self,
        passkey: DevicePasskey,
        entries: Vec<Entry>,
    ) -> Result<DeviceWrite> {
        self.write((passkey, entries), |db, (passkey, entries)| {
            Box::pin(async move {
                let added = insert(db, passkey).await?;
                if !added {
                    return Ok(DeviceWrite::Inactive);
                }
                audit::append(db, entries).await?;
                Ok(DeviceWrite::Done)
            })
        })
        .await
    }

    /// Records a use of a device's passkey.
    pub async fn use_passkey(
        &self,
        device: DeviceId,
        used: PasskeyUse,
    ) -> Result<PasskeyUseOutcome> {
        self.write(used, move |db, used| Box::pin(record_use(db, device, used)))
            .await
    }

    /// Removes a device's passkey, after an assertion of it.
    pub async fn remove_passkey(
        &self,
        device: DeviceId,
        used: PasskeyUse,
        entries: Vec<Entry>,
    ) -> Result<PasskeyUseOutcome> {
        self.write((used, entries), move |db, (used, entries)| {
            Box::pin(async move {
                let outcome = record_use(db, device, used).await?;
                if outcome == PasskeyUseOutcome::Accepted {
                    delete_passkey(db, device).await?;
                    audit::append(db, entries).await?;
                }
                Ok(outcome)
            })
        })
        .await
    }
}

/// Whether a device may approve: with a valid assertion if it has a passkey, or without one if it has none.
pub(crate) async fn may_approve(
    db: &mut Connection,
    device: DeviceId,
    used: Option<&PasskeyUse>,
) -> Result<bool> {
    match used {
        Some(used) => Ok(record_use(db, device, used).await? == PasskeyUseOutcome::Accepted),
        None => {
            let found: Option<(String,)> =
                sql::query_as("SELECT device_id FROM passkeys WHERE device_id = $1")
                    .bind(device.to_string())
                    .fetch_optional(db)
                    .await?;
            Ok(found.is_none())
        }
    }
}

/// Adds a passkey to a device. Returns `false` if the device is revoked.
pub(crate) async fn insert(db: &mut Connection, passkey: &DevicePasskey) -> Result<bool> {
    let (sign_in, agreed_at) = match passkey.sign_in {
        PasskeySignIn::Unavailable => ("unavailable", None),
        PasskeySignIn::Declined => ("declined", None),
        PasskeySignIn::Agreed { at } => ("agreed", Some(at.millis())),
    };
    let added = sql::query(
        "INSERT INTO passkeys (device_id, credential_id, credential, counter, added_at, sign_in, agreed_at)
         SELECT $1, $2, $3, $4, $5, $6, $7 FROM devices WHERE devices.id = $1 AND devices.revoked_at IS NULL",
    )
    .bind(passkey.device_id.to_string())
    .bind(hex::encode(&passkey.credential.id))
    .bind(&passkey.credential.record)
    .bind(passkey.counter)
    .bind(passkey.added_at.millis())
    .bind(sign_in)
    .bind(agreed_at)
    .execute(db)
    .await
    .map_err(taken("the passkey"))?;
    Ok(added > 0)
}

/// Records a use of a device's passkey. If a passkey was cloned, the counter accepts at most one of the copies.
pub(crate) async fn record_use(
    db: &mut Connection,
    device: DeviceId,
    used: &PasskeyUse,
) -> Result<PasskeyUseOutcome> {
    let noted = sql::query(
        "UPDATE passkeys SET credential = $2, counter = $3
         WHERE device_id = $1 AND credential_id = $4 AND (counter < $3 OR (counter = 0 AND $3 = 0))",
    )
    .bind(device.to_string())
    .bind(&used.credential.record)
    .bind(used.counter)
    .bind(hex::encode(&used.credential.id))
    .execute(db)
    .await?;
    Ok(match noted {
        0 => PasskeyUseOutcome::Rejected,
        _ => PasskeyUseOutcome::Accepted,
    })
}

/// Deletes a device's passkey and its ceremonies.
pub(crate) async fn delete_passkey(db: &mut Connection, device: DeviceId) -> Result<()> {
    for statement in [
        "DELETE FROM passkeys WHERE device_id = $1",
        "DELETE FROM passkey_ceremonies WHERE device_id = $1",
    ] {
        sql::query(statement)
            .bind(device.to_string())
            .execute(&mut *db)
            .await?;
    }
    Ok(())
}
