//! Recovery codes that their user has not confirmed yet. The earlier codes stay valid until the confirmation.

use crate::engine::sql;
use crate::tables::devices::enrolment_links;
use crate::tables::devices::locks;
use crate::{DeviceWrite, Result, Store, audit};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::id::{DeviceId, RecoveryBatchId, RecoveryCodeId, UserId};
use assent_model::secret::Digest;

/// The outcome of a confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodesConfirmation {
    /// The codes are valid from now on.
    Done,
    /// They were confirmed before and are still valid. Nothing changed.
    Repeated,
    /// There are no such codes, they expired, or the user or the device is not active.
    NotPending,
}

impl Store {
    /// Adds codes that are not valid yet, and replaces others that were not confirmed. `device` created or approved
    /// them.
    pub async fn add_pending_recovery_codes(
        &self,
        (user, device): (UserId, DeviceId),
        batch: RecoveryBatchId,
        codes: Vec<(RecoveryCodeId, Digest)>,
        now: Timestamp,
    ) -> Result<DeviceWrite> {
        self.write(codes, move |db, codes| {
            Box::pin(async move {
                if !locks::lock_active_device(db, user, device).await? {
                    return Ok(DeviceWrite::Inactive);
                }
                sql::query("DELETE FROM recovery_codes WHERE user_id = $1 AND is_pending = 1")
                    .bind(user.to_string())
                    .execute(&mut *db)
                    .await?;
                for (id, digest) in codes {
                    sql::query(
                        "INSERT INTO recovery_codes (id, user_id, digest, created_at, created_by, batch, is_pending)
                         VALUES ($1, $2, $3, $4, $5, $6, 1)",
                    )
                    .bind(id.to_string())
                    .bind(user.to_string())
                    .bind(digest.to_text())
                    .bind(now.millis())
                    .bind(device.to_string())
                    .bind(batch.to_string())
                    .execute(&mut *db)
                    .await?;
                }
                Ok(DeviceWrite::Done)
            })
        })
        .await
    }

    /// Whether the codes of a batch were created at `since` or later and wait for their confirmation.
    pub async fn has_pending_codes(
        &self,
        user: UserId,
        batch: RecoveryBatchId,
        since: Timestamp,
    ) -> Result<bool> {
        let (pending,): (i64,) = sql::query_as(
            "SELECT COUNT(*) FROM recovery_codes
             WHERE user_id = $1 AND batch = $2 AND is_pending = 1 AND created_at >= $3",
        )
        .bind(user.to_string())
        .bind(batch.to_string())
        .bind(since.millis())
        .fetch_one(&self.readers)
        .await?;
        Ok(pending > 0)
    }

    /// Confirms the codes of a batch that were created at `since` or later. Deletes all other codes of the user, and
    /// ends the unused links. A device that confirms must not be revoked.
    pub async fn confirm_recovery_codes(
        &self,
        (user, device): (UserId, Option<DeviceId>),
        batch: RecoveryBatchId,
        since: Timestamp,
        entry: Entry,
    ) -> Result<CodesConfirmation> {
        self.write(entry, move |db, entry| {
            Box::pin(async move {
                if let Some(device) = device
                    && !locks::lock_active_device(db, user, device).await?
                {
                    return Ok(CodesConfirmation::NotPending);
                }
                let confirmed = sql::query(
                    "UPDATE recovery_codes SET is_pending = 0
                     WHERE user_id = $1 AND batch = $2 AND is_pending = 1 AND created_at >= $3
                       AND EXISTS (SELECT 1 FROM users WHERE users.id = $1 AND users.state = 'active')",
                )
                .bind(user.to_string())
                .bind(batch.to_string())
                .bind(since.millis())
                .execute(&mut *db)
                .await?;
                if confirmed == 0 {
                    let (valid,): (i64,) = sql::query_as(
                        "SELECT COUNT(*) FROM recovery_codes WHERE user_id = $1 AND batch = $2 AND is_pending = 0",
                    )
                    .bind(user.to_string())
                    .bind(batch.to_string())
                    .fetch_one(&mut *db)
                    .await?;
                    return Ok(match valid {
                        0 => CodesConfirmation::NotPending,
                        _ => CodesConfirmation::Repeated,
                    });
                }
                sql::query(
                    "DELETE FROM recovery_codes WHERE user_id = $1 AND batch <> $2",
                )
                .bind(user.to_string())
                .bind(batch.to_string())
                .execute(&mut *db)
                .await?;
                enrolment_links::end_own_links(db, user).await?;
                audit::append(db, std::slice::from_ref(entry)).await?;
                Ok(CodesConfirmation::Done)
            })
        })
        .await
    }
}
