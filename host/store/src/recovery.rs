//! Recovery codes.

use crate::rows::moment;
use crate::sql;
use crate::{Result, Store, Transition, audit, devices};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::device::Enrolment;
use assent_model::id::{DeviceId, UserId};
use assent_model::secret::Digest;

/// The claim of a recovery code, with its entries for the audit log.
#[derive(Clone, Debug)]
pub struct Recovery {
    /// The enrolment link that the code grants to its user.
    pub enrolment: Enrolment,
    /// The entry if the code was valid.
    pub used: Entry,
    /// The entry if the code was not valid, and the name belongs to a user.
    pub refused: Entry,
}

impl Store {
    /// The number of a user's unused codes.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn recovery_codes_left(&self, user: UserId) -> Result<u32> {
        let (left,): (i64,) = sql::query_as(
            "SELECT COUNT(*) FROM recovery_codes WHERE user_id = $1 AND used_at IS NULL AND is_pending = 0",
        )
        .bind(user.to_string())
        .fetch_one(&self.readers)
        .await?;
        Ok(u32::try_from(left).unwrap_or(u32::MAX))
    }

    /// When a user's device created the unused codes; `None` if there are none.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn recovery_codes_made_by(
        &self,
        user: UserId,
        device: DeviceId,
    ) -> Result<Option<Timestamp>> {
        let (at,): (Option<i64>,) = sql::query_as(
            "SELECT MAX(created_at) FROM recovery_codes
             WHERE user_id = $1 AND created_by = $2 AND used_at IS NULL AND is_pending = 0",
        )
        .bind(user.to_string())
        .bind(device.to_string())
        .fetch_one(&self.readers)
        .await?;
        Ok(at.map(moment))
    }

    /// Uses a code and adds the enrolment link for a new device. Returns [`Transition::NotOpen`] if the code is unknown
    /// or used, or if the user may not sign in.
    ///
    /// # Errors
    /// If the database fails, or the audit log cannot be extended.
    pub async fn recover(
        &self,
        digest: Digest,
        recovery: Recovery,
        now: Timestamp,
    ) -> Result<Transition> {
        self.write(move |db| {
            let Recovery { enrolment, used, refused } = recovery.clone();
            Box::pin(async move {
                let claimed: Option<(String,)> = sql::query_as(
                    "UPDATE recovery_codes SET used_at = $3
                     WHERE user_id = $1 AND digest = $2 AND used_at IS NULL AND is_pending = 0
                       AND EXISTS (SELECT 1 FROM users WHERE users.id = $1 AND users.state = 'active')
                     RETURNING id",
                )
                .bind(enrolment.user_id.to_string())
                .bind(digest.to_text())
                .bind(now.millis())
                .fetch_optional(&mut *db)
                .await?;
                if claimed.is_none() {
                    audit::append_if_about_user(db, &refused, true).await?;
                    return Ok(Transition::NotOpen);
                }
                devices::insert_enrolment(db, &enrolment, now).await?;
                audit::append(db, &[used]).await?;
                Ok(Transition::Done)
            })
        })
        .await
    }
}
